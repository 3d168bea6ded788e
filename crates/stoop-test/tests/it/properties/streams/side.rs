//! One end: its machine, what it has to say on each stream, what it heard, and what it may send.

use std::collections::{HashMap, VecDeque};
use std::time::Instant;

use http::StatusCode;
use stoop_proto::h2::{Connection, ErrorCode, Event, StreamKey};
use stoop_proto::{Fields, Limits, RequestHead, ResponseHead, ResponseParts};
use stoop_test::frames::{self, PREFACE};
use stoop_test::pair::{Body, Exchange};
use stoop_test::random::Random;

use super::Ended;
use super::ledger::Ledger;

/// What one end heard of an exchange.
#[derive(Debug, Default)]
pub(super) struct Seen {
    pub(super) fields: Option<Fields>,
    pub(super) status: Option<StatusCode>,
    pub(super) content: Vec<u8>,
    pub(super) trailers: Option<Fields>,
    pub(super) is_ended: bool,
    pub(super) ended: Option<Ended>,
}

/// What is still to be said on a stream.
#[derive(Debug, Default)]
struct Saying {
    pieces: VecDeque<Vec<u8>>,
    trailers: Option<Fields>,
    is_begun: bool,
    is_finished: bool,
}

impl Saying {
    fn of(body: &Body) -> Self {
        let pieces = body.pieces.iter().filter(|piece| !piece.is_empty()).cloned().collect();
        Self { pieces, trailers: body.trailers.clone(), ..Self::default() }
    }
}

/// One end.
#[derive(Debug)]
pub(super) struct Side {
    pub(super) machine: Connection,
    pub(super) limits: Limits,
    pub(super) now: Instant,
    is_server: bool,
    /// Written and not handed on, and how much of it the ledger knows.
    pub(super) sent: Vec<u8>,
    noted: usize,
    arrived: Vec<u8>,
    /// What of a frame has arrived.
    begun: Vec<u8>,
    ledger: Ledger,
    /// Exchanges by their streams.
    numbers: HashMap<StreamKey, usize>,
    seen: HashMap<usize, Seen>,
    saying: HashMap<usize, Saying>,
    /// Content that is not used up: whose it is, unless that has ended.
    unread: Vec<(Option<StreamKey>, u32)>,
}

impl Side {
    pub(super) fn new(is_server: bool, limits: Limits) -> Self {
        let machine = match is_server {
            true => Connection::server(&limits),
            false => Connection::client(&limits),
        };
        let (sent, arrived, begun, numbers, seen, saying, unread) = Default::default();
        let noted = if is_server { 0 } else { PREFACE.len() };
        let now = Instant::now();
        Self {
            machine,
            limits,
            now,
            is_server,
            sent,
            noted,
            arrived,
            begun,
            ledger: Ledger::default(),
            numbers,
            seen,
            saying,
            unread,
        }
    }

    pub(super) fn seen(&self, number: usize) -> Option<&Seen> {
        self.seen.get(&number)
    }

    /// Streams that are not over.
    pub(super) fn keys(&self) -> Vec<StreamKey> {
        let mut keys: Vec<_> = self.numbers.keys().copied().collect();
        keys.sort();
        keys
    }

    /// Asks, on a stream of its own.
    pub(super) fn ask(&mut self, number: usize, exchange: &Exchange) -> bool {
        let body = &exchange.request_body;
        let opened = self.machine.open(&exchange.request, "https", body.size(), &mut self.sent);
        let Ok(key) = opened else { return false };
        let is_bare = !self.machine.is_sending(key);
        let saying = Saying { is_begun: true, is_finished: is_bare, ..Saying::of(body) };
        self.seen.insert(number, Seen::default());
        self.begin(key, number, saying);
        true
    }

    fn begin(&mut self, key: StreamKey, number: usize, saying: Saying) {
        assert_eq!(self.numbers.insert(key, number), None, "the key is another stream's");
        self.machine.want_to_send(key, !saying.pieces.is_empty());
        self.saying.insert(number, saying);
    }

