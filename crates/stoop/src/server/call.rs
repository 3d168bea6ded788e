//! One call of a handler, in both versions: its future is polled, and the response's head is sent.

use std::any::Any;
use std::future::Future;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::{Context, Poll};

use http::StatusCode;
use stoop_proto::{BodySize, CloseReason, Fields, Misuse, ResponseParts};

use crate::body::Body;
use crate::body::request_body::RequestBodyWriter;
use crate::error::ErrorKind;
use crate::handler::{Answer, Handler};
use crate::request::Request;
use crate::response::{IntoResponse, Payload, Response};
use crate::server::core::Core;
use crate::server::date;
use crate::server::events::ServerTimeout;
use crate::server::future_pool::FutureSlot;
use crate::server::handler_panic::HandlerPanic;
use crate::server::monitor::HandledRequest;
use crate::server::shedding::overloaded;

/// What the client of a handler that panicked is told: nothing of the panic.
const PANICKED: &str = "500 Internal Server Error: the handler failed\n";

pub(in crate::server) fn parts<B>(response: &Response<B>) -> ResponseParts<'_> {
    ResponseParts {
        content_type: response.content_type(),
        fields: Some(response.fields()),
        ..ResponseParts::new(response.status())
    }
}

/// Makes a small file that is in memory a buffer, so that it leaves with the head, unless there is no `room` for its bytes
/// with the client. One that cannot be read is answered 500, while that can still be said, and told to `failed`.
pub(in crate::server) fn read_small_file<B: 'static>(
    response: &mut Response<B>,
    room: impl FnOnce() -> usize,
    failed: impl FnOnce(&io::Error, StatusCode),
) {
    let Payload::Stream(body) = &mut response.payload else { return };
    let body: &mut dyn Any = body;
    let Some(file) = body.downcast_mut::<Body>().and_then(Body::file_mut) else { return };
    if file.left() > room() as u64 {
        return;
    }
    match file.read_small() {
        Ok(None) => {}
        Ok(Some(bytes)) => response.payload = Payload::Full(bytes),
        Err(error) => {
            let (status, why) = (StatusCode::INTERNAL_SERVER_ERROR, "the file cannot be read");
            failed(&error, status);
            *response = Response::failure(status, why);
        }
    }
}

