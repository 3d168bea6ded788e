//! Feeds frames to one endpoint of an HTTP/2 connection and records its events and the frames it sends.

use std::collections::{BTreeMap, HashMap};
use std::time::Instant;

use http::{Method, StatusCode};
use stoop_proto::h2::{Connection, ErrorCode, Event, Fault, ResetReason, StreamKey};
use stoop_proto::{BodySize, Fields, Limits, RequestHead, ResponseHead, ResponseParts};

use super::same_for_every_cut;
use crate::frames::{self, FrameReader, PREFACE, flag, kind};

/// An event of an endpoint's machine, by the number of its stream. Content that comes in pieces is one
/// event.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs, reason = "they are the machine's events, with their data")]
pub enum EndpointEvent {
    Settings,
    Request { stream: u32, head: RequestHead, end: bool },
    Interim { stream: u32, head: ResponseHead },
    Response { stream: u32, head: ResponseHead, end: bool },
    Content { stream: u32, bytes: Vec<u8>, end: bool },
    Trailers { stream: u32, fields: Fields },
    Reset { stream: u32, reason: ResetReason },
    GoAway(ErrorCode),
    Closed,
}

/// The events of an endpoint that was fed, the frames it sent, and its state afterwards.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EndpointOutcome {
    /// Its events, without the one for the peer's first SETTINGS.
    pub events: Vec<EndpointEvent>,
    /// The frames it sent, a line for each, without its preface, without WINDOW_UPDATE, and without the
    /// PINGs that measure the round trip.
    pub sent: Vec<String>,
    /// The fault that ended the connection.
    pub fault: Option<Fault>,
    /// Whether the connection is closed.
    pub is_closed: bool,
    /// How many streams are open.
    pub streams: usize,
    /// Bytes that were not consumed.
    pub rest: Vec<u8>,
    windows: Windows,
}

/// By how much an endpoint opened its windows in all, by stream. It opens them by halves of a window, at
/// places that depend on how the input was cut, so any two values compare equal.
#[derive(Clone, Debug, Default)]
struct Windows(BTreeMap<u32, u64>);

impl PartialEq for Windows {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl EndpointOutcome {
    /// The head of the request on that stream.
    ///
    /// # Panics
    /// If there was no request.
    #[track_caller]
    pub fn request(&self, id: u32) -> &RequestHead {
        let is_it = |event: &EndpointEvent| matches!(event, EndpointEvent::Request { stream, .. } if *stream == id);
        match self.events.iter().find(|event| is_it(event)) {
            Some(EndpointEvent::Request { head, .. }) => head,
            _ => panic!("no request {id}: {self:?}"),
        }
    }

    /// The head of the response on that stream.
    ///
    /// # Panics
    /// If there was no response.
    #[track_caller]
    pub fn response(&self, id: u32) -> &ResponseHead {
        let is_it = |event: &EndpointEvent| matches!(event, EndpointEvent::Response { stream, .. } if *stream == id);
        match self.events.iter().find(|event| is_it(event)) {
            Some(EndpointEvent::Response { head, .. }) => head,
            _ => panic!("no response {id}: {self:?}"),
        }
    }

    /// The content of that stream.
    pub fn content(&self, id: u32) -> &[u8] {
        let mut contents = self.events.iter().filter_map(|event| match event {
            EndpointEvent::Content { stream, bytes, .. } if *stream == id => Some(&bytes[..]),
            _ => None,
        });
        contents.next_back().unwrap_or_default()
    }

    /// The trailer section of that stream.
    pub fn trailers(&self, id: u32) -> Option<&Fields> {
        self.events.iter().find_map(|event| match event {
            EndpointEvent::Trailers { stream, fields } if *stream == id => Some(fields),
            _ => None,
        })
    }

    /// Whether the peer has ended its direction of that stream.
    pub fn is_ended(&self, id: u32) -> bool {
        self.events.iter().any(|event| match event {
            EndpointEvent::Request { stream, end, .. }
            | EndpointEvent::Response { stream, end, .. }
            | EndpointEvent::Content { stream, end, .. } => *stream == id && *end,
            EndpointEvent::Trailers { stream, .. } => *stream == id,
            _ => false,
        })
    }

    /// Why that stream was reset, if it was.
    pub fn reset(&self, id: u32) -> Option<ResetReason> {
        self.events.iter().find_map(|event| match event {
            EndpointEvent::Reset { stream, reason } if *stream == id => Some(*reason),
            _ => None,
        })
    }

