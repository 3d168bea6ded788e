//! Feeding one end of an HTTP/2 connection.

use std::collections::{BTreeMap, HashMap};
use std::time::Instant;

use http::{Method, StatusCode};
use stoop_proto::h2::{Connection, ErrorCode, Event, Fault, Reset, StreamKey};
use stoop_proto::{BodySize, Fields, Limits, RequestHead, ResponseHead, ResponseParts};

use super::always;
use crate::frames::{self, PREFACE, Reader, flag, kind};

/// One thing that an end told its caller. Content that came in pieces is told once.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs, reason = "they are the events, with what belongs to them")]
pub enum Told {
    Settings,
    Request { stream: u32, head: RequestHead, end: bool },
    Interim { stream: u32, head: ResponseHead },
    Response { stream: u32, head: ResponseHead, end: bool },
    Content { stream: u32, bytes: Vec<u8>, end: bool },
    Trailers { stream: u32, fields: Fields },
    Reset { stream: u32, why: Reset },
    GoAway(ErrorCode),
    Closed,
}

/// What came of feeding one end.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Heard {
    /// What it told its caller, but for the peer's first SETTINGS.
    pub told: Vec<Told>,
    /// What it said, a line for each frame; without what it says first, WINDOW_UPDATE, and the PINGs
    /// that measure how large windows have to be.
    pub said: Vec<String>,
    /// What is wrong with the connection.
    pub fault: Option<Fault>,
    /// Whether the connection is over.
    pub is_closed: bool,
    /// How many streams there are.
    pub streams: usize,
    /// Bytes that were not consumed.
    pub rest: Vec<u8>,
    windows: Windows,
}

/// By how much it has opened its windows in all, by stream. It is by halves of a window, which come
/// elsewhere if the pieces are others: this compares equal.
#[derive(Clone, Debug, Default)]
struct Windows(BTreeMap<u32, u64>);

impl PartialEq for Windows {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Heard {
    /// The head of the request on that stream.
    ///
    /// # Panics
    /// If there was none.
    #[track_caller]
    pub fn request(&self, id: u32) -> &RequestHead {
        let of_stream = |told: &Told| matches!(told, Told::Request { stream, .. } if *stream == id);
        match self.told.iter().find(|told| of_stream(told)) {
            Some(Told::Request { head, .. }) => head,
            _ => panic!("no request {id}: {self:?}"),
        }
    }

    /// The head of the response on that stream.
    ///
    /// # Panics
    /// If there was none.
    #[track_caller]
    pub fn response(&self, id: u32) -> &ResponseHead {
        let is_it = |told: &Told| matches!(told, Told::Response { stream, .. } if *stream == id);
        match self.told.iter().find(|told| is_it(told)) {
            Some(Told::Response { head, .. }) => head,
            _ => panic!("no response {id}: {self:?}"),
        }
    }

    /// The content of that stream.
    pub fn content(&self, id: u32) -> &[u8] {
        let mut contents = self.told.iter().filter_map(|told| match told {
            Told::Content { stream, bytes, .. } if *stream == id => Some(&bytes[..]),
            _ => None,
        });
        contents.next_back().unwrap_or_default()
    }

    /// The trailer section of that stream.
    pub fn trailers(&self, id: u32) -> Option<&Fields> {
        self.told.iter().find_map(|told| match told {
            Told::Trailers { stream, fields } if *stream == id => Some(fields),
            _ => None,
        })
    }

    /// Whether the peer has said all it will on that stream.
    pub fn is_ended(&self, id: u32) -> bool {
        self.told.iter().any(|told| match told {
            Told::Request { stream, end, .. }
            | Told::Response { stream, end, .. }
            | Told::Content { stream, end, .. } => *stream == id && *end,
            Told::Trailers { stream, .. } => *stream == id,
            _ => false,
        })
    }

