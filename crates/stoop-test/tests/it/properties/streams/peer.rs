//! A peer: its machine, what it has to send on each stream, what it received, and its windows.

use std::collections::{HashMap, VecDeque};
use std::time::Instant;

use http::StatusCode;
use stoop_proto::h2::{Connection, ErrorCode, Event, StreamKey};
use stoop_proto::{Fields, Limits, RequestHead, ResponseHead, ResponseParts};
use stoop_test::frames::{self, PREFACE};
use stoop_test::pair::{PlannedBody, PlannedExchange};
use stoop_test::random::Random;

use super::ExchangeEnd;
use super::ledger::Ledger;

/// What a peer received of an exchange.
#[derive(Debug, Default)]
pub(super) struct ReceivedMessage {
    pub(super) fields: Option<Fields>,
    pub(super) status: Option<StatusCode>,
    pub(super) content: Vec<u8>,
    pub(super) trailers: Option<Fields>,
    pub(super) is_ended: bool,
    pub(super) ended: Option<ExchangeEnd>,
}

/// The message that a peer is sending on a stream, as far as it is not sent.
#[derive(Debug, Default)]
struct PendingMessage {
    pieces: VecDeque<Vec<u8>>,
    trailers: Option<Fields>,
    is_begun: bool,
    is_finished: bool,
}

impl PendingMessage {
    fn of(body: &PlannedBody) -> Self {
        let pieces = body.pieces.iter().filter(|piece| !piece.is_empty()).cloned().collect();
        Self { pieces, trailers: body.trailers.clone(), ..Self::default() }
    }
}

/// A client or a server.
#[derive(Debug)]
pub(super) struct TestPeer {
    pub(super) machine: Connection,
    pub(super) limits: Limits,
    pub(super) now: Instant,
    is_server: bool,
    /// Bytes that were sent and not delivered, and how many of them the ledger has counted.
    pub(super) sent: Vec<u8>,
    counted: usize,
    arrived: Vec<u8>,
    /// The part of a frame that has arrived.
    begun: Vec<u8>,
    ledger: Ledger,
    /// The numbers of the exchanges, by stream.
    numbers: HashMap<StreamKey, usize>,
    received: HashMap<usize, ReceivedMessage>,
    pending: HashMap<usize, PendingMessage>,
    /// Content that is not consumed: its stream, unless that has ended, and its size.
    unread: Vec<(Option<StreamKey>, u32)>,
}

impl TestPeer {
    pub(super) fn new(is_server: bool, limits: Limits) -> Self {
        let machine = match is_server {
            true => Connection::server(limits.clone()),
            false => Connection::client(limits.clone()),
        };
        let (sent, arrived, begun, numbers, received, pending, unread) = Default::default();
        let counted = if is_server { 0 } else { PREFACE.len() };
        let now = Instant::now();
        Self {
            machine,
            limits,
            now,
            is_server,
            sent,
            counted,
            arrived,
            begun,
            ledger: Ledger::default(),
            numbers,
            received,
            pending,
            unread,
        }
    }

    pub(super) fn received(&self, number: usize) -> Option<&ReceivedMessage> {
        self.received.get(&number)
    }

    /// The streams that are open.
    pub(super) fn keys(&self) -> Vec<StreamKey> {
        let mut keys: Vec<_> = self.numbers.keys().copied().collect();
        keys.sort();
        keys
    }

    /// Opens a stream with a request. Returns false if no stream can be opened now.
    pub(super) fn send_request(&mut self, number: usize, exchange: &PlannedExchange) -> bool {
        let body = &exchange.request_body;
        let opened = self.machine.open(&exchange.request, "https", body.size(), &mut self.sent);
        let Ok(key) = opened else { return false };
        let is_bare = !self.machine.is_sending(key);
        let pending =
            PendingMessage { is_begun: true, is_finished: is_bare, ..PendingMessage::of(body) };
        self.received.insert(number, ReceivedMessage::default());
        self.track(key, number, pending);
        true
    }

    /// Notes a new stream and the message to send on it.
    fn track(&mut self, key: StreamKey, number: usize, pending: PendingMessage) {
        assert_eq!(self.numbers.insert(key, number), None, "the key is another stream's");
        self.machine.want_to_send(key, !pending.pieces.is_empty());
        self.pending.insert(number, pending);
    }

