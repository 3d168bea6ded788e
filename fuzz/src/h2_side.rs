//! One of two HTTP/2 peers that exchange messages: what it sends, and what it reads.

use std::collections::BTreeMap;
use std::time::Instant;

use stoop_proto::h2::{Connection, ErrorCode, Event, ResetReason, StreamKey};
use stoop_proto::{BodySize, Fields, Limits, Misuse, RequestHead, ResponseHead};

use super::h2_message::{SentMessages, end_to_end};

/// What a peer knows of a stream.
#[derive(Debug)]
pub(crate) struct PeerStream {
    pub(crate) number: usize,
    /// What of its content is still to be sent, if that was announced.
    left: Option<usize>,
    pub(crate) is_tunnel: bool,
    pub(crate) has_begun: bool,
    pub(crate) is_finished: bool,
}

impl PeerStream {
    /// One that an end has begun itself.
    pub(crate) fn new(number: usize, is_tunnel: bool, size: BodySize, is_sending: bool) -> Self {
        let mut stream =
            Self { number, left: None, is_tunnel, has_begun: true, is_finished: !is_sending };
        stream.announce(size);
        stream
    }

    pub(crate) fn announce(&mut self, size: BodySize) {
        self.left = match size {
            BodySize::Exact(bytes) => Some(bytes as usize),
            BodySize::Unknown => None,
        };
    }
}

pub(crate) struct PeerSide {
    pub(crate) machine: Connection,
    pub(crate) limits: Limits,
    /// Which of the two messages of an exchange it sends: the client's are the first.
    sends: usize,
    /// Written and not handed on: whole frames at its end.
    pub(crate) sent: Vec<u8>,
    arrived: Vec<u8>,
    pub(crate) streams: BTreeMap<StreamKey, PeerStream>,
    /// Content that is not used up, of streams that are not, or of others.
    pub(crate) unread: Vec<(Option<StreamKey>, u32)>,
}

impl PeerSide {
    pub(crate) fn new(machine: Connection, limits: Limits, sends: usize) -> Self {
        let (sent, arrived, streams, unread) = Default::default();
        Self { machine, limits, sends, sent, arrived, streams, unread }
    }

    /// One of its streams.
    pub(crate) fn choose(&self, choice: u8) -> Option<StreamKey> {
        self.streams.keys().nth(usize::from(choice) % self.streams.len().max(1)).copied()
    }

    pub(crate) fn flush(&mut self, now: Instant) {
        self.machine.transmit(now, &mut self.sent);
    }

    pub(crate) fn data(&mut self, choice: u8, all: &mut SentMessages) {
        let lens = [0, 1, 5, 100, 5_000, 16_384, 16_385, 40_000];
        let len = lens[usize::from(choice >> 2 & 7)];
        if let Some(key) = self.choose(choice) {
            self.send(key, len, choice & 0x20 != 0, all);
        }
    }

    /// Says so much content, if it is allowed to.
    fn send(&mut self, key: StreamKey, len: usize, end: bool, all: &mut SentMessages) {
        let stream = self.streams.get_mut(&key).expect("it is open");
        let sent = &mut all[stream.number][self.sends];
        let content: Vec<u8> = (0..len).map(|at| (sent.content.len() + at) as u8).collect();
        let (sendable, before) = (self.machine.sendable(key), self.sent.len());
        let is_due = stream.has_begun && !stream.is_finished;
        let fits = len <= sendable && stream.left.is_none_or(|left| len <= left);
        match self.machine.data(key, content.clone().into(), end, &mut self.sent) {
            Ok(()) => {
                assert!(is_due && fits);
                sent.content.extend(content);
                stream.left = stream.left.map(|left| left - len);
                assert!(!end || stream.left.is_none_or(|left| left == 0));
                if end {
                    (stream.is_finished, sent.is_complete) = (true, true);
                    self.ended(key);
                }
            }
            Err(misuse) => {
                let expected = match (is_due, fits) {
                    (false, _) => Misuse::Order,
                    (_, false) => Misuse::BodyTooLong,
                    _ => Misuse::BodyTooShort,
                };
                assert_eq!((misuse, self.sent.len()), (expected, before));
                if misuse == Misuse::BodyTooShort {
                    self.reset(key, ErrorCode::INTERNAL_ERROR);
                }
            }
        }
    }

