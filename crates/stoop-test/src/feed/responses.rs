//! Feeding a client.

use http::Method;
use stoop_proto::h1::{Client, Event};
use stoop_proto::{BodySize, Fields, Limits, RequestHead, ResponseHead, Violation};

use super::always;

/// A request whose response is to be read.
#[derive(Clone, Debug)]
pub struct Asked {
    head: RequestHead,
    size: BodySize,
    limits: Limits,
}

/// How a response ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ended {
    /// It did not: more bytes are needed.
    #[default]
    Open,
    /// By its framing.
    Complete,
    /// With the connection, as its framing says.
    WithConnection,
    /// The bytes are another protocol's.
    Tunnel,
    /// The connection was closed where no response had begun.
    Unanswered,
    /// The server broke the protocol.
    Wrong(Violation),
}

/// What a client read.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Read {
    /// Interim responses.
    pub interim: Vec<ResponseHead>,
    /// The final response's head.
    pub head: Option<ResponseHead>,
    /// Its content, or what came of it.
    pub body: Vec<u8>,
    /// Its trailer section.
    pub trailers: Option<Fields>,
    /// How it ended.
    pub ended: Ended,
    /// Whether another request may be sent.
    pub is_reusable: bool,
    /// Bytes that were not consumed, unless something was wrong.
    pub rest: Vec<u8>,
}

impl Read {
    /// The final status, or zero.
    pub fn status(&self) -> u16 {
        self.head.as_ref().map_or(0, |head| head.status().as_u16())
    }
}

impl Asked {
    /// A request without content.
    ///
    /// # Panics
    /// If CONNECT is the method: it has another target.
    pub fn by(method: Method) -> Self {
        let target = if method == Method::CONNECT { "a:443" } else { "/" };
        let mut head = RequestHead::new(method, target).expect("the target fits");
        head.fields_mut().push("host", b"a").expect("the field is one");
        Self { head, size: BodySize::Exact(0), limits: Limits::client() }
    }

    /// With a field.
    ///
    /// # Panics
    /// If it is none.
    #[must_use]
    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.head.fields_mut().push(name, value.as_bytes()).expect("the field is one");
        self
    }

    /// Within other limits.
    #[must_use]
    pub fn within(mut self, limits: &Limits) -> Self {
        self.limits = limits.clone();
        self
    }

    /// A client that has sent the request.
    ///
    /// # Panics
    /// If it cannot be sent.
    pub fn sent(&self) -> Client {
        let mut client = Client::new();
        client.send(&self.head, self.size, &mut Vec::new()).expect("the request can be sent");
        client.finish(None, &mut Vec::new()).expect("the request has no content");
        client
    }

    /// Feeds `wire` in every way to a client that has sent the request.
    #[track_caller]
    pub fn reads(&self, wire: &[u8]) -> Read {
        always(wire, |pieces| read_once(self.sent(), pieces, &self.limits, false))
    }

    /// The same, and then the server ends the connection.
    #[track_caller]
    pub fn reads_to_end(&self, wire: &[u8]) -> Read {
        always(wire, |pieces| read_once(self.sent(), pieces, &self.limits, true))
    }

    /// The one response that `wire` is.
    ///
    /// # Panics
    /// If it is not one response, or what follows it is touched.
    #[track_caller]
    pub fn accepts(&self, wire: &[u8]) -> Read {
        let read = self.reads(wire);
        assert_eq!(read.ended, Ended::Complete, "{}", wire.escape_ascii());
        assert!(read.rest.is_empty());
        let glued = [wire, b"HTTP/1.1 200 Poison\r\n\r\n"].concat();
        let glued = read_once(self.sent(), &[&glued], &self.limits, false);
        assert_eq!(glued.head, read.head, "with other bytes behind it");
        assert_eq!(glued.body, read.body, "with other bytes behind it");
        assert_eq!(glued.rest, b"HTTP/1.1 200 Poison\r\n\r\n", "with other bytes behind it");
        read
    }

    /// Asserts that `wire` is an error of that kind.
    ///
    /// # Panics
    /// If it is not.
    #[track_caller]
    pub fn refuses(&self, wire: &[u8], violation: Violation) {
        let read = self.reads(wire);
        assert_eq!(read.ended, Ended::Wrong(violation), "{}", wire.escape_ascii());
        assert!(!read.is_reusable);
    }
}

/// Feeds pieces to a client, up to the end of one response.
///
/// # Panics
/// If the machine contradicts itself.
#[track_caller]
pub fn read_once(mut client: Client, pieces: &[&[u8]], limits: &Limits, end: bool) -> Read {
    let mut read = Read::default();
    for piece in pieces {
        read.rest.extend_from_slice(piece);
        if read.ended == Ended::Open {
            receive(&mut client, &mut read, limits);
        }
    }
    if end && read.ended == Ended::Open {
        read.ended = match client.receive_end(&read.rest) {
            Event::End { trailers: false } => Ended::WithConnection,
            Event::Closed => Ended::Unanswered,
            Event::Violation(violation) => Ended::Wrong(violation),
            event => panic!("the end of the connection is {event:?}"),
        };
    }
    if let Ended::Wrong(_) = read.ended {
        read.rest.clear();
        let again = client.receive(b"HTTP/1.1 200\r\n\r\n", &mut ResponseHead::default(), limits);
        assert_eq!((again.consumed, again.event), (0, Event::Paused), "after a violation");
    }
    read.is_reusable = client.is_reusable();
    read
}

fn receive(client: &mut Client, read: &mut Read, limits: &Limits) {
    let mut head = ResponseHead::default();
    while read.ended == Ended::Open {
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
                    read.ended = Ended::Complete;
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
                read.ended = Ended::Complete;
            }
            Event::Tunnel => read.ended = Ended::Tunnel,
            Event::Violation(violation) => read.ended = Ended::Wrong(violation),
            event @ (Event::Paused | Event::Closed) => panic!("a client got {event:?}"),
        }
        read.rest.drain(..consumed);
    }
}