    /// By how much the window of a stream, or of the connection, was opened.
    pub fn window_opened_by(&self, id: u32) -> u64 {
        self.windows.0.get(&id).copied().unwrap_or_default()
    }

    /// Whether the endpoint sent that frame.
    pub fn has_sent(&self, line: &str) -> bool {
        self.sent.iter().any(|sent| sent == line)
    }

    /// The last frame that was sent; empty if there was none.
    pub fn last_sent(&self) -> &str {
        self.sent.last().map(String::as_str).unwrap_or_default()
    }
}

/// An endpoint before it is fed: its role, its limits, and how it treats requests and content.
#[derive(Clone, Debug)]
pub struct EndpointSetup {
    is_server: bool,
    limits: Limits,
    answers: AnswerTime,
    consumes: bool,
    is_greeted: bool,
    requests: Vec<(RequestHead, BodySize)>,
}

/// When a server answers a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AnswerTime {
    Never,
    AtOnce,
    OnceComplete,
}

/// A server that answers each complete request with an empty 200. Its client has sent the preface and
/// empty SETTINGS, and acknowledged the server's SETTINGS.
pub fn server() -> EndpointSetup {
    EndpointSetup {
        is_server: true,
        limits: Limits::server(),
        answers: AnswerTime::OnceComplete,
        consumes: true,
        is_greeted: true,
        requests: Vec::new(),
    }
}

/// A client whose server has sent empty SETTINGS and acknowledged the client's.
pub fn client() -> EndpointSetup {
    EndpointSetup { is_server: false, limits: Limits::client(), ..server() }
}

/// A client, as [`client`], that has sent a GET on stream 1.
pub fn client_after_get() -> EndpointSetup {
    client().with_request(Method::GET, BodySize::Exact(0))
}

impl EndpointSetup {
    /// Changes the limits.
    #[must_use]
    pub fn within(mut self, change: impl FnOnce(&mut Limits)) -> Self {
        change(&mut self.limits);
        self
    }

    /// Makes a server answer no request.
    #[must_use]
    pub fn never_answering(mut self) -> Self {
        self.answers = AnswerTime::Never;
        self
    }

    /// Makes a server answer each request before its content has come.
    #[must_use]
    pub fn answering_early(mut self) -> Self {
        self.answers = AnswerTime::AtOnce;
        self
    }

    /// Makes the endpoint consume no content, so that its windows stay as they are.
    #[must_use]
    pub fn not_consuming(mut self) -> Self {
        self.consumes = false;
        self
    }

    /// Leaves the peer's preface and SETTINGS to what the endpoint is fed.
    #[must_use]
    pub fn from_first_byte(mut self) -> Self {
        self.is_greeted = false;
        self
    }

    /// Makes a client send one more request before it is fed: for `/` of host `a`, or CONNECT to `a:1`.
    #[must_use]
    pub fn with_request(self, method: Method, size: BodySize) -> Self {
        let target = if method == Method::CONNECT { "a:1" } else { "/" };
        let head = RequestHead::new(method, target).expect("the target fits");
        self.with_request_head(head, size)
    }

    /// The same with that head, to which a Host is added if it has none.
    #[must_use]
    pub fn with_request_head(mut self, mut head: RequestHead, size: BodySize) -> Self {
        if !head.fields().contains("host") {
            head.fields_mut().push("host", b"a").expect("it is a field");
        }
        self.requests.push((head, size));
        self
    }

    /// What the peer sends first: the preface, if it is a client, SETTINGS and an acknowledgement.
    fn greeting(&self) -> Vec<u8> {
        let preface = if self.is_server { PREFACE } else { b"" };
        [preface, &frames::settings(&[]), &frames::settings_ack()].concat()
    }

    /// Feeds frames in every cut, and once more with a PING behind them, which is answered unless the
    /// connection is closed, and changes nothing else.
    ///
    /// # Panics
    /// If the outcome depends on the cut or the PING, or the machine contradicts itself.
    #[track_caller]
    pub fn feed(&self, wire: &[u8]) -> EndpointOutcome {
        let greeting = if self.is_greeted { self.greeting() } else { Vec::new() };
        let wire = [&greeting, wire].concat();
        let outcome = same_for_every_cut(&wire, |pieces| self.feed_once(pieces));
        if !self.may_be_followed(&wire) {
            return outcome;
        }
        let glued = [wire, frames::ping(0, b"glued on")].concat();
        let mut glued = self.feed_once(&[&glued]);
        if !outcome.is_closed {
            assert_eq!(glued.sent.pop().as_deref(), Some("PING ACK glued on"));
        }
        assert_eq!(glued, outcome, "with a PING behind it");
        outcome
    }