    pub(crate) fn finish(&mut self, choice: u8, trailers: &Fields, all: &mut SentMessages) {
        if let Some(key) = self.choose(choice) {
            self.finish_stream(key, trailers, all);
        }
    }

    fn finish_stream(&mut self, key: StreamKey, trailers: &Fields, all: &mut SentMessages) {
        let stream = self.streams.get_mut(&key).expect("it is open");
        let (is_due, before) = (stream.has_begun && !stream.is_finished, self.sent.len());
        let sent = &mut all[stream.number][self.sends];
        let trailers = Some(trailers).filter(|_| !stream.is_tunnel);
        match self.machine.finish(key, trailers, &mut self.sent) {
            Ok(()) => {
                assert!(is_due && stream.left.is_none_or(|left| left == 0));
                (stream.is_finished, sent.is_complete) = (true, true);
                sent.trailers = trailers.map(end_to_end).unwrap_or_default();
                self.ended(key);
            }
            Err(misuse) => {
                let expected = if is_due { Misuse::BodyTooShort } else { Misuse::Order };
                assert_eq!((misuse, self.sent.len()), (expected, before));
            }
        }
    }

    /// The stream whose turn it is sends something.
    pub(crate) fn take_turn(&mut self, choice: u8, all: &mut SentMessages) {
        if let Some(key) = self.choose(choice >> 1) {
            self.machine.want_to_send(key, choice & 0x80 == 0);
        }
        if let Some((key, room)) = self.machine.next_to_send() {
            assert!(room > 0 && room == self.machine.sendable(key));
            let stream = &self.streams[&key];
            assert!(stream.has_begun && !stream.is_finished);
            self.send(key, stream.left.unwrap_or(3_000).min(room), false, all);
        }
    }

    /// Sends what is left of all messages, as far as it may.
    pub(crate) fn send_all(&mut self, all: &mut SentMessages) -> bool {
        let before = self.sent.len();
        for key in self.streams.keys().copied().collect::<Vec<_>>() {
            let stream = &self.streams[&key];
            if !stream.has_begun || stream.is_finished {
                continue;
            }
            match stream.left.unwrap_or(0) {
                0 => self.finish_stream(key, &Fields::new(), all),
                left => self.send(key, left.min(self.machine.sendable(key)), false, all),
            }
        }
        self.sent.len() > before
    }

    pub(crate) fn use_up(&mut self, choice: u8) {
        if self.unread.is_empty() {
            return;
        }
        let at = usize::from(choice) % self.unread.len();
        match self.unread.swap_remove(at) {
            (Some(key), bytes) => self.machine.consumed(key, bytes),
            (None, bytes) => self.machine.consumed_after_end(bytes),
        }
    }

    pub(crate) fn give_up(&mut self, choice: u8) {
        let codes = [ErrorCode::CANCEL, ErrorCode::NO_ERROR, ErrorCode::REFUSED_STREAM];
        if let Some(key) = self.choose(choice >> 2) {
            self.reset(key, codes[usize::from(choice) % 3]);
        }
    }

    fn reset(&mut self, key: StreamKey, code: ErrorCode) {
        self.machine.reset(key, code);
        self.over(key, true);
    }

    pub(crate) fn receive(
        &mut self,
        now: Instant,
        bytes: impl Iterator<Item = u8>,
        all: &mut SentMessages,
    ) {
        self.arrived.extend(bytes);
        let mut at = 0;
        loop {
            let input = &self.arrived[at..];
            let received = self.machine.receive(now, input, true);
            assert!(received.consumed <= input.len());
            match received.event {
                Event::NeedMore => {
                    self.arrived.drain(..at + received.consumed);
                    return;
                }
                Event::Paused => self.flush(now),
                event => self.observe(event, at, all),
            }
            at += received.consumed;
        }
    }

