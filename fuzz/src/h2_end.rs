//! One end of HTTP/2, driven as a driver would, and what holds of it whatever it is given.

use std::collections::BTreeMap;
use std::time::Instant;

use http::{Method, StatusCode};
use stoop_proto::h2::{Connection, ErrorCode, Event, Fault, Refusal, ResetReason, StreamKey};
use stoop_proto::{
    BodySize, CloseReason, Fields, Limits, Misuse, RequestHead, ResponseHead, ResponseParts,
};

use super::h2_schedule::{Schedule, limits};
use super::h2_wire::{WINDOW_UPDATE, frames};

/// What an end observed its caller. Content that came in pieces is observed once.
#[derive(Debug, PartialEq)]
enum StreamOutcome {
    Settings,
    Request(u32, RequestHead, bool),
    Interim(u32, ResponseHead),
    Response(u32, ResponseHead, bool),
    Content(u32, Vec<u8>, bool),
    Trailers(u32, Fields),
    Reset(u32, ResetReason),
    GoAway(ErrorCode),
    Closed(Option<Fault>),
}

/// What came of an input, however it was cut.
#[derive(Debug, PartialEq)]
pub(crate) struct Outcome {
    observed: Vec<StreamOutcome>,
    /// What the end sent, but for WINDOW_UPDATE, which is by halves of a window: they come elsewhere
    /// if the pieces are others.
    said: Vec<(u8, u8, u32, Vec<u8>)>,
    streams: usize,
    rest: Vec<u8>,
}

pub(crate) struct FuzzedEnd {
    pub(crate) machine: Connection,
    pub(crate) limits: Limits,
    schedule: Schedule,
    pub(crate) now: Instant,
    arrived: Vec<u8>,
    pub(crate) out: Vec<u8>,
    ids: BTreeMap<StreamKey, u32>,
    /// Content that is still to be sent.
    to_send: BTreeMap<StreamKey, usize>,
    unread: BTreeMap<StreamKey, u32>,
    asked: u32,
    pub(crate) received: usize,
    /// What the driver's own calls may have written.
    pub(crate) may_have_sent: usize,
    observed: Vec<StreamOutcome>,
}

impl FuzzedEnd {
    pub(crate) fn server(choice: u8, schedule: u8) -> Self {
        let limits = limits(true, choice);
        Self::new(Connection::server(limits.clone()), limits, schedule)
    }

    /// One that has asked for as much as it may.
    pub(crate) fn client(choice: u8, schedule: u8) -> Self {
        let limits = limits(false, choice);
        let mut end = Self::new(Connection::client(limits.clone()), limits, schedule);
        for _ in 0..3 {
            end.ask();
        }
        end.go_on();
        end
    }

    fn new(machine: Connection, limits: Limits, schedule: u8) -> Self {
        let (arrived, out, ids, to_send, unread, observed) = Default::default();
        let (now, schedule) = (Instant::now(), Schedule(schedule));
        let (asked, received, may_have_sent) = (0, 0, 200);
        Self {
            machine,
            limits,
            schedule,
            now,
            arrived,
            out,
            ids,
            to_send,
            unread,
            asked,
            received,
            may_have_sent,
            observed,
        }
    }

    /// Asks for something, if there is room.
    fn ask(&mut self) {
        let room = self.machine.room();
        assert!(room + self.machine.streams() <= self.limits.http2.streams_max as usize);
        let (method, target, size) = match self.asked % 6 {
            0 => (Method::GET, "/", BodySize::Exact(0)),
            1 => (Method::POST, "/a?b", BodySize::Unknown),
            2 => (Method::HEAD, "/head", BodySize::Exact(0)),
            3 => (Method::PUT, "/c", BodySize::Exact(40_000)),
            4 => (Method::CONNECT, "a:1", BodySize::Unknown),
            _ => (Method::OPTIONS, "*", BodySize::Exact(0)),
        };
        let mut head = RequestHead::new(method, target).expect("the target fits");
        head.fields_mut().push("host", b"a").expect("it is a field");
        let before = self.out.len();
        self.may_have_sent += 100;
        match self.machine.open(&head, "https", size, &mut self.out) {
            Ok(key) => {
                assert!(room > 0);
                let id = self.machine.stream_id(key).expect("it is open");
                assert_eq!(self.ids.insert(key, id), None, "the key is another stream's");
                self.asked += 1;
                if size != BodySize::Exact(0) {
                    self.say(key, 40_000);
                }
            }
            Err(refusal) => {
                let is_theirs = matches!(refusal, Refusal::ExtendedConnect | Refusal::TooLarge(_));
                assert!(room == 0 || is_theirs, "{refusal:?}");
                assert_eq!(self.out.len(), before);
            }
        }
    }

