//! Invariant: whatever bytes are sent as a form with files,
//! - its parts, and what is wrong with it, are the same whole and in pieces;
//! - a form that was read is read as the same when it is written again;
//! - nothing panics.

use std::cell::RefCell;

use bytes::Bytes;
use stoop::{Body, IntoBody, IntoHandler, Method};
use stoop_web::{AppHandler, Multipart, MultipartError, Router, post};

use super::cut;
use super::web::{PiecewiseBody, answer};

/// More is only more of the same. Written again, a head stays within its limit.
const INPUT_MAX: usize = 2_000;

/// The boundary of the input, which is easily met.
const SHORT: &str = "b";

/// That of a form which is written again.
const LONG: &str = "a-boundary-that-is-nowhere-else";

/// A part that was read.
#[derive(Clone, Debug, Default, PartialEq)]
struct ReadPart {
    name: String,
    file_name: Option<String>,
    content_type: Option<String>,
    content: Bytes,
}

thread_local! {
    static APP: AppHandler =
        Router::new().route("/f", post(read)).build().expect("a router").into_handler();
    static READ: RefCell<Vec<ReadPart>> = const { RefCell::new(Vec::new()) };
}

/// Keeps the parts that were read to their ends.
async fn read(mut form: Multipart) -> Result<&'static str, MultipartError> {
    while let Some(part) = form.next().await? {
        let mut whole = ReadPart {
            name: part.name().to_owned(),
            file_name: part.file_name().map(str::to_owned),
            content_type: part.content_type().map(str::to_owned),
            content: Bytes::new(),
        };
        whole.content = part.bytes(INPUT_MAX).await?;
        READ.with_borrow_mut(|read| read.push(whole));
    }
    Ok("read")
}

/// What came of a form: its parts, and the answer to it.
fn form(boundary: &str, body: Body) -> (Vec<ReadPart>, u16, Bytes) {
    let content_type = format!("multipart/form-data; boundary={boundary}");
    let fields = [("content-type", content_type.as_bytes())];
    let answered = APP.with(|app| answer(app, Method::POST, &fields, body)).expect("fields");
    (READ.take(), answered.status, answered.content)
}

/// The first byte chooses the pieces, the others are the form.
///
/// # Panics
/// If the invariant does not hold.
pub fn check(data: &[u8]) {
    let [seed, wire @ ..] = &data[..data.len().min(INPUT_MAX)] else { return };
    let whole = form(SHORT, Body::from(wire.to_vec()));
    let in_pieces = form(SHORT, PiecewiseBody::new(&cut(wire, *seed)).into_body());
    assert_eq!(whole, in_pieces, "in pieces");
    let (parts, status, _) = whole;
    assert!(matches!(status, 200 | 400), "{status}");
    if status == 200 {
        let (again, status, why) = form(LONG, Body::from(written(&parts)));
        assert_eq!((&again, status), (&parts, 200), "written again: {why:?}");
    }
}

/// The form as browsers write one.
fn written(parts: &[ReadPart]) -> Vec<u8> {
    let quoted = |text: &str| {
        let text = text.replace('\\', "\\\\").replace('"', "%22");
        text.replace('\r', "%0D").replace('\n', "%0A")
    };
    let mut wire = Vec::new();
    for part in parts {
        let name = quoted(&part.name);
        let head = format!("--{LONG}\r\ncontent-disposition: form-data; name=\"{name}\"");
        wire.extend(head.into_bytes());
        if let Some(name) = &part.file_name {
            wire.extend(format!("; filename=\"{}\"", quoted(name)).into_bytes());
        }
        if let Some(media_type) = &part.content_type {
            wire.extend(format!("\r\ncontent-type: {media_type}").into_bytes());
        }
        wire.extend(b"\r\n\r\n");
        wire.extend(&part.content);
        wire.extend(b"\r\n");
    }
    wire.extend(format!("--{LONG}--\r\n").into_bytes());
    wire
}
