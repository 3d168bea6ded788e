//! [`Html`] and [`NoContent`]: a page, and a response without content.

use bytes::Bytes;
use stoop::{Body, IntoResponse, Response, StatusCode};

use crate::respond::text::with_type;

/// 200 with a page, as `text/html; charset=utf-8`.
///
/// ```
/// use stoop::IntoResponse;
/// use stoop_web::Html;
///
/// let response = Html("<h1>Hello</h1>").into_response();
/// assert_eq!(response.field("content-type"), Some(&b"text/html; charset=utf-8"[..]));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Html<T>(pub T);

impl<T: Into<Bytes>> IntoResponse for Html<T> {
    type Body = Body;
    fn into_response(self) -> Response {
        with_type(Response::from_text(self.0), "text/html; charset=utf-8")
    }
}

/// 204 (RFC 9110 §15.3.5), as `()` is too.
#[derive(Clone, Copy, Debug)]
pub struct NoContent;

impl IntoResponse for NoContent {
    type Body = Body;
    fn into_response(self) -> Response {
        Response::from_status(StatusCode::NO_CONTENT)
    }
}