    /// Begins the answer to a request, if one waits.
    pub(super) fn answer(&mut self, exchanges: &[Exchange], random: &mut Random) -> bool {
        let waits = |key: &StreamKey| !self.saying[&self.numbers[key]].is_begun;
        let waiting: Vec<_> = self.keys().into_iter().filter(waits).collect();
        let Some(&key) = (!waiting.is_empty()).then(|| random.pick(&waiting)) else { return false };
        let (number, out) = (self.numbers[&key], &mut self.sent);
        let exchange = &exchanges[number];
        for &status in &exchange.interim {
            self.machine.inform(key, status, &Fields::new(), out).unwrap();
        }
        let (body, fields) = (&exchange.response_body, Some(&exchange.fields));
        let parts = ResponseParts { fields, ..ResponseParts::new(exchange.status) };
        let follows = self.machine.respond(key, &parts, body.size(), out).unwrap();
        let saying = Saying { is_begun: true, is_finished: !follows, ..Saying::of(body) };
        self.machine.want_to_send(key, follows && !saying.pieces.is_empty());
        self.saying.insert(number, saying);
        self.ended(key);
        true
    }

    /// Says some content, or an end.
    pub(super) fn say(&mut self, random: &mut Random) -> bool {
        let is_due = |key: &StreamKey| {
            let saying = &self.saying[&self.numbers[key]];
            saying.is_begun && !saying.is_finished && saying.pieces.is_empty()
        };
        if let Some(key) = self.keys().into_iter().find(is_due) {
            let saying = self.saying.get_mut(&self.numbers[&key]).unwrap();
            saying.is_finished = true;
            self.machine.finish(key, saying.trailers.as_ref(), &mut self.sent).unwrap();
            self.ended(key);
            return true;
        }
        let Some((key, room)) = self.machine.next_to_send() else { return false };
        assert!(room > 0);
        let saying = self.saying.get_mut(&self.numbers[&key]).unwrap();
        let mut piece = saying.pieces.pop_front().expect("it wants to send");
        let len = piece.len().min(room).min(1 + random.scaled(15));
        let rest = piece.split_off(len);
        if !rest.is_empty() {
            saying.pieces.push_front(rest);
        }
        let is_last = saying.pieces.is_empty();
        let end = is_last && saying.trailers.is_none() && random.one_in(2);
        saying.is_finished = end;
        self.machine.data(key, piece.into(), end, &mut self.sent).unwrap();
        if is_last {
            self.machine.want_to_send(key, false);
        }
        self.ended(key);
        true
    }

    /// Uses up some content.
    pub(super) fn use_up(&mut self, random: &mut Random) -> bool {
        if self.unread.is_empty() {
            return false;
        }
        let (key, bytes) = self.unread.swap_remove(random.below(self.unread.len()));
        match key {
            Some(key) => self.machine.consumed(key, bytes),
            None => self.machine.consumed_late(bytes),
        }
        true
    }

    /// Gives a stream up.
    pub(super) fn give_up(&mut self, random: &mut Random) -> bool {
        let keys = self.keys();
        if keys.is_empty() {
            return false;
        }
        let key = *random.pick(&keys);
        let code =
            *random.pick(&[ErrorCode::CANCEL, ErrorCode::NO_ERROR, ErrorCode::REFUSED_STREAM]);
        self.machine.reset(key, code);
        self.over(key, Ended::GivenUp);
        true
    }

    /// What the machine has to say; all of it keeps to the windows.
    pub(super) fn flush(&mut self) {
        self.machine.transmit(self.now, &self.limits, &mut self.sent);
        while let Some((header, payload, _)) = frames::split(&self.sent[self.noted..]) {
            self.ledger.wrote(header, payload);
            self.noted += 9 + payload.len();
        }
        assert_eq!(self.noted, self.sent.len(), "whole frames are written");
    }

    /// Hands on so many bytes of what it wrote.
    pub(super) fn take(&mut self, bytes: usize) -> Vec<u8> {
        let bytes = bytes.min(self.sent.len());
        self.noted -= bytes;
        self.sent.drain(..bytes).collect()
    }