    /// Sends the heads of a response, if a request waits for one.
    pub(super) fn send_response_head(
        &mut self,
        exchanges: &[PlannedExchange],
        random: &mut Random,
    ) -> bool {
        let waits = |key: &StreamKey| !self.pending[&self.numbers[key]].is_begun;
        let waiting: Vec<_> = self.keys().into_iter().filter(waits).collect();
        let Some(&key) = (!waiting.is_empty()).then(|| random.pick(&waiting)) else { return false };
        let (number, out) = (self.numbers[&key], &mut self.sent);
        let exchange = &exchanges[number];
        for &status in &exchange.interim {
            self.machine.send_interim(key, status, &Fields::new(), out).unwrap();
        }
        let (body, fields) = (&exchange.response_body, Some(&exchange.fields));
        let parts = ResponseParts { fields, ..ResponseParts::new(exchange.status) };
        let follows = self.machine.respond(key, &parts, body.size(), out).unwrap();
        let pending =
            PendingMessage { is_begun: true, is_finished: !follows, ..PendingMessage::of(body) };
        self.machine.want_to_send(key, follows && !pending.pieces.is_empty());
        self.pending.insert(number, pending);
        self.direction_ended(key);
        true
    }

    /// Sends some content, or the end of a message.
    pub(super) fn send_content(&mut self, random: &mut Random) -> bool {
        let is_due = |key: &StreamKey| {
            let pending = &self.pending[&self.numbers[key]];
            pending.is_begun && !pending.is_finished && pending.pieces.is_empty()
        };
        if let Some(key) = self.keys().into_iter().find(is_due) {
            let pending = self.pending.get_mut(&self.numbers[&key]).unwrap();
            pending.is_finished = true;
            self.machine.finish(key, pending.trailers.as_ref(), &mut self.sent).unwrap();
            self.direction_ended(key);
            return true;
        }
        let Some((key, room)) = self.machine.next_to_send() else { return false };
        assert!(room > 0);
        let pending = self.pending.get_mut(&self.numbers[&key]).unwrap();
        let mut piece = pending.pieces.pop_front().expect("it wants to send");
        let len = piece.len().min(room).min(1 + random.scaled(15));
        let rest = piece.split_off(len);
        if !rest.is_empty() {
            pending.pieces.push_front(rest);
        }
        let is_last = pending.pieces.is_empty();
        let end = is_last && pending.trailers.is_none() && random.one_in(2);
        pending.is_finished = end;
        self.machine.data(key, piece.into(), end, &mut self.sent).unwrap();
        if is_last {
            self.machine.want_to_send(key, false);
        }
        self.direction_ended(key);
        true
    }

    /// Consumes some content.
    pub(super) fn consume_content(&mut self, random: &mut Random) -> bool {
        if self.unread.is_empty() {
            return false;
        }
        let (key, bytes) = self.unread.swap_remove(random.below(self.unread.len()));
        match key {
            Some(key) => self.machine.consumed(key, bytes),
            None => self.machine.consumed_after_end(bytes),
        }
        true
    }

    /// Resets a stream.
    pub(super) fn reset_stream(&mut self, random: &mut Random) -> bool {
        let keys = self.keys();
        if keys.is_empty() {
            return false;
        }
        let key = *random.pick(&keys);
        let code =
            *random.pick(&[ErrorCode::CANCEL, ErrorCode::NO_ERROR, ErrorCode::REFUSED_STREAM]);
        self.machine.reset(key, code);
        self.stream_closed(key, ExchangeEnd::ResetHere);
        true
    }

    /// Sends the machine's control frames, and has the ledger check all that was sent.
    pub(super) fn flush(&mut self) {
        self.machine.transmit(self.now, &mut self.sent);
        while let Some((header, payload, _)) = frames::split(&self.sent[self.counted..]) {
            self.ledger.frame_sent(header, payload);
            self.counted += 9 + payload.len();
        }
        assert_eq!(self.counted, self.sent.len(), "whole frames are written");
    }

    /// Takes up to `bytes` bytes of what was sent.
    pub(super) fn take(&mut self, bytes: usize) -> Vec<u8> {
        let bytes = bytes.min(self.sent.len());
        self.counted -= bytes;
        self.sent.drain(..bytes).collect()
    }

