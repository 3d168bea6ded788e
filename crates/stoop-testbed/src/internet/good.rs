//! The well-behaved servers of the internet: stoop's own, with a handler that knows the plan.

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
use super::network::Net;
use super::witness::{Asked, Witness, Witnessed};
use crate::answer::Framing;
use crate::body;
use crate::log::Ended;
use crate::request::{split_target, without_port};
use crate::wire::{IDLE_MAX, LINGER_MAX, REQUEST_MAX, STALL_MAX, Stream, Wire};

/// As patient as the scripted servers, and one request at a time: each has a line in the log.
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
/// `host` is known from the address, or from TLS; where it is not, each request says.
pub(super) async fn serve_good<S: Stream + 'static>(
    net: Arc<Net>,
    wire: Wire<S>,
    host: Option<u64>,
    tls: bool,
) {
    let (stream, line, ahead) = wire.into_parts();
    let witness = Witness::new(line);
    let io = Witnessed::new(stream, ahead, witness.clone());
    let (limits, seen) = (net.limits.clone(), witness.clone());
    let handler = move |request: Request| {
        let (net, witness) = (net.clone(), witness.clone());
        async move { answer(&net, &witness, host, tls, request).await }
    };
    stoop::tokio::serve(io, handler, limits).await;
    seen.over();
}

/// Answers one request as the plan has it.
async fn answer(
    net: &Net,
    witness: &Arc<Witness>,
    host: Option<u64>,
    tls: bool,
    mut request: Request,
) -> Response<Content> {
    let (_, target) = split_target(request.target());
    poll_fn(|cx| witness.poll_asked(target, cx)).await;
    let asked = Asked(witness.clone());
    if request.body_mut().discard().await.is_err() {
        // The server says itself what was wrong with it; this is never sent.
        return Response::stream(Content::new(asked, Framing::Length, 0));
    }
    let (_, target) = split_target(request.target());
    let name = without_port(request.authority());
    let named = address::parse(&name, net.plan.domain());
    let Some((prefix, named)) = named.filter(|(_, named)| host.is_none_or(|h| h == *named)) else {
        // A client that brings a request to the wrong connection is told so.
        let status = StatusCode::MISDIRECTED_REQUEST;
        witness.answers(status.as_u16(), Some(Ended::BadRequest));
        return respond(status, Content::new(asked, Framing::Length, 0)).with_close();
    };
    let reply = net.plan.reply(named, tls, prefix, target);
    witness.about(reply.url, &name);
    if !reply.delay.is_zero() {
        tokio::time::sleep(reply.delay).await;
    }
    let bodiless = request.method() == Method::HEAD || matches!(reply.status, 204 | 304);
    let empty = bodiless || reply.framing == Framing::Length && reply.body == 0;
    witness.answers(reply.status, empty.then_some(Ended::Complete));
    let status = StatusCode::from_u16(reply.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = respond(status, Content::new(asked, reply.framing, reply.body));
    if let Some(location) = &reply.location {
        push(&mut response, "location", location);
    }
    if reply.framing == Framing::ChunkedTrailers {
        push(&mut response, "trailer", "x-length, x-testbed");
    }
    if reply.close { response.with_close() } else { response }
}

/// A response with the fields that all have.
fn respond(status: StatusCode, content: Content) -> Response<Content> {
    let mut response = Response::stream(content).with_status(status);
    push(&mut response, "server", "stoop-testbed");
    push(&mut response, "content-type", "text/html");
    response
}

fn push(response: &mut Response<Content>, name: &str, value: &str) {
    // It refuses what would split a message, and no plan has that.
    let _ = response.fields_mut().push(name, value.as_bytes());
}

/// The content of an answer, piece by piece from where all of it lies: nothing is made or copied.
struct Content {
    at: u64,
    length: u64,
    framing: Framing,
    asked: Asked,
}

impl Content {
    fn new(asked: Asked, framing: Framing, length: u64) -> Self {
        Self { at: 0, length, framing, asked }
    }
}

impl Body for Content {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if self.at < self.length {
            let piece = body::piece(self.at, self.length - self.at);
            self.at += piece.len() as u64;
            if self.framing == Framing::Length && self.at == self.length {
                self.asked.0.last_piece();
            }
            return Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(piece)))));
        }
        match self.framing {
            Framing::Length => {
                self.asked.0.after_last_piece();
                Poll::Ready(None)
            }
            Framing::Chunked => {
                self.asked.0.last();
                Poll::Ready(None)
            }
            Framing::ChunkedTrailers => {
                self.framing = Framing::Chunked;
                self.asked.0.last();
                let mut trailers = HeaderMap::with_capacity(2);
                trailers.insert("x-length", HeaderValue::from(self.length));
                trailers.insert("x-testbed", HeaderValue::from_static("trailer"));
                Poll::Ready(Some(Ok(Frame::trailers(trailers))))
            }
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self.framing {
            Framing::Length => SizeHint::with_exact(self.length - self.at),
            Framing::Chunked | Framing::ChunkedTrailers => SizeHint::default(),
        }
    }
}