    /// Reads what arrived.
    pub(super) fn hear(&mut self, bytes: &[u8]) {
        self.arrived.extend_from_slice(bytes);
        self.begun.extend_from_slice(bytes);
        if self.is_server && self.begun.starts_with(PREFACE) {
            self.begun.drain(..PREFACE.len());
        }
        while let Some((header, payload, rest)) = frames::split(&self.begun) {
            if self.is_server && header[..3] == PREFACE[..3] {
                break;
            }
            self.ledger.heard(header, payload);
            self.begun = rest.to_vec();
        }
        loop {
            let received = self.machine.receive(self.now, &self.arrived, true, &self.limits);
            assert_ne!(received.event, Event::Closed, "{:?}", self.machine.fault());
            if received.event == Event::NeedMore {
                self.arrived.drain(..received.consumed);
                return;
            }
            self.tell(received.event);
            self.arrived.drain(..received.consumed);
        }
    }

    fn tell(&mut self, event: Event) {
        match event {
            Event::Request { key, end } => {
                let mut head = RequestHead::default();
                self.machine.take_request(&mut head);
                let number = head.fields().first("x-number").expect("it has one");
                let number = std::str::from_utf8(number).unwrap().parse().unwrap();
                let fields = Some(head.fields().clone());
                let seen = Seen { fields, is_ended: end, ..Seen::default() };
                assert!(self.seen.insert(number, seen).is_none(), "it comes once");
                self.begin(key, number, Saying::default());
            }
            Event::Response { key, end } => {
                let mut head = ResponseHead::default();
                self.machine.take_response(&mut head);
                let seen = self.seen.get_mut(&self.numbers[&key]).unwrap();
                seen.status = Some(head.status());
                assert!(seen.fields.replace(head.fields().clone()).is_none(), "it comes once");
                self.heard_all(key, end);
            }
            Event::Data { key, span, end } => {
                let bytes = span.len() as u32;
                let seen = self.seen.get_mut(&self.numbers[&key]).unwrap();
                seen.content.extend_from_slice(&self.arrived[span]);
                self.unread.push((Some(key), bytes));
                self.heard_all(key, end);
            }
            Event::Trailers { key } => {
                let trailers = self.machine.take_trailers().map(|trailers| *trailers);
                self.seen.get_mut(&self.numbers[&key]).unwrap().trailers = trailers;
                self.heard_all(key, true);
            }
            Event::Reset { key, why } => self.over(key, Ended::Reset(why)),
            Event::Settings | Event::GoAway { .. } | Event::Interim { .. } => {}
            Event::NeedMore | Event::Paused | Event::Closed => panic!("{event:?}"),
        }
    }

    fn heard_all(&mut self, key: StreamKey, end: bool) {
        if end {
            let seen = self.seen.get_mut(&self.numbers[&key]).unwrap();
            assert!(!std::mem::replace(&mut seen.is_ended, true), "it ends once");
            self.ended(key);
        }
    }

    /// A direction has ended, perhaps the last.
    fn ended(&mut self, key: StreamKey) {
        if !self.machine.is_open(key) {
            let number = self.numbers[&key];
            assert!(self.saying[&number].is_finished && self.seen[&number].is_ended);
            self.over(key, Ended::Well);
        }
    }

    fn over(&mut self, key: StreamKey, how: Ended) {
        assert!(!self.machine.is_open(key));
        let is_reset = how != Ended::Well;
        let number = self.numbers.remove(&key).expect("it was open");
        let ended = &mut self.seen.get_mut(&number).unwrap().ended;
        assert_eq!(ended.replace(how), None, "it ends once");
        // What is left of a stream that was reset is nobody's; of others it is used up late.
        self.unread.retain(|(of, _)| !is_reset || *of != Some(key));
        self.unread.iter_mut().filter(|(of, _)| *of == Some(key)).for_each(|(of, _)| *of = None);
    }

    pub(super) fn check_what_is_left(&self) {
        assert_eq!((self.machine.streams(), self.numbers.len()), (0, 0));
        assert_eq!((self.machine.unread(), self.unread.len()), (0, 0));
        assert_eq!(i64::from(self.machine.window()), self.ledger.connection());
        assert!(self.ledger.connection() >= 32_767, "the peer has opened its window again");
        assert!(self.arrived.is_empty() && self.begun.is_empty());
        assert_eq!(self.machine.fault(), None);
    }
}