    /// Why that stream was over before its end, if it was.
    pub fn reset(&self, id: u32) -> Option<Reset> {
        self.told.iter().find_map(|told| match told {
            Told::Reset { stream, why } if *stream == id => Some(*why),
            _ => None,
        })
    }

    /// By how much the window of a stream, or of the connection, was opened.
    pub fn opened(&self, id: u32) -> u64 {
        self.windows.0.get(&id).copied().unwrap_or_default()
    }

    /// Whether a frame was said.
    pub fn says(&self, line: &str) -> bool {
        self.said.iter().any(|said| said == line)
    }

    /// The last line that was said.
    pub fn last_said(&self) -> &str {
        self.said.last().map(String::as_str).unwrap_or_default()
    }
}

/// One end, as it is before it is fed.
#[derive(Clone, Debug)]
pub struct End {
    is_server: bool,
    limits: Limits,
    answers: Answers,
    uses: bool,
    greets: bool,
    asks: Vec<(RequestHead, BodySize)>,
}

/// When a server answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answers {
    Never,
    AtOnce,
    OnceComplete,
}

/// A server that answers each request, once it is complete, with an empty 200, and whose peer has
/// said its preface and empty SETTINGS, and acknowledged the server's.
pub fn server() -> End {
    End {
        is_server: true,
        limits: Limits::server(),
        answers: Answers::OnceComplete,
        uses: true,
        greets: true,
        asks: Vec::new(),
    }
}

/// A client whose peer has said empty SETTINGS and acknowledged the client's.
pub fn client() -> End {
    End { is_server: false, limits: Limits::client(), ..server() }
}

/// A client that has sent a GET on stream 1.
pub fn asked() -> End {
    client().asking(Method::GET, BodySize::Exact(0))
}

impl End {
    /// Within other limits.
    #[must_use]
    pub fn within(mut self, change: impl FnOnce(&mut Limits)) -> Self {
        change(&mut self.limits);
        self
    }

    /// Answers nothing.
    #[must_use]
    pub fn holding(mut self) -> Self {
        self.answers = Answers::Never;
        self
    }

    /// Answers a request before its content has come.
    #[must_use]
    pub fn hasty(mut self) -> Self {
        self.answers = Answers::AtOnce;
        self
    }

    /// Uses up no content.
    #[must_use]
    pub fn not_using(mut self) -> Self {
        self.uses = false;
        self
    }

    /// Fed from the connection's first byte on.
    #[must_use]
    pub fn ungreeted(mut self) -> Self {
        self.greets = false;
        self
    }

    /// A client that has sent one more request, to `/` or host `a`.
    #[must_use]
    pub fn asking(self, method: Method, size: BodySize) -> Self {
        let target = if method == Method::CONNECT { "a:1" } else { "/" };
        let head = RequestHead::new(method, target).expect("the target fits");
        self.asking_for(head, size)
    }

    /// The same, with a head of its own, which gets a Host.
    #[must_use]
    pub fn asking_for(mut self, mut head: RequestHead, size: BodySize) -> Self {
        if !head.fields().contains("host") {
            head.fields_mut().push("host", b"a").expect("it is a field");
        }
        self.asks.push((head, size));
        self
    }

    fn greeting(&self) -> Vec<u8> {
        let preface = if self.is_server { PREFACE } else { b"" };
        [preface, &frames::settings(&[]), &frames::settings_ack()].concat()
    }

    /// Feeds frames in every way, and with a PING behind them, which is answered unless the connection
    /// is over, and changes nothing else.
    ///
    /// # Panics
    /// If it makes a difference, or the machine contradicts itself.
    #[track_caller]
    pub fn feed(&self, wire: &[u8]) -> Heard {
        let greeting = if self.greets { self.greeting() } else { Vec::new() };
        let wire = [&greeting, wire].concat();
        let heard = always(&wire, |pieces| self.feed_once(pieces));
        if !self.ends_a_frame(&wire) {
            return heard;
        }
        let glued = [wire, frames::ping(0, b"glued on")].concat();
        let mut glued = self.feed_once(&[&glued]);
        if !heard.is_closed {
            assert_eq!(glued.said.pop().as_deref(), Some("PING ACK glued on"));
        }
        assert_eq!(glued, heard, "with a PING behind it");
        heard
    }

