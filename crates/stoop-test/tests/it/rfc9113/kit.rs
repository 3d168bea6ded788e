//! What the tests of the sections have in common.

use std::time::{Duration, Instant};

use http::{Method, StatusCode};
use stoop_proto::h2::{Connection, Event, Fault, Reset, StreamKey};
use stoop_proto::{BodySize, Limits, RequestHead, ResponseParts};
use stoop_test::feed::h2::{EndpointEvent, EndpointOutcome, EndpointSetup};
use stoop_test::frames::{FrameReader, flag, headers, settings, settings_ack};

pub(crate) type FieldLines<'a> = &'a [(&'a str, &'a str)];

pub(crate) const GET: FieldLines<'_> =
    &[(":method", "GET"), (":scheme", "https"), (":path", "/"), (":authority", "a")];
pub(crate) const POST: FieldLines<'_> =
    &[(":method", "POST"), (":scheme", "https"), (":path", "/"), (":authority", "a")];
pub(crate) const OK: FieldLines<'_> = &[(":status", "200")];

/// A request without content.
pub(crate) fn get(stream: u32) -> Vec<u8> {
    headers(stream, flag::WHOLE, GET)
}

/// The head of a request with content.
pub(crate) fn post(stream: u32) -> Vec<u8> {
    headers(stream, flag::END_HEADERS, POST)
}

/// The same, of that length.
pub(crate) fn post_of(stream: u32, length: &str) -> Vec<u8> {
    headers(stream, flag::END_HEADERS, &with(POST, &[("content-length", length)]))
}

/// The head of a response with content.
pub(crate) fn ok(stream: u32) -> Vec<u8> {
    headers(stream, flag::END_HEADERS, OK)
}

/// Both, one behind the other.
pub(crate) fn with<'a>(first: FieldLines<'a>, more: FieldLines<'a>) -> Vec<(&'a str, &'a str)> {
    [first, more].concat()
}

/// Feeds what ends the connection, which says why.
#[track_caller]
pub(crate) fn breaks(end: &EndpointSetup, wire: &[u8], fault: Fault) -> EndpointOutcome {
    let outcome = end.feed(wire);
    assert_eq!(outcome.fault, Some(fault), "{outcome:?}");
    assert_eq!(outcome.events.last(), Some(&EndpointEvent::Closed));
    let (code, text) = (fault.code(), fault.explain());
    let last = outcome.last_sent();
    assert!(last.starts_with("GOAWAY ") && last.ends_with(&format!(" {code}: {text}")), "{last}");
    outcome
}

/// Feeds what ends a stream and nothing else.
#[track_caller]
pub(crate) fn resets(
    end: &EndpointSetup,
    wire: &[u8],
    stream: u32,
    fault: Fault,
) -> EndpointOutcome {
    let outcome = end.feed(wire);
    assert!(!outcome.is_closed, "{outcome:?}");
    assert_eq!(outcome.reset(stream).unwrap_or(Reset::Fault(fault)), Reset::Fault(fault));
    let line = format!("RST_STREAM {stream} {}", fault.code());
    assert!(outcome.has_sent(&line), "{line}: {outcome:?}");
    outcome
}

/// Feeds a request that never becomes one.
#[track_caller]
pub(crate) fn refuses(wire: &[u8], fault: Fault) {
    let outcome = resets(&stoop_test::feed::h2::server(), wire, 1, fault);
    assert_eq!(outcome.events, [], "nobody was told");
}

/// Feeds what means nothing.
#[track_caller]
pub(crate) fn ignores(end: &EndpointSetup, wire: &[u8]) {
    let before = end.feed(b"");
    assert_eq!(end.feed(wire), before);
}

/// Windows that do not grow, so that no PING measures how large they have to be.
fn fixed(mut limits: Limits) -> Limits {
    limits.http2.stream_window_bytes_max = limits.http2.stream_window_bytes;
    limits.http2.connection_window_bytes_max = limits.http2.connection_window_bytes;
    limits
}

/// A machine that is driven by hand.
pub(crate) struct ManualMachine {
    pub(crate) connection: Connection,
    pub(crate) limits: Limits,
    pub(crate) now: Instant,
    pub(crate) out: Vec<u8>,
    input: Vec<u8>,
    reader: FrameReader,
}