    /// Feeds frames whole, for input that is too long to be fed in every cut.
    ///
    /// # Panics
    /// If the machine contradicts itself.
    #[track_caller]
    pub fn feed_whole(&self, wire: &[u8]) -> EndpointOutcome {
        let greeting = if self.is_greeted { self.greeting() } else { Vec::new() };
        self.feed_once(&[&greeting, wire])
    }

    /// Whether any frame may follow these bytes: they end with a frame, and in no field block.
    fn may_be_followed(&self, wire: &[u8]) -> bool {
        let mut rest = wire;
        if self.is_server {
            rest = wire.strip_prefix(PREFACE).unwrap_or_default();
        }
        let (mut whole, mut is_first) = (false, true);
        while let Some((header, _, after)) = frames::split(rest) {
            if is_first && (header[3], header[4] & 1) != (kind::SETTINGS, 0) {
                return false;
            }
            let of_block = matches!(header[3], kind::HEADERS | kind::CONTINUATION);
            whole = !of_block || header[4] & flag::END_HEADERS != 0;
            (rest, is_first) = (after, false);
        }
        rest.is_empty() && whole
    }

    /// Feeds these pieces alone, without the peer's preface and SETTINGS.
    ///
    /// # Panics
    /// If the machine contradicts itself.
    #[track_caller]
    pub fn feed_once(&self, pieces: &[&[u8]]) -> EndpointOutcome {
        let connection = match self.is_server {
            true => Connection::server(self.limits.clone()),
            false => Connection::client(self.limits.clone()),
        };
        let now = Instant::now();
        let mut feed = EndpointFeed {
            setup: self,
            connection,
            now,
            out: Vec::new(),
            outcome: EndpointOutcome::default(),
            ids: HashMap::new(),
        };
        for (head, size) in &self.requests {
            let key = feed.connection.open(head, "https", *size, &mut feed.out).expect("a stream");
            feed.ids.insert(key, feed.connection.stream_id(key).expect("it is open"));
        }
        feed.connection.transmit(now, &mut feed.out);
        let own = feed.out.len();
        for piece in pieces {
            feed.outcome.rest.extend_from_slice(piece);
            feed.read();
        }
        feed.finish(own)
    }
}

/// An endpoint that is being fed.
struct EndpointFeed<'a> {
    setup: &'a EndpointSetup,
    connection: Connection,
    now: Instant,
    out: Vec<u8>,
    outcome: EndpointOutcome,
    /// The streams that were announced as open and not yet as closed.
    ids: HashMap<StreamKey, u32>,
}