    /// Feeds frames at once, for what is too much to be fed in every way.
    ///
    /// # Panics
    /// If the machine contradicts itself.
    #[track_caller]
    pub fn feed_whole(&self, wire: &[u8]) -> Heard {
        let greeting = if self.greets { self.greeting() } else { Vec::new() };
        self.feed_once(&[&greeting, wire])
    }

    /// Whether any frame may follow.
    fn ends_a_frame(&self, wire: &[u8]) -> bool {
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

    /// Feeds pieces, without what the peer says first.
    ///
    /// # Panics
    /// If the machine contradicts itself.
    #[track_caller]
    pub fn feed_once(&self, pieces: &[&[u8]]) -> Heard {
        let connection = match self.is_server {
            true => Connection::server(&self.limits),
            false => Connection::client(&self.limits),
        };
        let now = Instant::now();
        let mut feed = Feed {
            end: self,
            connection,
            now,
            out: Vec::new(),
            heard: Heard::default(),
            ids: HashMap::new(),
        };
        for (head, size) in &self.asks {
            let key = feed.connection.open(head, "https", *size, &mut feed.out).expect("a stream");
            feed.ids.insert(key, feed.connection.stream_id(key).expect("it is open"));
        }
        feed.connection.transmit(now, &self.limits, &mut feed.out);
        let own = feed.out.len();
        for piece in pieces {
            feed.heard.rest.extend_from_slice(piece);
            feed.read();
        }
        feed.finish(own)
    }
}

struct Feed<'a> {
    end: &'a End,
    connection: Connection,
    now: Instant,
    out: Vec<u8>,
    heard: Heard,
    /// The streams that the caller knows to be open.
    ids: HashMap<StreamKey, u32>,
}