    fn observe(&mut self, event: Event, at: usize, all: &mut SentMessages) {
        match event {
            Event::Settings | Event::GoAway { .. } | Event::Interim { .. } => {}
            Event::Request { key, end } => {
                let mut head = RequestHead::default();
                self.machine.take_request(&mut head);
                let number = head.fields().first("x-n").expect("it has one");
                let number = std::str::from_utf8(number).expect("it is").parse().expect("a number");
                let is_tunnel = *head.method() == http::Method::CONNECT;
                let mut stream = PeerStream::new(number, is_tunnel, BodySize::Unknown, true);
                stream.has_begun = false;
                assert!(self.streams.insert(key, stream).is_none(), "the key is another stream's");
                let sent = &mut all[number][0];
                assert_eq!(format!("{} {}", head.method(), head.path()), sent.line);
                assert_eq!(end_to_end(head.fields()), sent.fields);
                assert!(!std::mem::replace(&mut sent.head_is_read, true), "it comes once");
                self.read_to_its_end(key, end, all);
            }
            Event::Response { key, end } => {
                let mut head = ResponseHead::default();
                self.machine.take_response(&mut head);
                let stream = self.streams.get_mut(&key).expect("it is open");
                let sent = &mut all[stream.number][1];
                assert_eq!(head.status().as_str(), sent.line);
                assert_eq!(end_to_end(head.fields()), sent.fields);
                assert!(!std::mem::replace(&mut sent.head_is_read, true), "it comes once");
                self.read_to_its_end(key, end, all);
            }
            Event::Data { key, span, end } => {
                let sent = &mut all[self.streams[&key].number][1 - self.sends];
                assert!(!sent.is_read && sent.head_is_read);
                let piece = &self.arrived[span.start + at..span.end + at];
                assert!(sent.content[sent.read..].starts_with(piece));
                sent.read += piece.len();
                self.unread.push((Some(key), piece.len() as u32));
                self.read_to_its_end(key, end, all);
            }
            Event::Trailers { key } => {
                let trailers = self.machine.take_trailers().expect("they were announced");
                let sent = &mut all[self.streams[&key].number][1 - self.sends];
                assert_eq!(end_to_end(&trailers), std::mem::take(&mut sent.trailers));
                self.read_to_its_end(key, true, all);
            }
            Event::Reset { key, reason, .. } => {
                let is_honest = matches!(reason, ResetReason::Peer(_) | ResetReason::Unprocessed);
                assert!(is_honest, "{reason:?}");
                self.over(key, true);
            }
            Event::NeedMore | Event::Paused | Event::Closed => {
                panic!("{event:?}: {:?}", self.machine.fault())
            }
        }
    }

    fn read_to_its_end(&mut self, key: StreamKey, end: bool, all: &mut SentMessages) {
        if end {
            let sent = &mut all[self.streams[&key].number][1 - self.sends];
            assert!(sent.is_complete && sent.read == sent.content.len());
            assert!(sent.trailers.is_empty() && !std::mem::replace(&mut sent.is_read, true));
            self.ended(key);
        }
    }

    /// A direction has ended, perhaps the last.
    pub(crate) fn ended(&mut self, key: StreamKey) {
        if !self.machine.is_open(key) {
            assert!(self.streams[&key].is_finished);
            self.over(key, false);
        }
    }

    fn over(&mut self, key: StreamKey, is_reset: bool) {
        assert!(!self.machine.is_open(key));
        self.streams.remove(&key).expect("it was open");
        // What is left of a stream that was reset is consumed by no exchange; that of others is consumed late.
        self.unread.retain(|(of, _)| !is_reset || *of != Some(key));
        self.unread.iter_mut().filter(|(of, _)| *of == Some(key)).for_each(|(of, _)| *of = None);
    }

    pub(crate) fn check_the_end(&self) {
        assert!(self.streams.is_empty(), "{:?}", self.streams);
        assert_eq!((self.machine.streams(), self.machine.unread()), (0, 0));
        assert!(self.machine.window() >= 32_767, "the peer has opened its window again");
        assert!(self.sent.is_empty() && self.arrived.is_empty());
        assert_eq!(self.machine.fault(), None);
    }
}
