//! Encodes heads and trailer sections as header blocks.

use std::borrow::Cow;

use http::{Method, StatusCode};

use crate::fields::{FORBIDDEN_IN_TRAILERS, Field, Fields};
use crate::grammar::{TargetForm, has_upper, is_name};
use crate::hpack::{Encoder, Indexing};
use crate::message::{RequestHead, ResponseParts};
use crate::semantics::{AddedFields, PresentFields};

/// Entries of the static table: RFC 7541, Appendix A.
mod entry {
    pub(super) const AUTHORITY: u8 = 1;
    pub(super) const METHOD_GET: u8 = 2;
    pub(super) const METHOD_POST: u8 = 3;
    pub(super) const PATH_ROOT: u8 = 4;
    pub(super) const SCHEME_HTTP: u8 = 6;
    pub(super) const SCHEME_HTTPS: u8 = 7;
    pub(super) const STATUS_200: u8 = 8;
    pub(super) const CONTENT_LENGTH: u8 = 28;
    pub(super) const CONTENT_TYPE: u8 = 31;
    pub(super) const DATE: u8 = 33;
}

/// Encodes the head of a response, interim or final, with `length` as its Content-Length.
pub(super) fn response(
    encoder: &mut Encoder,
    parts: &ResponseParts<'_>,
    length: Option<u64>,
    out: &mut Vec<u8>,
) {
    encoder.begin(out);
    status(encoder, parts.status, out);
    let AddedFields { content_type, date } =
        parts.added_fields(PresentFields::in_fields(parts.fields));
    if let Some(value) = content_type {
        let value = value.as_bytes();
        encoder.line_with_static_name(entry::CONTENT_TYPE, value, Indexing::Insert, out);
    }
    if let Some(length) = length {
        put_length(encoder, length, out);
    }
    if let Some(date) = date {
        encoder.line_with_static_name(entry::DATE, date, Indexing::Insert, out);
    }
    for field in parts.fields.into_iter().flat_map(Fields::iter) {
        let is_dropped = match field.name_bytes().len() {
            14 => is_name(field.name_bytes(), b"content-length"),
            _ => is_of_connection(field.name_bytes()),
        };
        if !is_dropped {
            put_field(encoder, field, out);
        }
    }
}

fn status(encoder: &mut Encoder, status: StatusCode, out: &mut Vec<u8>) {
    let index = match status.as_u16() {
        200 => entry::STATUS_200,
        204 => 9,
        206 => 10,
        304 => 11,
        400 => 12,
        404 => 13,
        500 => 14,
        _ => {
            let code = status.as_str().as_bytes();
            return encoder.line_with_static_name(entry::STATUS_200, code, Indexing::Insert, out);
        }
    };
    encoder.static_line(index, out);
}

/// Encodes the head of a request: RFC 9113 §8.3.1, §8.5, RFC 8441 §4. Its Host becomes `:authority`.
pub(super) fn request(
    encoder: &mut Encoder,
    head: &RequestHead,
    scheme: &str,
    (length, has_content): (Option<u64>, bool),
    out: &mut Vec<u8>,
) {
    encoder.begin(out);
    match head.method {
        Method::GET => encoder.static_line(entry::METHOD_GET, out),
        Method::POST => encoder.static_line(entry::METHOD_POST, out),
        ref other => {
            let name = other.as_str().as_bytes();
            encoder.line_with_static_name(entry::METHOD_GET, name, Indexing::Insert, out);
        }
    }
    if head.form != TargetForm::Authority {
        match scheme {
            "https" => encoder.static_line(entry::SCHEME_HTTPS, out),
            "http" => encoder.static_line(entry::SCHEME_HTTP, out),
            other => {
                let value = other.as_bytes();
                encoder.line_with_static_name(entry::SCHEME_HTTP, value, Indexing::Insert, out);
            }
        }
    }
    let authority = head.authority().as_bytes();
    encoder.line_with_static_name(entry::AUTHORITY, authority, Indexing::Insert, out);
    if head.form != TargetForm::Authority {
        match &*path(head) {
            "/" => encoder.static_line(entry::PATH_ROOT, out),
            path => {
                let path = path.as_bytes();
                encoder.line_with_static_name(entry::PATH_ROOT, path, Indexing::Without, out);
            }
        }
    }
    if let Some(protocol) = &head.protocol {
        encoder.line(b":protocol", protocol.as_bytes(), Indexing::Insert, out);
    }
    if let Some(length) = length {
        put_length(encoder, length, out);
    }
    for field in head.fields.iter() {
        let name = field.name_bytes();
        let is_dropped = match name.len() {
            2 if is_name(name, b"te") => {
                put_te(encoder, field.value(), out);
                true
            }
            4 => is_name(name, b"host"),
            // RFC 9110 §10.1.1
            6 => !has_content && is_name(name, b"expect"),
            14 => is_name(name, b"content-length"),
            _ => is_of_connection(name),
        };
        if !is_dropped {
            put_field(encoder, field, out);
        }
    }
}

