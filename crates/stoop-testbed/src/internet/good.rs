//! The well-behaved hosts of an internet: stoop's own server, with a handler that knows the plan.

use std::convert::Infallible;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use http_body::{Body, Frame, SizeHint};
use stoop::{Request, Response, ServerLimits};

use super::address;
use super::network::Network;
use super::observer::{ConnectionObserver, ObservedRequest, ObservedStream};
use super::planned_response::PlannedResponse;
use crate::body;
use crate::connection::{
    ByteStream, IDLE_MAX, LINGER_MAX, OriginConnection, REQUEST_MAX, STALL_MAX,
};
use crate::log::EntryEnd;
use crate::request::{split_target, without_port};
use crate::response::ResponseFraming;

/// The limits of that server: those of the scripted servers, and one request at a time, because each
/// has a line in the log.
pub(super) fn limits() -> ServerLimits {
    let mut limits = ServerLimits::default();
    limits.time.idle = IDLE_MAX;
    limits.time.head = REQUEST_MAX;
    limits.time.body_idle = REQUEST_MAX;
    limits.time.send = STALL_MAX;
    limits.time.linger = LINGER_MAX;
    limits.wire.pipelined_max = 1;
    limits.wire.http2.streams_max = 1;
    limits.requests_per_connection_max = u64::MAX;
    limits
}

/// Serves a connection to a well-behaved host until one side closes it.
///
/// `host` is known from the address, or from TLS; where it is not, each request names it.
pub(super) async fn serve_good<S: ByteStream + 'static>(
    net: Arc<Network>,
    connection: OriginConnection<S>,
    host: Option<u64>,
    tls: bool,
) {
    let (stream, line, ahead) = connection.into_parts();
    let observer = ConnectionObserver::new(line);
    let io = ObservedStream::new(stream, ahead, observer.clone());
    let (limits, closing) = (net.limits.clone(), observer.clone());
    let handler = move |request: Request| {
        let (net, observer) = (net.clone(), observer.clone());
        async move { answer(&net, &observer, host, tls, request).await }
    };
    stoop::rt::serve(io, handler, limits).await;
    closing.server_closed();
}

/// Answers one request according to the plan.
async fn answer(
    net: &Network,
    observer: &Arc<ConnectionObserver>,
    host: Option<u64>,
    tls: bool,
    mut request: Request,
) -> Response<PlannedContent> {
    let (_, target) = split_target(request.target());
    poll_fn(|cx| observer.poll_request(target, cx)).await;
    let request_guard = ObservedRequest(observer.clone());
    if request.body_mut().discard().await.is_err() {
        // The server answers malformed content itself; this is never sent.
        return Response::from_stream(PlannedContent::new(
            request_guard,
            ResponseFraming::Length,
            0,
        ));
    }
    let (_, target) = split_target(request.target());
    let name = without_port(request.authority());
    let named = address::parse(&name, net.plan.domain());
    let Some((prefix, named)) = named.filter(|(_, named)| host.is_none_or(|h| h == *named)) else {
        // The client sent the request on the connection of another host (RFC 9110 §15.5.20).
        let status = StatusCode::MISDIRECTED_REQUEST;
        observer.response_started(status.as_u16(), Some(EntryEnd::BadRequest));
        return respond(status, PlannedContent::new(request_guard, ResponseFraming::Length, 0))
            .with_close();
    };
    let mut planned = net.plan.response(named, tls, prefix, target);
    observer.about(planned.url, &name);
    if !planned.delay.is_zero() {
        tokio::time::sleep(planned.delay).await;
    }
    let mut retry_after = None;
    if let (Some(status), Some(url)) = (planned.busy, planned.url) {
        retry_after = net.busy.seconds_left(url, net.plan.retry_after());
        if retry_after.is_some() {
            planned = PlannedResponse::bodiless(Some(url), status);
        }
    }
    let bodiless = request.method() == Method::HEAD || matches!(planned.status, 204 | 304);
    let empty = bodiless || planned.framing == ResponseFraming::Length && planned.body == 0;
    observer.response_started(planned.status, empty.then_some(EntryEnd::Complete));
    as_planned(&planned, retry_after, request_guard)
}

/// The response itself, with the seconds of a Retry-After.
fn as_planned(
    planned: &PlannedResponse,
    retry_after: Option<u64>,
    request_guard: ObservedRequest,
) -> Response<PlannedContent> {
    let status = StatusCode::from_u16(planned.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let content = PlannedContent::new(request_guard, planned.framing, planned.body);
    let mut response = respond(status, PlannedContent { text: planned.text, ..content });
    if let Some(seconds) = retry_after {
        push(&mut response, "retry-after", &seconds.to_string());
    }
    if let Some(location) = &planned.location {
        push(&mut response, "location", location);
    }
    if planned.framing == ResponseFraming::ChunkedTrailers {
        push(&mut response, "trailer", "x-length, x-testbed");
    }
    if planned.close { response.with_close() } else { response }
}

/// A response with the fields that all responses have.
fn respond(status: StatusCode, content: PlannedContent) -> Response<PlannedContent> {
    // A robots.txt has to be plain (RFC 9309 §2.3), and is the only text.
    let media_type = if content.text.is_some() { "text/plain" } else { "text/html" };
    let mut response = Response::from_stream(content).with_status(status);
    push(&mut response, "server", "stoop-testbed");
    push(&mut response, "content-type", media_type);
    response
}

fn push(response: &mut Response<PlannedContent>, name: &str, value: &str) {
    // A field that would split the message is refused, and no plan has one.
    let _ = response.fields_mut().push(name, value.as_bytes());
}

/// The content of a response, piece by piece from the static block, or a text: nothing is allocated or
/// copied.
struct PlannedContent {
    at: u64,
    length: u64,
    framing: ResponseFraming,
    text: Option<&'static str>,
    request_guard: ObservedRequest,
}

impl PlannedContent {
    fn new(request_guard: ObservedRequest, framing: ResponseFraming, length: u64) -> Self {
        Self { at: 0, length, framing, text: None, request_guard }
    }

    /// What comes next.
    fn piece(&self) -> &'static [u8] {
        match self.text {
            Some(text) => &text.as_bytes()[self.at as usize..],
            None => body::piece(self.at, self.length - self.at),
        }
    }
}

impl Body for PlannedContent {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if self.at < self.length {
            let piece = self.piece();
            self.at += piece.len() as u64;
            if self.framing == ResponseFraming::Length && self.at == self.length {
                self.request_guard.0.last_piece_taken();
            }
            return Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(piece)))));
        }
        match self.framing {
            ResponseFraming::Length => {
                self.request_guard.0.polled_after_last_piece();
                Poll::Ready(None)
            }
            ResponseFraming::Chunked => {
                self.request_guard.0.content_ended();
                Poll::Ready(None)
            }
            ResponseFraming::ChunkedTrailers => {
                self.framing = ResponseFraming::Chunked;
                self.request_guard.0.content_ended();
                let mut trailers = HeaderMap::with_capacity(2);
                trailers.insert("x-length", HeaderValue::from(self.length));
                trailers.insert("x-testbed", HeaderValue::from_static("trailer"));
                Poll::Ready(Some(Ok(Frame::trailers(trailers))))
            }
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self.framing {
            ResponseFraming::Length => SizeHint::with_exact(self.length - self.at),
            ResponseFraming::Chunked | ResponseFraming::ChunkedTrailers => SizeHint::default(),
        }
    }
}