    /// Feeds the end all of its input.
    pub(crate) fn run(mut self, pieces: &[&[u8]]) -> Self {
        for piece in pieces {
            self.arrived.extend_from_slice(piece);
            self.received += piece.len();
            self.read();
        }
        self.go_on();
        self.transmit();
        self
    }

    /// Reads until more bytes are needed, or it is not to go on.
    fn read(&mut self) {
        let mut at = 0;
        // Each event takes a byte at least, or ends a stream, or says that content has ended.
        let most = 3 * self.arrived.len() + self.machine.streams() + 20;
        for _ in 0..most {
            let may_open = self.schedule.may_open(self.machine.streams());
            let input = &self.arrived[at..];
            let received = self.machine.receive(self.now, input, may_open);
            assert!(received.consumed <= input.len(), "consumed more than there was");
            self.check_memory();
            let is_paused = received.event == Event::Paused;
            let goes_on = match received.event {
                Event::NeedMore => false,
                Event::Paused => self.machine.has_control(),
                Event::Closed => self.closed(),
                event => self.tell(event, at),
            };
            at += received.consumed;
            if is_paused || !self.schedule.holds_back() {
                self.transmit();
            }
            if !goes_on {
                self.arrived.drain(..at);
                return;
            }
        }
        panic!("it does not come to an end");
    }

    /// Says what waits: at most so many frames, and what the last things that happened have added.
    fn transmit(&mut self) {
        let before = self.out.len();
        self.machine.transmit(self.now, &mut self.out);
        let frames_max = self.limits.http2.control_frames_max as usize + 10;
        assert!(self.out.len() - before <= 300 + 30 * frames_max);
    }

    fn closed(&mut self) -> bool {
        if !matches!(self.observed.last(), Some(StreamOutcome::Closed(_))) {
            assert!(self.machine.is_closed());
            self.observed.push(StreamOutcome::Closed(self.machine.fault()));
            (self.ids, self.to_send, self.unread) = Default::default();
        }
        false
    }

    fn tell(&mut self, event: Event, at: usize) -> bool {
        match event {
            Event::Settings => self.observed.push(StreamOutcome::Settings),
            Event::GoAway { code } => self.observed.push(StreamOutcome::GoAway(code)),
            Event::Request { key, end } => {
                let id = self.machine.stream_id(key).expect("a request opens a stream");
                assert_eq!(self.ids.insert(key, id), None, "the key is another stream's");
                let mut head = RequestHead::default();
                self.machine.take_request(&mut head);
                self.observed.push(StreamOutcome::Request(id, head, end));
                self.heard(key, end);
            }
            Event::Interim { key } => {
                let mut head = ResponseHead::default();
                self.machine.take_response(&mut head);
                self.observed.push(StreamOutcome::Interim(self.ids[&key], head));
            }
            Event::Response { key, end } => {
                let mut head = ResponseHead::default();
                self.machine.take_response(&mut head);
                self.observed.push(StreamOutcome::Response(self.ids[&key], head, end));
                self.heard(key, end);
            }
            Event::Data { key, span, end } => {
                self.content(key, span.start + at..span.end + at, end);
                if !end {
                    return true;
                }
                self.heard(key, true);
            }
            Event::Trailers { key } => {
                let fields = *self.machine.take_trailers().expect("they were announced");
                self.observed.push(StreamOutcome::Trailers(self.ids[&key], fields));
                self.heard(key, true);
            }
            Event::Reset { key, reason, .. } => {
                self.observed.push(StreamOutcome::Reset(self.ids[&key], reason));
                self.over(key);
            }
            Event::NeedMore | Event::Paused | Event::Closed => unreachable!("they are no news"),
        }
        if self.asked > 0 && self.asked < 12 {
            self.ask();
        }
        self.go_on();
        true
    }