/// The path and query of a target of any form: §8.3.1.
fn path(head: &RequestHead) -> Cow<'_, str> {
    if head.form != TargetForm::Absolute {
        return Cow::Borrowed(&head.target);
    }
    let rest = head.target.split_once("://").map_or("", |(_, rest)| rest);
    match rest.find(['/', '?']).map(|at| &rest[at..]) {
        Some(path) if path.starts_with('/') => Cow::Borrowed(path),
        Some(query) => Cow::Owned(format!("/{query}")),
        None if head.method == Method::OPTIONS => Cow::Borrowed("*"),
        None => Cow::Borrowed("/"),
    }
}

/// Encodes a trailer section.
pub(super) fn trailers(encoder: &mut Encoder, fields: &Fields, out: &mut Vec<u8>) {
    encoder.begin(out);
    for field in fields.iter() {
        if !FORBIDDEN_IN_TRAILERS.iter().any(|name| field.is(name)) {
            put_field(encoder, field, out);
        }
    }
}

/// An upper bound on the size of a head as [`crate::Limits::head_bytes_max`] and
/// SETTINGS_MAX_HEADER_LIST_SIZE count it.
pub(super) fn list_bytes(head: &RequestHead) -> usize {
    let lines: usize =
        head.fields.iter().map(|field| field.name_bytes().len() + field.value().len() + 32).sum();
    // Five pseudo-fields and Content-Length.
    lines + head.target.len() + head.protocol.as_ref().map_or(0, |name| name.len()) + 6 * 32 + 80
}

fn put_length(encoder: &mut Encoder, length: u64, out: &mut Vec<u8>) {
    let mut digits = itoa::Buffer::new();
    let digits = digits.format(length).as_bytes();
    encoder.line_with_static_name(entry::CONTENT_LENGTH, digits, Indexing::Without, out);
}

/// Writes TE, whose only allowed value is `trailers`: §8.2.2.
fn put_te(encoder: &mut Encoder, value: &[u8], out: &mut Vec<u8>) {
    if value.eq_ignore_ascii_case(b"trailers") {
        encoder.line(b"te", b"trailers", Indexing::Insert, out);
    }
}

fn put_field(encoder: &mut Encoder, field: Field<'_>, out: &mut Vec<u8>) {
    let indexing = match field.is_secret() {
        true => Indexing::Never,
        false => indexing(field.name_bytes()),
    };
    if has_upper(field.name_bytes()) {
        // §8.2.1
        encoder.line(&field.name_bytes().to_ascii_lowercase(), field.value(), indexing, out);
    } else {
        encoder.line(field.name_bytes(), field.value(), indexing, out);
    }
}

/// How a field of that name is indexed: values that differ in each message would only evict others from
/// the table.
fn indexing(name: &[u8]) -> Indexing {
    let differs = match name.len() {
        3 => is_name(name, b"age"),
        4 => is_name(name, b"etag"),
        8 => is_name(name, b"location"),
        13 => is_name(name, b"last-modified") || is_name(name, b"content-range"),
        14 => is_name(name, b"content-length"),
        _ => is_name(name, b"if-none-match") || is_name(name, b"if-modified-since"),
    };
    if differs { Indexing::Without } else { Indexing::Insert }
}

/// Whether a field has a meaning only for an HTTP/1 connection, and is left out: §8.2.2.
#[inline]
fn is_of_connection(name: &[u8]) -> bool {
    match name.len() {
        7 => is_name(name, b"upgrade"),
        10 => is_name(name, b"connection") || is_name(name, b"keep-alive"),
        16 => is_name(name, b"proxy-connection"),
        17 => is_name(name, b"transfer-encoding"),
        _ => false,
    }
}
