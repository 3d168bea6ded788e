//! Feeds requests to the server's HTTP/1 machine and records what it reads and answers.

use std::fmt;

use http::StatusCode;
use stoop_proto::h1::{Event, Server};
use stoop_proto::{BodySize, Fields, Limits, RequestHead, ResponseParts, Violation};

use super::same_for_every_cut;

/// A request as the server's machine read it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadRequest {
    /// Its head.
    pub head: RequestHead,
    /// Its content.
    pub body: Vec<u8>,
    /// Its trailer section.
    pub trailers: Option<Fields>,
}

/// What a server read and answered. It answers each complete request with an empty 200.
#[derive(Default, PartialEq, Eq)]
pub struct ServerOutcome {
    /// The requests that were read to their ends.
    pub requests: Vec<ReadRequest>,
    /// The request whose end was still to come.
    pub unfinished: Option<ReadRequest>,
    /// Why a request was refused.
    pub violation: Option<Violation>,
    /// The bytes that the server sent.
    pub answer: Vec<u8>,
    /// Bytes that were not consumed, unless a request was refused.
    pub rest: Vec<u8>,
    /// Whether the server would read another request.
    pub is_open: bool,
}

impl fmt::Debug for ServerOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerOutcome")
            .field("requests", &self.requests)
            .field("unfinished", &self.unfinished)
            .field("violation", &self.violation)
            .field("answer", &format_args!("{}", self.answer.escape_ascii()))
            .field("rest", &format_args!("{}", self.rest.escape_ascii()))
            .field("is_open", &self.is_open)
            .finish()
    }
}

impl ServerOutcome {
    /// The status of the last response.
    pub fn status(&self) -> Option<u16> {
        let line = self.answer.windows(9).rposition(|bytes| bytes == b"HTTP/1.1 ")?;
        let last = line + 9;
        std::str::from_utf8(self.answer.get(last..last + 3)?).ok()?.parse().ok()
    }
}

/// The request that follows a message in [`accepted`] and [`refused`].
const NEXT: &[u8] = b"GET /next HTTP/1.1\r\nHost: next\r\n\r\n";

/// Feeds every cut of `wire` to a server. With `end`, the client then ends the connection.
#[track_caller]
pub fn serve(wire: &[u8], limits: &Limits, end: bool) -> ServerOutcome {
    same_for_every_cut(wire, |pieces| serve_once(pieces, limits, end))
}

/// Asserts that `wire` is one request, and returns it.
///
/// # Panics
/// If it is not one request, or the server consumes a byte of what follows it.
#[track_caller]
pub fn accepted(wire: &[u8]) -> ReadRequest {
    accepted_within(wire, &Limits::server())
}

/// As [`accepted`], within other limits.
#[track_caller]
pub fn accepted_within(wire: &[u8], limits: &Limits) -> ReadRequest {
    let mut served = serve(wire, limits, false);
    assert_eq!(served.violation, None, "refused: {}", wire.escape_ascii());
    assert_eq!(served.requests.len(), 1, "not one request: {}", wire.escape_ascii());
    assert!(served.rest.is_empty() && served.unfinished.is_none());

    let glued = serve_once(&[&[wire, NEXT].concat()], limits, false);
    assert_eq!(glued.violation, None, "with the next request behind it");
    assert_eq!(glued.requests[0], served.requests[0]);
    match served.is_open {
        true => assert_eq!(glued.requests[1].head.target(), "/next"),
        false => assert_eq!(glued.rest, NEXT, "the server reads on after the last request"),
    }
    served.requests.remove(0)
}

/// Asserts that `wire` is refused for that reason, with that status, and that the connection ends.
///
/// # Panics
/// If one of these is not so.
#[track_caller]
pub fn refused(wire: &[u8], violation: Violation, status: u16) {
    refused_within(wire, &Limits::server(), violation, status);
}

/// As [`refused`], within other limits.
#[track_caller]
pub fn refused_within(wire: &[u8], limits: &Limits, violation: Violation, status: u16) {
    let served = serve(wire, limits, false);
    assert_eq!(served.violation, Some(violation), "{}", wire.escape_ascii());
    assert_eq!(served.status(), Some(status));
    assert!(served.answer.windows(21).any(|bytes| bytes == b"\r\nconnection: close\r\n"));
    assert!(!served.is_open);
    let glued = [wire, NEXT].concat();
    let glued = serve_once(&[&glued], limits, false);
    assert_eq!(glued.violation, served.violation, "with the next request behind it");
    assert_eq!(glued.answer, served.answer, "with the next request behind it");
}

