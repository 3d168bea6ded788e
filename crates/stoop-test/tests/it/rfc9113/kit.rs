//! Requests and responses as frames, assertions about an endpoint's outcome, and [`ManualMachine`], which a
//! test drives step by step.

use std::time::{Duration, Instant};

use http::{Method, StatusCode};
use stoop_proto::h2::{Connection, Event, Fault, ResetReason, StreamKey};
use stoop_proto::{BodySize, Limits, RequestHead, ResponseParts};
use stoop_test::feed::h2::{EndpointEvent, EndpointOutcome, EndpointSetup};
use stoop_test::frames::{FrameReader, flag, headers, settings, settings_ack};

/// Names and values of field lines.
pub(crate) type FieldLines<'a> = &'a [(&'a str, &'a str)];

/// The pseudo-header fields of a GET.
pub(crate) const GET: FieldLines<'_> =
    &[(":method", "GET"), (":scheme", "https"), (":path", "/"), (":authority", "a")];
/// The pseudo-header fields of a POST.
pub(crate) const POST: FieldLines<'_> =
    &[(":method", "POST"), (":scheme", "https"), (":path", "/"), (":authority", "a")];
/// The pseudo-header field of a 200.
pub(crate) const OK: FieldLines<'_> = &[(":status", "200")];

/// A request without content.
pub(crate) fn get(stream: u32) -> Vec<u8> {
    headers(stream, flag::WHOLE, GET)
}

/// The head of a request with content.
pub(crate) fn post(stream: u32) -> Vec<u8> {
    headers(stream, flag::END_HEADERS, POST)
}

/// The head of a request with content of that length.
pub(crate) fn post_of(stream: u32, length: &str) -> Vec<u8> {
    headers(stream, flag::END_HEADERS, &with(POST, &[("content-length", length)]))
}

/// The head of a response with content.
pub(crate) fn ok(stream: u32) -> Vec<u8> {
    headers(stream, flag::END_HEADERS, OK)
}

/// All field lines of `first`, and then those of `more`.
pub(crate) fn with<'a>(first: FieldLines<'a>, more: FieldLines<'a>) -> Vec<(&'a str, &'a str)> {
    [first, more].concat()
}

/// Feeds bytes that end the connection, and asserts that it ends with that fault and sends its GOAWAY.
#[track_caller]
pub(crate) fn breaks(endpoint: &EndpointSetup, wire: &[u8], fault: Fault) -> EndpointOutcome {
    let outcome = endpoint.feed(wire);
    assert_eq!(outcome.fault, Some(fault), "{outcome:?}");
    assert_eq!(outcome.events.last(), Some(&EndpointEvent::Closed));
    let (code, text) = (fault.code(), fault.explain());
    let last = outcome.last_sent();
    assert!(last.starts_with("GOAWAY ") && last.ends_with(&format!(" {code}: {text}")), "{last}");
    outcome
}

/// Feeds bytes that end a stream, and asserts that it is reset with that fault and the connection goes on.
#[track_caller]
pub(crate) fn resets(
    endpoint: &EndpointSetup,
    wire: &[u8],
    stream: u32,
    fault: Fault,
) -> EndpointOutcome {
    let outcome = endpoint.feed(wire);
    assert!(!outcome.is_closed, "{outcome:?}");
    assert_eq!(
        outcome.reset(stream).unwrap_or(ResetReason::Fault(fault)),
        ResetReason::Fault(fault)
    );
    let line = format!("RST_STREAM {stream} {}", fault.code());
    assert!(outcome.has_sent(&line), "{line}: {outcome:?}");
    outcome
}

/// Feeds a server a malformed request, and asserts that its stream is reset without an event.
#[track_caller]
pub(crate) fn refuses(wire: &[u8], fault: Fault) {
    let outcome = resets(&stoop_test::feed::h2::server(), wire, 1, fault);
    assert_eq!(outcome.events, [], "there is no event");
}

