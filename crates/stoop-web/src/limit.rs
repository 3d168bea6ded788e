//! Limits of single routes: how long a response may take, and how large the content of a request may be.

use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Frame, SizeHint};
use stoop::{Answer, Body, Request, Response, StatusCode};

use crate::respond::text::text;
use crate::route::middleware::{Middleware, Next};
use crate::route::mode::Mode;

/// How long the head of a response may take.
pub(crate) struct TimeLimit(pub(crate) Duration);

impl<M: Mode> Middleware<M> for TimeLimit {
    fn handle(&self, request: Request, next: Next<M>) -> Answer<M::Future, Body> {
        match next.answer(request) {
            Answer::Later(future) => Answer::Later(M::within(future, self.0, late)),
            now => now,
        }
    }
}

/// 503 (RFC 9110 §15.6.4), as beyond the server's own limit for handlers.
fn late() -> Response {
    let why = "503 Service Unavailable: the answer took too long\n";
    let mut response = text(StatusCode::SERVICE_UNAVAILABLE, why);
    // As the server's own answer has it.
    let _ = response.fields_mut().push("retry-after", b"5");
    response
}

/// How many bytes of content a request may have.
pub(crate) struct BodyLimit(pub(crate) u64);

impl<M: Mode> Middleware<M> for BodyLimit {
    fn handle(&self, mut request: Request, next: Next<M>) -> Answer<M::Future, Body> {
        match request.body().len() {
            Some(length) if length > self.0 => return Answer::Now(too_large(self.0)),
            // It cannot become more than was announced.
            Some(_) => {}
            None => {
                let inner = std::mem::take(request.body_mut());
                *request.body_mut() = Body::stream(Limited { inner, left: self.0, max: self.0 });
            }
        }
        next.answer(request)
    }
}

/// 413 (RFC 9110 §15.5.14).
fn too_large(max: u64) -> Response {
    let why = format!("413 Content Too Large: the content has more than {max} bytes\n");
    text(StatusCode::PAYLOAD_TOO_LARGE, why)
}

/// Content of at most so many bytes.
struct Limited {
    inner: Body,
    left: u64,
    max: u64,
}

impl http_body::Body for Limited {
    type Data = Bytes;
    type Error = stoop::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, stoop::Error>>> {
        let frame = ready!(Pin::new(&mut self.inner).poll_frame(cx));
        if let Some(Ok(frame)) = &frame
            && let Some(data) = frame.data_ref()
        {
            match self.left.checked_sub(data.len() as u64) {
                Some(left) => self.left = left,
                None => {
                    self.inner = Body::empty();
                    let error =
                        stoop::Error::new(stoop::ErrorKind::BodyTooLarge, stoop::Phase::Receive)
                            .of_request();
                    let why = format_args!("more than {} bytes", self.max);
                    return Poll::Ready(Some(Err(error.with_detail(why))));
                }
            }
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
