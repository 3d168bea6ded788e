//! Responses of text, and their types.

use bytes::Bytes;
use stoop::{Response, StatusCode};

/// A text of ours.
pub(crate) fn text(status: StatusCode, text: impl Into<Bytes>) -> Response {
    Response::from_text(text).with_status(status)
}

/// The response with a Content-Type, in place of any other.
pub(crate) fn with_type(mut response: Response, content_type: &'static str) -> Response {
    // The types that are given here are field values.
    let _ = response.fields_mut().set("content-type", content_type.as_bytes());
    response
}