impl EndpointFeed<'_> {
    /// Reads until more bytes are needed.
    fn read(&mut self) {
        // Each event consumes a byte at least, or ends a stream, or says that content has ended.
        let most = 2 * self.outcome.rest.len() + self.connection.streams() + 10;
        for _ in 0..most {
            let connection = &mut self.connection;
            let received = connection.receive(self.now, &self.outcome.rest, true);
            let consumed = received.consumed;
            assert!(consumed <= self.outcome.rest.len(), "consumed more than there was");
            let goes_on = self.record(received.event);
            self.outcome.rest.drain(..consumed);
            self.connection.transmit(self.now, &mut self.out);
            if !goes_on {
                return;
            }
        }
        panic!("the machine does not stop reading");
    }

    /// Records an event. Returns whether there may be more to read.
    fn record(&mut self, event: Event) -> bool {
        let recorded = match event {
            Event::NeedMore => return false,
            Event::Paused => panic!("everything is sent at once"),
            Event::Closed => {
                if !self.outcome.is_closed {
                    assert!(self.connection.is_closed() && self.connection.streams() == 0);
                    self.outcome.is_closed = true;
                    self.outcome.fault = self.connection.fault();
                    self.outcome.events.push(EndpointEvent::Closed);
                }
                return false;
            }
            Event::Settings => EndpointEvent::Settings,
            Event::GoAway { code } => EndpointEvent::GoAway(code),
            Event::Request { key, end } => {
                let stream = self.connection.stream_id(key).expect("a request opens a stream");
                assert_eq!(self.ids.insert(key, stream), None, "the key is another stream's");
                let mut head = RequestHead::default();
                self.connection.take_request(&mut head);
                self.outcome.events.push(EndpointEvent::Request { stream, head, end });
                self.after_event(key, end);
                return true;
            }
            Event::Interim { key } => {
                let mut head = ResponseHead::default();
                self.connection.take_response(&mut head);
                EndpointEvent::Interim { stream: self.ids[&key], head }
            }
            Event::Response { key, end } => {
                let mut head = ResponseHead::default();
                self.connection.take_response(&mut head);
                self.outcome.events.push(EndpointEvent::Response {
                    stream: self.ids[&key],
                    head,
                    end,
                });
                self.after_event(key, end);
                return true;
            }
            Event::Data { key, span, end } => {
                let data = self.outcome.rest[span].to_vec();
                self.content(key, &data, end);
                self.after_event(key, end);
                return true;
            }
            Event::Trailers { key } => {
                let fields = *self.connection.take_trailers().expect("they were announced");
                self.outcome
                    .events
                    .push(EndpointEvent::Trailers { stream: self.ids[&key], fields });
                self.after_event(key, true);
                return true;
            }
            Event::Reset { key, reason, .. } => {
                assert!(!self.connection.is_open(key), "it is over");
                EndpointEvent::Reset { stream: self.ids.remove(&key).expect("it was open"), reason }
            }
        };
        self.outcome.events.push(recorded);
        true
    }

    fn content(&mut self, key: StreamKey, piece: &[u8], end: bool) {
        assert!(!piece.is_empty() || end, "content is not empty but at the end");
        let id = self.ids[&key];
        match self.outcome.events.last_mut() {
            Some(EndpointEvent::Content { stream, bytes, end: ended })
                if *stream == id && !*ended =>
            {
                bytes.extend_from_slice(piece);
                *ended = end;
            }
            _ => self.outcome.events.push(EndpointEvent::Content {
                stream: id,
                bytes: piece.to_vec(),
                end,
            }),
        }
        if self.setup.consumes {
            let bytes = piece.len() as u32;
            match self.connection.is_open(key) {
                true => self.connection.consumed(key, bytes),
                false => self.connection.consumed_after_end(bytes),
            }
        }
    }

    /// Answers a request if an answer is due, and forgets the stream if it is closed.
    fn after_event(&mut self, key: StreamKey, end: bool) {
        assert_eq!(!end && self.connection.is_open(key), self.connection.is_receiving(key));
        let is_due = match self.setup.answers {
            AnswerTime::Never => false,
            AnswerTime::AtOnce => self.connection.is_sending(key),
            AnswerTime::OnceComplete => end && self.connection.is_open(key),
        };
        if is_due && self.setup.is_server {
            let parts = ResponseParts::new(StatusCode::OK);
            let size = BodySize::Exact(0);
            if self.connection.respond(key, &parts, size, &mut self.out).is_err() {
                // A 200 to CONNECT would open a tunnel.
                let parts = ResponseParts::new(StatusCode::NOT_IMPLEMENTED);
                let answered = self.connection.respond(key, &parts, size, &mut self.out);
                answered.expect("a response is due");
            }
        }
        if !self.connection.is_open(key) {
            self.ids.remove(&key);
        }
    }

    fn finish(mut self, own: usize) -> EndpointOutcome {
        let (mut reader, mut outcome) = (FrameReader::default(), self.outcome);
        let preface = self.out[..own].strip_prefix(PREFACE).unwrap_or(&self.out[..own]);
        reader.lines(preface);
        for line in reader.lines(&self.out[own..]) {
            // It measures the round trip whenever content comes.
            if line == "PING measure\\x00" {
                continue;
            }
            match line.strip_prefix("WINDOW_UPDATE ").and_then(|line| line.split_once(" by ")) {
                Some((stream, by)) => {
                    let stream = stream.parse().expect("a number");
                    *outcome.windows.0.entry(stream).or_default() +=
                        by.parse::<u64>().expect("one");
                }
                None => outcome.sent.push(line),
            }
        }
        if self.setup.is_greeted {
            assert_eq!(outcome.events.remove(0), EndpointEvent::Settings);
            assert_eq!(outcome.sent.remove(0), "SETTINGS ACK");
        }
        outcome.streams = self.connection.streams();
        if outcome.is_closed {
            self.connection.transmit(self.now, &mut self.out);
            assert!(!self.connection.has_control(), "all control frames are sent");
            outcome.rest.clear();
        }
        outcome
    }
}