impl Feed<'_> {
    /// Reads until more bytes are needed.
    fn read(&mut self) {
        // Each event takes a byte at least, or ends a stream, or says that content has ended.
        let most = 2 * self.heard.rest.len() + self.connection.streams() + 10;
        for _ in 0..most {
            let (connection, limits) = (&mut self.connection, &self.end.limits);
            let received = connection.receive(self.now, &self.heard.rest, true, limits);
            let consumed = received.consumed;
            assert!(consumed <= self.heard.rest.len(), "consumed more than there was");
            let goes_on = self.tell(received.event);
            self.heard.rest.drain(..consumed);
            self.connection.transmit(self.now, &self.end.limits, &mut self.out);
            if !goes_on {
                return;
            }
        }
        panic!("it does not come to an end");
    }

    /// Whether there may be more to read.
    fn tell(&mut self, event: Event) -> bool {
        let told = match event {
            Event::NeedMore => return false,
            Event::Paused => panic!("everything is sent at once"),
            Event::Closed => {
                if !self.heard.is_closed {
                    assert!(self.connection.is_closed() && self.connection.streams() == 0);
                    self.heard.is_closed = true;
                    self.heard.fault = self.connection.fault();
                    self.heard.told.push(Told::Closed);
                }
                return false;
            }
            Event::Settings => Told::Settings,
            Event::GoAway { code } => Told::GoAway(code),
            Event::Request { key, end } => {
                let stream = self.connection.stream_id(key).expect("a request opens a stream");
                assert_eq!(self.ids.insert(key, stream), None, "the key is another stream's");
                let mut head = RequestHead::default();
                self.connection.take_request(&mut head);
                self.heard.told.push(Told::Request { stream, head, end });
                self.ended(key, end);
                return true;
            }
            Event::Interim { key } => {
                let mut head = ResponseHead::default();
                self.connection.take_response(&mut head);
                Told::Interim { stream: self.ids[&key], head }
            }
            Event::Response { key, end } => {
                let mut head = ResponseHead::default();
                self.connection.take_response(&mut head);
                self.heard.told.push(Told::Response { stream: self.ids[&key], head, end });
                self.ended(key, end);
                return true;
            }
            Event::Data { key, span, end } => {
                let data = self.heard.rest[span].to_vec();
                self.content(key, &data, end);
                self.ended(key, end);
                return true;
            }
            Event::Trailers { key } => {
                let fields = *self.connection.take_trailers().expect("they were announced");
                self.heard.told.push(Told::Trailers { stream: self.ids[&key], fields });
                self.ended(key, true);
                return true;
            }
            Event::Reset { key, why } => {
                assert!(!self.connection.is_open(key), "it is over");
                Told::Reset { stream: self.ids.remove(&key).expect("it was open"), why }
            }
        };
        self.heard.told.push(told);
        true
    }

    fn content(&mut self, key: StreamKey, piece: &[u8], end: bool) {
        assert!(!piece.is_empty() || end, "content is not empty but at the end");
        let id = self.ids[&key];
        match self.heard.told.last_mut() {
            Some(Told::Content { stream, bytes, end: ended }) if *stream == id && !*ended => {
                bytes.extend_from_slice(piece);
                *ended = end;
            }
            _ => self.heard.told.push(Told::Content { stream: id, bytes: piece.to_vec(), end }),
        }
        if self.end.uses {
            let bytes = piece.len() as u32;
            match self.connection.is_open(key) {
                true => self.connection.consumed(key, bytes),
                false => self.connection.consumed_late(bytes),
            }
        }
    }

    /// The peer's direction has ended, perhaps.
    fn ended(&mut self, key: StreamKey, end: bool) {
        assert_eq!(!end && self.connection.is_open(key), self.connection.is_receiving(key));
        let is_due = match self.end.answers {
            Answers::Never => false,
            Answers::AtOnce => self.connection.is_sending(key),
            Answers::OnceComplete => end && self.connection.is_open(key),
        };
        if is_due && self.end.is_server {
            let parts = ResponseParts::new(StatusCode::OK);
            let size = BodySize::Exact(0);
            if self.connection.respond(key, &parts, size, &mut self.out).is_err() {
                // CONNECT: no.
                let parts = ResponseParts::new(StatusCode::NOT_IMPLEMENTED);
                let answered = self.connection.respond(key, &parts, size, &mut self.out);
                answered.expect("a response is due");
            }
        }
        if !self.connection.is_open(key) {
            self.ids.remove(&key);
        }
    }

    fn finish(mut self, own: usize) -> Heard {
        let (mut reader, mut heard) = (Reader::default(), self.heard);
        let introduced = self.out[..own].strip_prefix(PREFACE).unwrap_or(&self.out[..own]);
        reader.lines(introduced);
        for line in reader.lines(&self.out[own..]) {
            // How long a round trip is, it asks whenever content comes.
            if line == "PING measure\\x00" {
                continue;
            }
            match line.strip_prefix("WINDOW_UPDATE ").and_then(|line| line.split_once(" by ")) {
                Some((stream, by)) => {
                    let stream = stream.parse().expect("a number");
                    *heard.windows.0.entry(stream).or_default() += by.parse::<u64>().expect("one");
                }
                None => heard.said.push(line),
            }
        }
        if self.end.greets {
            assert_eq!(heard.told.remove(0), Told::Settings);
            assert_eq!(heard.said.remove(0), "SETTINGS ACK");
        }
        heard.streams = self.connection.streams();
        if heard.is_closed {
            self.connection.transmit(self.now, &self.end.limits, &mut self.out);
            assert!(!self.connection.has_control(), "all is said");
            heard.rest.clear();
        }
        heard
    }
}