/// Feeds bytes, and asserts that they change nothing.
#[track_caller]
pub(crate) fn ignores(endpoint: &EndpointSetup, wire: &[u8]) {
    let before = endpoint.feed(b"");
    assert_eq!(endpoint.feed(wire), before);
}

/// Limits with windows that do not grow, so that no PING measures the round trip.
fn with_fixed_windows(mut limits: Limits) -> Limits {
    limits.http2.stream_window_bytes_max = limits.http2.stream_window_bytes;
    limits.http2.connection_window_bytes_max = limits.http2.connection_window_bytes;
    limits
}

/// A machine with a clock, its input and its output, which a test drives step by step.
pub(crate) struct ManualMachine {
    pub(crate) connection: Connection,
    pub(crate) limits: Limits,
    pub(crate) now: Instant,
    pub(crate) out: Vec<u8>,
    input: Vec<u8>,
    reader: FrameReader,
}

impl ManualMachine {
    /// A server whose client has sent empty SETTINGS.
    pub(crate) fn server() -> Self {
        Self::server_within(|_| ())
    }

    /// The same server with changed limits.
    pub(crate) fn server_within(change: impl FnOnce(&mut Limits)) -> Self {
        let mut limits = with_fixed_windows(Limits::server());
        change(&mut limits);
        let mut machine = Self::new(Connection::server(limits.clone()), limits);
        machine.feed(stoop_test::frames::PREFACE);
        machine.exchange_settings(&[]);
        machine
    }

    /// A client whose server has sent empty SETTINGS.
    pub(crate) fn client() -> Self {
        Self::client_to(&[])
    }

    /// A client whose server has sent these SETTINGS.
    pub(crate) fn client_to(values: &[(u16, u32)]) -> Self {
        let limits = with_fixed_windows(Limits::client());
        let mut machine = Self::new(Connection::client(limits.clone()), limits);
        machine.connection.transmit(machine.now, &mut machine.out);
        machine.out.drain(..stoop_test::frames::PREFACE.len());
        machine.exchange_settings(values);
        machine
    }

    /// A machine before the first byte.
    pub(crate) fn new(connection: Connection, limits: Limits) -> Self {
        let (out, input, reader) = Default::default();
        Self { connection, limits, now: Instant::now(), out, input, reader }
    }

    /// Reads the peer's SETTINGS and acknowledgement, and drops the frames that were sent.
    fn exchange_settings(&mut self, values: &[(u16, u32)]) {
        assert_eq!(self.feed(&settings(values)), [Event::Settings]);
        assert_eq!(self.feed(&settings_ack()), []);
        self.sent();
    }

    /// Feeds bytes. Returns the events up to where more bytes are needed, or the connection is closed or
    /// paused.
    pub(crate) fn feed(&mut self, wire: &[u8]) -> Vec<Event> {
        self.input.extend_from_slice(wire);
        let mut events = Vec::new();
        loop {
            let received = self.connection.receive(self.now, &self.input, true);
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

    /// The frames that were sent since the last call, as lines.
    pub(crate) fn sent(&mut self) -> Vec<String> {
        self.connection.transmit(self.now, &mut self.out);
        let lines = self.reader.lines(&self.out);
        self.out.clear();
        lines
    }

    /// Moves the clock.
    pub(crate) fn advance(&mut self, time: Duration) {
        self.now += time;
        self.connection.handle_timeout(self.now);
    }

    /// Feeds the frames of one request. Returns its stream.
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

    /// Opens a stream with a request.
    pub(crate) fn open(
        &mut self,
        method: Method,
        size: BodySize,
    ) -> Result<StreamKey, stoop_proto::h2::Refusal> {
        self.connection.open(&request(method), "https", size, &mut self.out)
    }

    /// Begins a 200 with content of that size. Returns whether content is due.
    #[track_caller]
    pub(crate) fn respond(&mut self, key: StreamKey, size: BodySize) -> bool {
        let parts = ResponseParts::new(StatusCode::OK);
        self.connection.respond(key, &parts, size, &mut self.out).expect("a response is due")
    }

    /// Sends up to `bytes` bytes of content, as far as the windows allow. Returns how many that were.
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
