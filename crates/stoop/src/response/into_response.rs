//! What a handler may return.

use bytes::Bytes;
use http::StatusCode;

use super::{HandlerError, Response};
use crate::body::Body;

/// What a handler may return.
#[diagnostic::on_unimplemented(
    message = "a handler cannot return `{Self}`",
    label = "not a response",
    note = "it returns a `Response`, `&'static str`, `String`, `Bytes`, a `StatusCode`, `()`, an \
            `http::Response`, a `Result` of these, whose error is one of them too, or one of them behind a \
            status, fields, or both: `(StatusCode, [(&str, &str); 1], T)`"
)]
pub trait IntoResponse {
    /// The type of streamed content; [`Body`] where there is none.
    type Body;
    /// Makes it a response.
    fn into_response(self) -> Response<Self::Body>;
}

impl<B> IntoResponse for Response<B> {
    type Body = B;
    fn into_response(self) -> Self {
        self
    }
}

impl<B> IntoResponse for http::Response<B> {
    type Body = B;
    fn into_response(self) -> Response<B> {
        self.into()
    }
}

impl IntoResponse for StatusCode {
    type Body = Body;
    fn into_response(self) -> Response {
        Response::from_status(self)
    }
}

impl IntoResponse for &'static str {
    type Body = Body;
    fn into_response(self) -> Response {
        Response::from_text(self)
    }
}

impl IntoResponse for String {
    type Body = Body;
    fn into_response(self) -> Response {
        Response::from_text(self)
    }
}

impl IntoResponse for Bytes {
    type Body = Body;
    fn into_response(self) -> Response {
        Response::from_bytes(self)
    }
}

/// 204.
impl IntoResponse for () {
    type Body = Body;
    fn into_response(self) -> Response {
        Response::from_status(StatusCode::NO_CONTENT)
    }
}

impl<T, E> IntoResponse for Result<T, E>
where
    T: IntoResponse,
    E: IntoResponse<Body = T::Body>,
{
    type Body = T::Body;
    fn into_response(self) -> Response<T::Body> {
        match self {
            Ok(value) => value.into_response(),
            Err(error) => error.into_response(),
        }
    }
}

/// A handler may pass errors on by `?`; their text stays here, where a [`HandlerError`] of the response tells it to
/// [`Server::observe`](crate::Server::observe). The answer says whose fault it was:
///
/// - of the content of the request that the handler answers: 413 if it was too large, 408 if it stalled
///   or came too slowly, else 400;
/// - of a server that the handler asked by a [`Client`](crate::Client): 504 if a deadline of that
///   exchange passed (name, connection, TLS, head, content, or everything), else 502;
/// - of this machine, which has no more open files or local ports: 503;
/// - of the handler itself, such as a URL that is none, a field value with CR LF in it, or content of
///   its own that failed: 500.
///
/// Where the handler sends its request's content on and that fails, or keeps the exchange waiting for it
/// until a deadline, it is answered as the first.
impl IntoResponse for crate::Error {
    type Body = Body;
    fn into_response(self) -> Response {
        let mut response = Response::from_status(self.answer());
        response.extensions_mut().insert(HandlerError::new(self));
        response
    }
}
