//! Feeds responses to the client's HTTP/1 machine and records what it reads.

use http::Method;
use stoop_proto::h1::{Client, Event};
use stoop_proto::{BodySize, Fields, Limits, RequestHead, ResponseHead, Violation};

use super::same_for_every_cut;

/// A request that a client has sent, and the limits within which it reads the response.
#[derive(Clone, Debug)]
pub struct SentRequest {
    head: RequestHead,
    size: BodySize,
    limits: Limits,
}

/// How a response ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ResponseEnd {
    /// It did not: more bytes are needed.
    #[default]
    Open,
    /// By its framing.
    Complete,
    /// With the connection, as its framing says.
    WithConnection,
    /// The connection has become a tunnel.
    Tunnel,
    /// The connection was closed before a response had begun.
    Unanswered,
    /// The server broke the protocol.
    Violation(Violation),
}

/// A response as the client's machine read it.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct ReadResponse {
    /// Interim responses.
    pub interim: Vec<ResponseHead>,
    /// The final response's head.
    pub head: Option<ResponseHead>,
    /// Its content, as far as it came.
    pub body: Vec<u8>,
    /// Its trailer section.
    pub trailers: Option<Fields>,
    /// How it ended.
    pub ended: ResponseEnd,
    /// Whether another request may be sent.
    pub is_reusable: bool,
    /// Bytes that were not consumed, unless the server broke the protocol.
    pub rest: Vec<u8>,
}

impl ReadResponse {
    /// The final status, or zero.
    pub fn status(&self) -> u16 {
        self.head.as_ref().map_or(0, |head| head.status().as_u16())
    }
}

impl SentRequest {
    /// A request without content: for `/`, or CONNECT to `a:443`.
    pub fn new(method: Method) -> Self {
        let target = if method == Method::CONNECT { "a:443" } else { "/" };
        let mut head = RequestHead::new(method, target).expect("the target fits");
        head.fields_mut().push("host", b"a").expect("the field is one");
        Self { head, size: BodySize::Exact(0), limits: Limits::client() }
    }

    /// Adds a field.
    ///
    /// # Panics
    /// If a field cannot have that name or value.
    #[must_use]
    pub fn with_field(mut self, name: &str, value: &str) -> Self {
        self.head.fields_mut().push(name, value.as_bytes()).expect("the field is one");
        self
    }

    /// Sets the limits within which the response is read.
    #[must_use]
    pub fn within(mut self, limits: &Limits) -> Self {
        self.limits = limits.clone();
        self
    }

    /// A client that has sent the request.
    ///
    /// # Panics
    /// If it cannot be sent.
    pub fn client(&self) -> Client {
        let mut client = Client::new();
        client.send(&self.head, self.size, &mut Vec::new()).expect("the request can be sent");
        client.finish(None, &mut Vec::new()).expect("the request has no content");
        client
    }

    /// Feeds every cut of `wire` to a client that has sent the request.
    #[track_caller]
    pub fn reads(&self, wire: &[u8]) -> ReadResponse {
        same_for_every_cut(wire, |pieces| read_once(self.client(), pieces, &self.limits, false))
    }

    /// The same, and then the server ends the connection.
    #[track_caller]
    pub fn reads_to_end(&self, wire: &[u8]) -> ReadResponse {
        same_for_every_cut(wire, |pieces| read_once(self.client(), pieces, &self.limits, true))
    }

    /// Asserts that `wire` is one response, and returns it.
    ///
    /// # Panics
    /// If it is not one response, or the client consumes a byte of what follows it.
    #[track_caller]
    pub fn accepts(&self, wire: &[u8]) -> ReadResponse {
        let read = self.reads(wire);
        assert_eq!(read.ended, ResponseEnd::Complete, "{}", wire.escape_ascii());
        assert!(read.rest.is_empty());
        let glued = [wire, b"HTTP/1.1 200 Poison\r\n\r\n"].concat();
        let glued = read_once(self.client(), &[&glued], &self.limits, false);
        assert_eq!(glued.head, read.head, "with other bytes behind it");
        assert_eq!(glued.body, read.body, "with other bytes behind it");
        assert_eq!(glued.rest, b"HTTP/1.1 200 Poison\r\n\r\n", "with other bytes behind it");
        read
    }

    /// Asserts that `wire` breaks the protocol by that violation.
    ///
    /// # Panics
    /// If it does not.
    #[track_caller]
    pub fn refuses(&self, wire: &[u8], violation: Violation) {
        let read = self.reads(wire);
        assert_eq!(read.ended, ResponseEnd::Violation(violation), "{}", wire.escape_ascii());
        assert!(!read.is_reusable);
    }
}

/// Feeds these pieces to a client, up to the end of one response.
///
/// # Panics
/// If the machine contradicts itself.
#[track_caller]
pub fn read_once(mut client: Client, pieces: &[&[u8]], limits: &Limits, end: bool) -> ReadResponse {
    let mut read = ReadResponse::default();
    for piece in pieces {
        read.rest.extend_from_slice(piece);
        if read.ended == ResponseEnd::Open {
            receive(&mut client, &mut read, limits);
        }
    }
    if end && read.ended == ResponseEnd::Open {
        read.ended = match client.receive_end(&read.rest) {
            Event::End { trailers: false } => ResponseEnd::WithConnection,
            Event::Closed => ResponseEnd::Unanswered,
            Event::Violation(violation) => ResponseEnd::Violation(violation),
            event => panic!("the end of the connection is {event:?}"),
        };
    }
    if let ResponseEnd::Violation(_) = read.ended {
        read.rest.clear();
        let again = client.receive(b"HTTP/1.1 200\r\n\r\n", &mut ResponseHead::default(), limits);
        assert_eq!((again.consumed, again.event), (0, Event::Paused), "after a violation");
    }
    read.is_reusable = client.is_reusable();
    read
}

fn receive(client: &mut Client, read: &mut ReadResponse, limits: &Limits) {
    let mut head = ResponseHead::default();
    while read.ended == ResponseEnd::Open {
        let received = client.receive(&read.rest, &mut head, limits);
        let consumed = received.consumed;
        assert!(consumed <= read.rest.len(), "consumed more than there was");
        match received.event {
            Event::NeedMore => {
                read.rest.drain(..consumed);
                return;
            }
            Event::Interim => read.interim.push(head.clone()),
            Event::Head { end } => {
                assert!(read.head.is_none(), "a head within a body");
                read.head = Some(head.clone());
                if end {
                    read.ended = ResponseEnd::Complete;
                }
            }
            Event::Data(span) => {
                assert!(!span.is_empty() && span.end <= consumed, "data lie in what was consumed");
                read.body.extend_from_slice(&read.rest[span]);
            }
            Event::End { trailers } => {
                let section = client.take_trailers();
                assert_eq!(section.is_some(), trailers);
                read.trailers = section.map(|section| *section);
                read.ended = ResponseEnd::Complete;
            }
            Event::Tunnel => read.ended = ResponseEnd::Tunnel,
            Event::Violation(violation) => read.ended = ResponseEnd::Violation(violation),
            event @ (Event::Paused | Event::Closed) => panic!("a client got {event:?}"),
        }
        read.rest.drain(..consumed);
    }
}