/// Feeds these pieces to a server.
///
/// # Panics
/// If the machine contradicts itself.
#[track_caller]
pub fn serve_once(pieces: &[&[u8]], limits: &Limits, end: bool) -> ServerOutcome {
    let served = ServerOutcome::default();
    let mut feed = ServerFeed { server: Server::new(), limits, served, reading: None };
    for piece in pieces {
        feed.served.rest.extend_from_slice(piece);
        feed.read();
    }
    if end && feed.served.violation.is_none() {
        feed.end();
    }
    if feed.served.violation.is_some() {
        feed.served.rest.clear();
    }
    feed.served.unfinished = feed.reading;
    feed.served.is_open = feed.server.is_receiving() && !feed.server.is_sent();
    feed.served
}

/// A server that is being fed.
struct ServerFeed<'a> {
    server: Server,
    limits: &'a Limits,
    served: ServerOutcome,
    reading: Option<ReadRequest>,
}

impl ServerFeed<'_> {
    /// Reads until more bytes are needed.
    fn read(&mut self) {
        let mut head = RequestHead::default();
        let mut violation_in_buffer = None;
        loop {
            let received = self.server.receive(&self.served.rest, &mut head, self.limits);
            let consumed = received.consumed;
            assert!(consumed <= self.served.rest.len(), "consumed more than there was");
            if self.served.violation.is_some() {
                assert_eq!((consumed, received.event), (0, Event::Paused), "after a violation");
                return;
            }
            match received.event {
                Event::NeedMore | Event::Paused | Event::Tunnel => {
                    self.served.rest.drain(..consumed);
                    if let Some(Err(violation)) = violation_in_buffer {
                        panic!("{violation:?} was violation_in_buffer and did not come");
                    }
                    return;
                }
                Event::Head { end } => {
                    assert!(self.reading.is_none(), "a head within a body");
                    self.served.rest.drain(..consumed);
                    self.reading =
                        Some(ReadRequest { head: head.clone(), ..ReadRequest::default() });
                    if end {
                        self.complete();
                    } else {
                        violation_in_buffer = Some(
                            self.server.validate_buffered_body(&self.served.rest, self.limits),
                        );
                    }
                }
                Event::Data(span) => {
                    assert!(!span.is_empty() && span.end <= consumed, "data lies in what it took");
                    let reading = self.reading.as_mut().expect("data follow a head");
                    reading.body.extend_from_slice(&self.served.rest[span]);
                    self.served.rest.drain(..consumed);
                }
                Event::End { trailers } => {
                    self.served.rest.drain(..consumed);
                    let section = self.server.take_trailers();
                    assert_eq!(section.is_some(), trailers);
                    let reading = self.reading.as_mut().expect("an end follows a head");
                    reading.trailers = section.map(|section| *section);
                    assert!(
                        violation_in_buffer
                            .take()
                            .is_none_or(|violation_in_buffer| violation_in_buffer.is_ok())
                    );
                    self.complete();
                }
                Event::Violation(violation) => {
                    assert!(violation_in_buffer.is_none_or(|violation_in_buffer| violation_in_buffer == Err(violation)));
                    violation_in_buffer = None;
                    self.refuse(violation);
                }
                event @ (Event::Interim | Event::Closed) => panic!("a server got {event:?}"),
            }
        }
    }

    fn complete(&mut self) {
        let request = self.reading.take().expect("a request is being read");
        self.served.requests.push(request);
        let answer = self.server.answer();
        let (parts, out) = (ResponseParts::new(StatusCode::OK), &mut self.served.answer);
        if self.server.respond(answer, &parts, BodySize::Exact(0), out).is_err() {
            // A 200 to CONNECT would open a tunnel.
            let parts = ResponseParts::new(StatusCode::NOT_IMPLEMENTED);
            self.server
                .respond(answer, &parts, BodySize::Exact(0), out)
                .expect("a response is due");
        }
        self.server.finish(None, out).expect("the response was begun");
    }

    fn refuse(&mut self, violation: Violation) {
        self.served.violation = Some(violation);
        assert!(self.server.refuse(violation, None, &mut self.served.answer));
        assert!(self.server.is_sent() && !self.server.is_receiving());
    }

    fn end(&mut self) {
        match self.server.receive_end(&self.served.rest) {
            Event::Closed => {}
            Event::Violation(violation) => self.refuse(violation),
            event => panic!("the end of the connection is {event:?}"),
        }
    }
}
