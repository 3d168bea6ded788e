//! What is done for a request, inside its span and its place in the trace.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Frame, SizeHint};
use stoop::{Body, Response, TraceContext};
use tracing::Span;

/// A span, and the place in a trace that clients go by which are called within.
#[derive(Clone)]
pub(super) struct TraceScope {
    pub(super) span: Span,
    pub(super) context: TraceContext,
}

impl TraceScope {
    pub(super) fn run<T>(&self, work: impl FnOnce() -> T) -> T {
        self.span.in_scope(|| self.context.in_scope(work))
    }

    /// Has content that is made while it is sent made within. What is in memory, or a file, stays what it is.
    pub(super) fn content(self, mut response: Response) -> Response {
        if response.is_streamed() {
            let inner = Some(std::mem::take(response.body_mut()));
            *response.body_mut() = Body::stream(InScope { inner, scope: self });
        }
        response
    }
}

/// Content that is polled, and dropped, in a scope.
struct InScope {
    /// None only while it is dropped.
    inner: Option<Body>,
    scope: TraceScope,
}

impl http_body::Body for InScope {
    type Data = Bytes;
    type Error = stoop::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, stoop::Error>>> {
        let Self { inner, scope } = self.get_mut();
        match inner {
            Some(body) => scope.run(|| Pin::new(body).poll_frame(cx)),
            None => Poll::Ready(None),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.inner.as_ref().is_none_or(http_body::Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.as_ref().map_or_else(SizeHint::default, http_body::Body::size_hint)
    }
}

impl Drop for InScope {
    fn drop(&mut self) {
        let inner = self.inner.take();
        self.scope.run(|| drop(inner));
    }
}
