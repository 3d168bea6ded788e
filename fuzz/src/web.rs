//! A handler of stoop-web, called without a connection around it.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::Frame;
use stoop::{Answer, Body, Fields, Handler, IntoResponse, Method, Request};

/// More than any answer here has.
const CONTENT_MAX: usize = 1 << 20;

/// A whole response.
pub(super) struct Answered {
    pub(super) status: u16,
    pub(super) content_type: Option<Vec<u8>>,
    pub(super) fields: Fields,
    pub(super) content: Bytes,
}

thread_local! {
    static RUNTIME: tokio::runtime::Runtime = super::runtime();
}

/// The answer to a request with these fields and this content. `None` if a value is none that a field can have.
pub(super) fn answer<H: Handler<Body = Body>>(
    handler: &H,
    method: Method,
    fields: &[(&str, &[u8])],
    body: Body,
) -> Option<Answered> {
    let mut request = Request::new(method, "http://a.test/f").expect("a target");
    for (name, value) in fields {
        request.fields_mut().push(name, value).ok()?;
    }
    *request.body_mut() = body;
    RUNTIME.with(|runtime| {
        runtime.block_on(async {
            let response = match handler.call(request) {
                Answer::Now(response) => response,
                Answer::Later(later) => later.await.into_response(),
            };
            let (status, fields) = (response.status().as_u16(), response.fields().clone());
            let content_type = response.field("content-type").map(<[u8]>::to_vec);
            let content = response.into_body().bytes(CONTENT_MAX).await.expect("it is here");
            Some(Answered { status, content_type, fields, content })
        })
    })
}

/// Content that comes piece by piece.
pub(super) struct PiecewiseBody(VecDeque<Bytes>);

impl PiecewiseBody {
    pub(super) fn new(pieces: &[&[u8]]) -> Self {
        Self(pieces.iter().map(|piece| Bytes::copy_from_slice(piece)).collect())
    }
}

impl http_body::Body for PiecewiseBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(self.0.pop_front().map(|piece| Ok(Frame::data(piece))))
    }
}