impl ManualMachine {
    /// A server to which a client has said nothing of itself.
    pub(crate) fn server() -> Self {
        Self::server_within(|_| ())
    }

    pub(crate) fn server_within(change: impl FnOnce(&mut Limits)) -> Self {
        let mut limits = fixed(Limits::server());
        change(&mut limits);
        let mut machine = Self::new(Connection::server(&limits), limits);
        machine.feed(stoop_test::frames::PREFACE);
        machine.exchange_settings(&[]);
        machine
    }

    /// A client to which a server has said nothing of itself.
    pub(crate) fn client() -> Self {
        Self::client_to(&[])
    }

    /// A client to which a server has said these settings.
    pub(crate) fn client_to(values: &[(u16, u32)]) -> Self {
        let limits = fixed(Limits::client());
        let mut machine = Self::new(Connection::client(&limits), limits);
        machine.connection.transmit(machine.now, &machine.limits, &mut machine.out);
        machine.out.drain(..stoop_test::frames::PREFACE.len());
        machine.exchange_settings(values);
        machine
    }

    pub(crate) fn new(connection: Connection, limits: Limits) -> Self {
        let (out, input, reader) = Default::default();
        Self { connection, limits, now: Instant::now(), out, input, reader }
    }

    fn exchange_settings(&mut self, values: &[(u16, u32)]) {
        assert_eq!(self.feed(&settings(values)), [Event::Settings]);
        assert_eq!(self.feed(&settings_ack()), []);
        self.sent();
    }

    /// Everything that happens, up to where more is needed, or the connection is over or paused.
    pub(crate) fn feed(&mut self, wire: &[u8]) -> Vec<Event> {
        self.input.extend_from_slice(wire);
        let mut events = Vec::new();
        loop {
            let received = self.connection.receive(self.now, &self.input, true, &self.limits);
            self.input.drain(..received.consumed);
            match received.event {
                Event::NeedMore => return events,
                event @ (Event::Paused | Event::Closed) => {
                    events.push(event);
                    return events;
                }
                event => events.push(event),
            }
        }
    }

    /// What was said since it was asked last.
    pub(crate) fn sent(&mut self) -> Vec<String> {
        self.connection.transmit(self.now, &self.limits, &mut self.out);
        let lines = self.reader.lines(&self.out);
        self.out.clear();
        lines
    }

    /// Time passes.
    pub(crate) fn advance(&mut self, time: Duration) {
        self.now += time;
        self.connection.handle_timeout(self.now);
    }

    /// Reads a request, which is taken.
    #[track_caller]
    pub(crate) fn read_request(&mut self, wire: &[u8]) -> StreamKey {
        match self.feed(wire)[..] {
            [Event::Request { key, .. }] => key,
            ref other => panic!("{other:?}"),
        }
    }

    /// Opens a stream with a GET.
    #[track_caller]
    pub(crate) fn get(&mut self) -> StreamKey {
        self.open(Method::GET, BodySize::Exact(0)).expect("there is room")
    }

    pub(crate) fn open(
        &mut self,
        method: Method,
        size: BodySize,
    ) -> Result<StreamKey, stoop_proto::h2::Refusal> {
        self.connection.open(&request(method), "https", size, &mut self.out)
    }

    /// Begins a 200 with content.
    #[track_caller]
    pub(crate) fn respond(&mut self, key: StreamKey, size: BodySize) -> bool {
        let parts = ResponseParts::new(StatusCode::OK);
        self.connection.respond(key, &parts, size, &mut self.out).expect("a response is due")
    }

    /// Sends as much content as may be sent, of so much; says how much that was.
    pub(crate) fn send(&mut self, key: StreamKey, bytes: usize) -> usize {
        let mut left = bytes;
        while left > 0 {
            let piece = left.min(self.connection.sendable(key));
            if piece == 0 {
                break;
            }
            let content = vec![b'x'; piece].into();
            self.connection.data(key, content, false, &mut self.out).expect("it may be sent");
            left -= piece;
        }
        bytes - left
    }
}

/// The head of a request to `/` of host `a`.
pub(crate) fn request(method: Method) -> RequestHead {
    crate::machines::request(method, &[])
}
