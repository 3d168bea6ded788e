//! The response to a GET or HEAD for a file that was found (RFC 9110 §13, §14).

use std::ops::Range;
use std::time::SystemTime;

use stoop::{Body, Method, Request, Response, StatusCode};

use super::byteranges::{ByteRanges, boundary, content_range};
use super::condition::{Outcome, evaluate, range_counts};
use super::ranges::{Wanted, wanted};
use super::representation::{FoundFile, Representation, add, add_all};
use crate::respond::text::text;

/// The response of a file.
pub(super) fn respond(request: &Request, file: &FoundFile) -> Response {
    let fields = request.fields();
    let Some(selected) = file.select(fields) else { return not_acceptable() };
    // Both go through the fields of a request that has none of this once; it is what most are.
    match evaluate(fields, selected.validators()) {
        Outcome::Perform => {}
        Outcome::NotModified => return not_modified(selected),
        Outcome::Failed => return precondition_failed(),
    }
    // RFC 9110 §14.2: a Range has no meaning but for GET.
    let is_ranged = fields.contains("range")
        && request.method() == Method::GET
        && range_counts(fields, selected.validators(), SystemTime::now());
    if !is_ranged {
        return selected.whole();
    }
    match wanted(fields, selected.len) {
        Wanted::Whole => selected.whole(),
        Wanted::Refused => not_satisfiable(selected),
        Wanted::Parts(parts) => match &parts[..] {
            [range] => one_part(selected, range.clone()),
            parts => several_parts(selected, parts),
        },
    }
}

/// The content of a page for what is not there: a file without what would let a client ask for a part of it, or whether it
/// has changed.
pub(super) fn page(request: &Request, file: &FoundFile, status: StatusCode) -> Response {
    let Some(selected) = file.select(request.fields()) else { return not_acceptable() };
    let mut response = Response::new(selected.part(0..selected.len)).with_status(status);
    let kept = ["content-type", "x-content-type-options", "content-encoding", "vary"];
    for field in selected.fields.iter().filter(|field| kept.contains(&field.name())) {
        // It is a field of a response already.
        let _ = response.fields_mut().push(field.name(), field.value());
    }
    response
}

/// 304 (RFC 9110 §15.4.5).
fn not_modified(selected: &Representation) -> Response {
    let mut response = Response::from_status(StatusCode::NOT_MODIFIED);
    add_all(response.fields_mut(), &selected.unchanged);
    response
}

/// 412 (RFC 9110 §15.5.13).
fn precondition_failed() -> Response {
    let why = "412 Precondition Failed: the file is not as If-Match or If-Unmodified-Since says\n";
    text(StatusCode::PRECONDITION_FAILED, why)
}

/// 406 (RFC 9110 §15.5.7), with Vary, because another client is answered otherwise.
fn not_acceptable() -> Response {
    let why = "406 Not Acceptable: the file is in no coding that Accept-Encoding allows\n";
    let mut response = text(StatusCode::NOT_ACCEPTABLE, why);
    add(response.fields_mut(), "vary", "accept-encoding");
    response
}

/// 206 with one part (RFC 9110 §15.3.7.1).
fn one_part(selected: &Representation, range: Range<u64>) -> Response {
    let content_range = content_range(&range, selected.len);
    let response = Response::new(selected.part(range));
    let mut response = response.with_status(StatusCode::PARTIAL_CONTENT);
    let fields = response.fields_mut();
    add(fields, "content-range", &content_range);
    add_all(fields, &selected.fields);
    response
}

/// 206 with several parts (RFC 9110 §15.3.7.2), each of which says its own type and place.
fn several_parts(selected: &Representation, ranges: &[Range<u64>]) -> Response {
    let boundary = boundary();
    let body = Body::stream(ByteRanges::new(selected, ranges, &boundary));
    let mut response = Response::new(body).with_status(StatusCode::PARTIAL_CONTENT);
    let content_type = format!("multipart/byteranges; boundary={boundary}");
    let fields = response.fields_mut();
    add(fields, "content-type", &content_type);
    add_all(fields, &selected.fields);
    response
}

/// 416 (RFC 9110 §15.5.17), with the length that there is.
fn not_satisfiable(selected: &Representation) -> Response {
    let why = "416 Range Not Satisfiable: no byte of it is there, or it asks for too many parts\n";
    let mut response = text(StatusCode::RANGE_NOT_SATISFIABLE, why);
    // Without the file's Cache-Control, by which it could be kept for requests without a Range (RFC 9111 §3).
    add(response.fields_mut(), "content-range", &format!("bytes */{}", selected.len));
    response
}