    fn content(&mut self, key: StreamKey, span: std::ops::Range<usize>, end: bool) {
        let (id, bytes) = (self.ids[&key], span.len() as u32);
        assert!(bytes > 0 || end, "content is not empty but at the end");
        let piece = &self.arrived[span];
        match self.observed.last_mut() {
            Some(StreamOutcome::Content(of, content, ended)) if *of == id && !*ended => {
                content.extend_from_slice(piece);
                *ended = end;
            }
            _ => self.observed.push(StreamOutcome::Content(id, piece.to_vec(), end)),
        }
        match self.schedule.uses_at_once() {
            true => self.use_up(key, bytes),
            false => *self.unread.entry(key).or_default() += bytes,
        }
    }

    fn use_up(&mut self, key: StreamKey, bytes: u32) {
        match self.machine.is_open(key) {
            true => self.machine.consumed(key, bytes),
            false => self.machine.consumed_after_end(bytes),
        }
    }

    /// A head came, or an end.
    fn heard(&mut self, key: StreamKey, end: bool) {
        let id = self.ids[&key];
        assert_eq!(!end && self.machine.is_open(key), self.machine.is_receiving(key));
        if end && self.schedule.uses_at_end() {
            let bytes = self.unread.remove(&key).unwrap_or_default();
            self.use_up(key, bytes);
        }
        if self.schedule.drains(id) {
            self.may_have_sent += 60;
            self.machine.drain(self.now, CloseReason::Draining);
        }
        if self.schedule.gives_up(id) && self.machine.is_open(key) {
            self.may_have_sent += 13;
            self.machine.reset(key, ErrorCode::CANCEL);
        } else if self.schedule.answers(end) && self.asked == 0 {
            self.answer(key);
        }
        if !self.machine.is_open(key) {
            self.over(key);
        }
    }

    fn answer(&mut self, key: StreamKey) {
        let content = if self.schedule.has_content() { [0, 1, 1_000, 70_000] } else { [0; 4] };
        let len = content[self.ids[&key] as usize / 2 % 4];
        let size = match len {
            1_000 => BodySize::Unknown,
            len => BodySize::Exact(len as u64),
        };
        let parts = ResponseParts::new(StatusCode::OK);
        self.may_have_sent += 50;
        match self.machine.respond(key, &parts, size, &mut self.out) {
            Ok(true) => self.say(key, len),
            Ok(false) => {}
            Err(Misuse::Tunnel) => {
                self.machine.open_tunnel(key, &parts, &mut self.out).expect("it is a CONNECT");
                self.say(key, len);
            }
            Err(Misuse::Order) => {}
            Err(other) => panic!("{other}"),
        }
    }

    fn say(&mut self, key: StreamKey, len: usize) {
        self.to_send.insert(key, len);
        self.machine.want_to_send(key, len > 0);
    }

    /// Sends what may be sent.
    fn go_on(&mut self) {
        while let Some((key, room)) = self.machine.next_to_send() {
            assert_eq!(room, self.machine.sendable(key));
            let left = self.to_send.get_mut(&key).expect("it wants to send");
            let len = room.min(*left);
            assert!(len > 0, "a turn is for something");
            *left -= len;
            if *left == 0 {
                self.machine.want_to_send(key, false);
            }
            self.may_have_sent += 9 + len;
            let content = vec![b'.'; len].into();
            self.machine.data(key, content, false, &mut self.out).expect("there is room");
        }
        let said = self.to_send.iter().filter(|(_, left)| **left == 0);
        for key in said.map(|(key, _)| *key).collect::<Vec<_>>() {
            let mut trailers = Fields::new();
            trailers.push("x-sum", b"1").expect("it is a field");
            self.may_have_sent += 50;
            self.to_send.remove(&key);
            self.machine.finish(key, Some(&trailers), &mut self.out).expect("all was said");
            if !self.machine.is_open(key) {
                self.over(key);
            }
        }
    }

    /// A stream is over. What of it was not used up is so late, or never.
    fn over(&mut self, key: StreamKey) {
        self.ids.remove(&key).expect("it was open");
        self.to_send.remove(&key);
        self.unread.remove(&key);
    }

    pub(crate) fn is_client(&self) -> bool {
        self.asked > 0
    }

    pub(crate) fn outcome(&mut self) -> Outcome {
        let said = frames(&self.out).filter(|frame| frame.kind != WINDOW_UPDATE);
        let said = said.map(|frame| (frame.kind, frame.flags, frame.stream, frame.payload.into()));
        Outcome {
            said: said.collect(),
            observed: std::mem::take(&mut self.observed),
            streams: self.machine.streams(),
            rest: std::mem::take(&mut self.arrived),
        }
    }
}