    /// Reads bytes that arrived.
    pub(super) fn receive(&mut self, bytes: &[u8]) {
        self.arrived.extend_from_slice(bytes);
        self.begun.extend_from_slice(bytes);
        if self.is_server && self.begun.starts_with(PREFACE) {
            self.begun.drain(..PREFACE.len());
        }
        while let Some((header, payload, rest)) = frames::split(&self.begun) {
            if self.is_server && header[..3] == PREFACE[..3] {
                break;
            }
            self.ledger.frame_received(header, payload);
            self.begun = rest.to_vec();
        }
        loop {
            let received = self.machine.receive(self.now, &self.arrived, true);
            assert_ne!(received.event, Event::Closed, "{:?}", self.machine.fault());
            if received.event == Event::NeedMore {
                self.arrived.drain(..received.consumed);
                return;
            }
            self.record(received.event);
            self.arrived.drain(..received.consumed);
        }
    }

    /// Records an event of the machine.
    fn record(&mut self, event: Event) {
        match event {
            Event::Request { key, end } => {
                let mut head = RequestHead::default();
                self.machine.take_request(&mut head);
                let number = head.fields().first("x-number").expect("it has one");
                let number = std::str::from_utf8(number).unwrap().parse().unwrap();
                let fields = Some(head.fields().clone());
                let received =
                    ReceivedMessage { fields, is_ended: end, ..ReceivedMessage::default() };
                assert!(self.received.insert(number, received).is_none(), "it comes once");
                self.track(key, number, PendingMessage::default());
            }
            Event::Response { key, end } => {
                let mut head = ResponseHead::default();
                self.machine.take_response(&mut head);
                let received = self.received.get_mut(&self.numbers[&key]).unwrap();
                received.status = Some(head.status());
                assert!(received.fields.replace(head.fields().clone()).is_none(), "it comes once");
                self.end_received(key, end);
            }
            Event::Data { key, span, end } => {
                let bytes = span.len() as u32;
                let received = self.received.get_mut(&self.numbers[&key]).unwrap();
                received.content.extend_from_slice(&self.arrived[span]);
                self.unread.push((Some(key), bytes));
                self.end_received(key, end);
            }
            Event::Trailers { key } => {
                let trailers = self.machine.take_trailers().map(|trailers| *trailers);
                self.received.get_mut(&self.numbers[&key]).unwrap().trailers = trailers;
                self.end_received(key, true);
            }
            Event::Reset { key, reason, .. } => {
                self.stream_closed(key, ExchangeEnd::ResetByPeer(reason))
            }
            Event::Settings | Event::GoAway { .. } | Event::Interim { .. } => {}
            Event::NeedMore | Event::Paused | Event::Closed => panic!("{event:?}"),
        }
    }

    /// Notes that the other peer's message has ended, if it has.
    fn end_received(&mut self, key: StreamKey, end: bool) {
        if end {
            let received = self.received.get_mut(&self.numbers[&key]).unwrap();
            assert!(!std::mem::replace(&mut received.is_ended, true), "it ends once");
            self.direction_ended(key);
        }
    }

    /// Notes that the exchange is complete if the stream is closed: a direction of it has ended.
    fn direction_ended(&mut self, key: StreamKey) {
        if !self.machine.is_open(key) {
            let number = self.numbers[&key];
            assert!(self.pending[&number].is_finished && self.received[&number].is_ended);
            self.stream_closed(key, ExchangeEnd::Complete);
        }
    }

    /// Notes how a stream was closed.
    fn stream_closed(&mut self, key: StreamKey, how: ExchangeEnd) {
        assert!(!self.machine.is_open(key));
        let is_reset = how != ExchangeEnd::Complete;
        let number = self.numbers.remove(&key).expect("it was open");
        let ended = &mut self.received.get_mut(&number).unwrap().ended;
        assert_eq!(ended.replace(how), None, "it ends once");
        // Unread content of a stream that was reset is dropped; that of other streams is consumed late.
        self.unread.retain(|(of, _)| !is_reset || *of != Some(key));
        self.unread.iter_mut().filter(|(of, _)| *of == Some(key)).for_each(|(of, _)| *of = None);
    }

    pub(super) fn assert_nothing_left(&self) {
        assert_eq!((self.machine.streams(), self.numbers.len()), (0, 0));
        assert_eq!((self.machine.unread(), self.unread.len()), (0, 0));
        assert_eq!(i64::from(self.machine.window()), self.ledger.connection());
        assert!(self.ledger.connection() >= 32_767, "the peer has opened its window again");
        assert!(self.arrived.is_empty() && self.begun.is_empty());
        assert_eq!(self.machine.fault(), None);
    }
}
