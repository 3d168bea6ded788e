//! One call of a handler, in both versions: its future is polled, what it made becomes a response.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::{Context, Poll};

use http::StatusCode;
use stoop_proto::ResponseParts;

use crate::conn::request_body::RequestBodyWriter;
use crate::handler::Handler;
use crate::response::{IntoResponse, Payload, Response};
use crate::server::future_pool::FutureSlot;

pub(in crate::server) fn parts<B>(response: &Response<B>) -> ResponseParts<'_> {
    ResponseParts {
        content_type: response.content_type(),
        fields: Some(response.fields()),
        ..ResponseParts::new(response.status())
    }
}

/// Polls a handler once. A panic in it, or in what makes its result a response, is answered 500.
pub(in crate::server) fn poll_handler<H: Handler>(
    place: &mut FutureSlot<H::Future>,
    content: Option<&RequestBodyWriter>,
    cx: &mut Context<'_>,
) -> Poll<Response<H::Body>> {
    let Some(future) = place.as_mut().as_pin_mut() else { return Poll::Pending };
    attend(content, true);
    // The panic's message has been shown by the program's panic hook.
    let polled =
        catch_unwind(AssertUnwindSafe(|| future.poll(cx).map(IntoResponse::into_response)));
    attend(content, false);
    polled.unwrap_or_else(|_| Poll::Ready(Response::failure(StatusCode::INTERNAL_SERVER_ERROR)))
}

/// Whether the handler may still read the request while its response is sent. Not behind a response that
/// is a buffer: it is finished at once.
pub(in crate::server) fn is_read_on<B>(
    content: Option<&RequestBodyWriter>,
    response: &Response<B>,
) -> bool {
    matches!(response.payload, Payload::Stream(_)) && content.is_some_and(|c| !c.is_dropped())
}

pub(in crate::server) fn attend(content: Option<&RequestBodyWriter>, attended: bool) {
    if let Some(content) = content {
        content.attend(attended);
    }
}