/// Has the machine send a response's head by `send`. A response that it refuses is replaced by a failure.
/// None if that cannot be sent either: then the exchange cannot be answered.
#[inline]
pub(in crate::server) fn send_head<B: http_body::Body, T>(
    response: &mut Response<B>,
    close: Option<CloseReason>,
    mut send: impl FnMut(&ResponseParts<'_>, BodySize) -> Result<T, Misuse>,
) -> Option<T> {
    let date = date::now();
    // The caller's code: a body may panic when it is asked for its size.
    let sized = catch_unwind(AssertUnwindSafe(|| response.size()));
    let mut size = sized.unwrap_or_else(|_| {
        *response = Response::refusal(StatusCode::INTERNAL_SERVER_ERROR, PANICKED);
        response.size()
    });
    loop {
        let parts = ResponseParts { date: Some(&date), close, ..parts(response) };
        let misuse = match send(&parts, size) {
            Ok(sent) => return Some(sent),
            Err(misuse) => misuse,
        };
        *response = failure_instead(misuse)?;
        size = response.size();
    }
}

/// What is sent instead of a response with that misuse. None if no response can be sent.
fn failure_instead<B>(misuse: Misuse) -> Option<Response<B>> {
    let (status, why) = match misuse {
        // A 2xx to CONNECT that is no tunnel.
        Misuse::Tunnel => {
            (StatusCode::NOT_IMPLEMENTED, "no tunnel is opened here (RFC 9110 §9.3.6)")
        }
        Misuse::Status | Misuse::FieldValue | Misuse::ContentLength => {
            (StatusCode::INTERNAL_SERVER_ERROR, "the handler's response is malformed")
        }
        _ => return None,
    };
    Some(Response::failure(status, why))
}

/// The limit that has passed where reading content fails by that error.
pub(in crate::server) fn content_timeout(kind: ErrorKind) -> ServerTimeout {
    match kind {
        ErrorKind::SlowBody => ServerTimeout::BodyRate,
        _ => ServerTimeout::BodyIdle,
    }
}

/// Why a 503 is sent in place of a handler's response.
const LATE_HANDLER: &str = "the handler did not answer in time (RFC 9110 §15.6.4)";

/// When the client of a handler that is late is asked to come back, in seconds: it is rather slow than busy for a moment.
const LATE_RETRY_AFTER_SECONDS: &[u8] = b"5";

/// The answer in place of a handler that is late, with fields that what it held has added.
pub(in crate::server) fn late_handler<B>(added: Option<&Fields>) -> Response<B> {
    let mut response = Response::failure(StatusCode::SERVICE_UNAVAILABLE, LATE_HANDLER);
    // Texts of ours have nothing that no field may have.
    let _ = response.fields_mut().push("retry-after", LATE_RETRY_AFTER_SECONDS);
    add(&mut response, added);
    response
}

/// The answer in place of a handler that has panicked with this.
#[cold]
fn panicked<B>(payload: &(dyn Any + Send)) -> Response<B> {
    let mut response = Response::refusal(StatusCode::INTERNAL_SERVER_ERROR, PANICKED);
    add(&mut response, HandlerPanic::fields_of(payload));
    response
}

/// Adds fields that middleware would have added to the handler's answer.
fn add<B>(response: &mut Response<B>, fields: Option<&Fields>) {
    for field in fields.into_iter().flat_map(Fields::iter) {
        // They were in a list of fields already.
        let _ = response.fields_mut().push(field.name(), field.value());
    }
}

/// Why a 501 is sent in place of a response that switches protocols.
pub(in crate::server) const NOT_SWITCHED: &str =
    "the request did not ask for the protocol that the handler switches to (RFC 9110 §7.8)";

/// Why a 408 is sent.
pub(in crate::server) const LATE_REQUEST: &str =
    "408 Request Timeout: the request did not come in time (RFC 9110 §15.5.9)\n";

/// Calls the handler with a request, and polls its future once by `poll`. `Err` has the future of a
/// handler that takes time. A panic is answered 500; a request that is shed, 503.
pub(in crate::server) fn call_handler<H: Handler>(
    core: &Core<H>,
    request: Request,
    poll: impl FnOnce(&mut FutureSlot<H::Future>) -> Poll<Response<H::Body>>,
) -> Result<Response<H::Body>, FutureSlot<H::Future>> {
    let (monitor, peer) = (&core.monitor, request.remote_address());
    if monitor.sheds(&core.limits.shedding, peer, request.head()) {
        return Ok(overloaded());
    }
    // Where a panic or an error is to be told, what it is told with.
    let mut handled = monitor.is_heard().then(|| {
        let (method, path) = (request.method().clone(), request.path().into());
        Box::new(HandledRequest { peer, method, path })
    });
    let mut later = None;
    let called = catch_unwind(AssertUnwindSafe(|| match core.handler.call(request) {
        Answer::Now(response) => Some(response),
        Answer::Later(future) => {
            later = Some(core.futures.keep(future, &mut handled));
            None
        }
    }));
    let panic = match called {
        Ok(Some(response)) => {
            if let Some(handled) = handled {
                monitor.answered(&handled, &response);
            }
            return Ok(response);
        }
        Ok(None) => None,
        Err(payload) => Some(payload),
    };
    let Some(mut slot) = later else {
        let payload = panic.unwrap_or_else(|| Box::new(()));
        // Its message has been shown by the program's panic hook.
        monitor.panicked(handled.as_deref(), &*payload);
        return Ok(panicked(&*payload));
    };
    match poll(&mut slot) {
        Poll::Ready(response) => {
            core.futures.put_back(slot, Some(&response));
            Ok(response)
        }
        Poll::Pending => {
            core.futures.takes_time(&mut slot);
            Err(slot)
        }
    }
}

/// Polls a handler once. A panic in it, or in what makes its result a response, is answered 500.
pub(in crate::server) fn poll_handler<H: Handler>(
    slot: &mut FutureSlot<H::Future>,
    content: Option<&RequestBodyWriter>,
    cx: &mut Context<'_>,
) -> Poll<Response<H::Body>> {
    let Some(future) = slot.future() else { return Poll::Pending };
    RequestBodyWriter::set_polled(content, true);
    // The panic's message has been shown by the program's panic hook.
    let polled =
        catch_unwind(AssertUnwindSafe(|| future.poll(cx).map(IntoResponse::into_response)));
    RequestBodyWriter::set_polled(content, false);
    polled.unwrap_or_else(|payload| {
        let response = panicked(&*payload);
        slot.panicked(payload);
        Poll::Ready(response)
    })
}

/// Whether the handler may still read the request while its response is sent. Not behind a response that
/// is a buffer: it is finished at once.
pub(in crate::server) fn is_read_on<B>(
    content: Option<&RequestBodyWriter>,
    response: &Response<B>,
) -> bool {
    matches!(response.payload, Payload::Stream(_)) && content.is_some_and(|c| !c.is_dropped())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is sent of a response to a machine that refuses the first heads with these.
    fn sent(refusals: &[Misuse]) -> (Option<u16>, usize) {
        let mut response = Response::<Body>::from_text("hello");
        let mut heads = 0;
        let send = |parts: &ResponseParts<'_>, size| {
            heads += 1;
            assert_eq!(size == BodySize::Exact(5), heads == 1, "a failure has no content");
            refusals.get(heads - 1).map_or(Ok(parts.status.as_u16()), |misuse| Err(*misuse))
        };
        (send_head(&mut response, None, send), heads)
    }

    #[test]
    fn a_response_that_cannot_be_sent_is_replaced_by_a_failure() {
        assert_eq!(sent(&[]), (Some(200), 1));
        assert_eq!(sent(&[Misuse::Tunnel]), (Some(501), 2));
        for misuse in [Misuse::Status, Misuse::FieldValue, Misuse::ContentLength] {
            assert_eq!(sent(&[misuse]), (Some(500), 2));
        }
        assert_eq!(sent(&[Misuse::Order]), (None, 1));
        assert_eq!(sent(&[Misuse::Status, Misuse::Order]), (None, 2));
    }
}
