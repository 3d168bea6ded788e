//! One of two ends of HTTP/2 that talk to each other: what it says, and what it reads.

use std::collections::BTreeMap;
use std::time::Instant;

use stoop_proto::h2::{Connection, ErrorCode, Event, ResetReason, StreamKey};
use stoop_proto::{BodySize, Fields, Limits, Misuse, RequestHead, ResponseHead};

use super::h2_pair::{All, theirs};

/// What an end knows of a stream.
#[derive(Debug)]
pub(crate) struct Talk {
    pub(crate) number: usize,
    /// What of its content is still to be said, if that was announced.
    left: Option<usize>,
    pub(crate) is_tunnel: bool,
    pub(crate) has_begun: bool,
    pub(crate) is_finished: bool,
}

impl Talk {
    /// One that an end has begun itself.
    pub(crate) fn new(number: usize, is_tunnel: bool, size: BodySize, is_sending: bool) -> Self {
        let mut talk =
            Self { number, left: None, is_tunnel, has_begun: true, is_finished: !is_sending };
        talk.announce(size);
        talk
    }

    pub(crate) fn announce(&mut self, size: BodySize) {
        self.left = match size {
            BodySize::Exact(bytes) => Some(bytes as usize),
            BodySize::Unknown => None,
        };
    }
}

pub(crate) struct Side {
    pub(crate) machine: Connection,
    pub(crate) limits: Limits,
    /// Which of the two messages of an exchange it says: the client's are the first.
    says: usize,
    /// Written and not handed on: whole frames at its end.
    pub(crate) sent: Vec<u8>,
    arrived: Vec<u8>,
    pub(crate) talks: BTreeMap<StreamKey, Talk>,
    /// Content that is not used up, of streams that are not, or of others.
    pub(crate) unread: Vec<(Option<StreamKey>, u32)>,
}

impl Side {
    pub(crate) fn new(machine: Connection, limits: Limits, says: usize) -> Self {
        let (sent, arrived, talks, unread) = Default::default();
        Self { machine, limits, says, sent, arrived, talks, unread }
    }

    /// One of its streams.
    pub(crate) fn choose(&self, choice: u8) -> Option<StreamKey> {
        self.talks.keys().nth(usize::from(choice) % self.talks.len().max(1)).copied()
    }

    pub(crate) fn flush(&mut self, now: Instant) {
        self.machine.transmit(now, &mut self.sent);
    }

    pub(crate) fn data(&mut self, choice: u8, all: &mut All) {
        let lens = [0, 1, 5, 100, 5_000, 16_384, 16_385, 40_000];
        let len = lens[usize::from(choice >> 2 & 7)];
        if let Some(key) = self.choose(choice) {
            self.say(key, len, choice & 0x20 != 0, all);
        }
    }

    /// Says so much content, if it is allowed to.
    fn say(&mut self, key: StreamKey, len: usize, end: bool, all: &mut All) {
        let talk = self.talks.get_mut(&key).expect("it is open");
        let said = &mut all[talk.number][self.says];
        let content: Vec<u8> = (0..len).map(|at| (said.content.len() + at) as u8).collect();
        let (sendable, before) = (self.machine.sendable(key), self.sent.len());
        let is_due = talk.has_begun && !talk.is_finished;
        let fits = len <= sendable && talk.left.is_none_or(|left| len <= left);
        match self.machine.data(key, content.clone().into(), end, &mut self.sent) {
            Ok(()) => {
                assert!(is_due && fits);
                said.content.extend(content);
                talk.left = talk.left.map(|left| left - len);
                assert!(!end || talk.left.is_none_or(|left| left == 0));
                if end {
                    (talk.is_finished, said.is_complete) = (true, true);
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

    pub(crate) fn finish(&mut self, choice: u8, trailers: &Fields, all: &mut All) {
        if let Some(key) = self.choose(choice) {
            self.finish_stream(key, trailers, all);
        }
    }

    fn finish_stream(&mut self, key: StreamKey, trailers: &Fields, all: &mut All) {
        let talk = self.talks.get_mut(&key).expect("it is open");
        let (is_due, before) = (talk.has_begun && !talk.is_finished, self.sent.len());
        let said = &mut all[talk.number][self.says];
        let trailers = Some(trailers).filter(|_| !talk.is_tunnel);
        match self.machine.finish(key, trailers, &mut self.sent) {
            Ok(()) => {
                assert!(is_due && talk.left.is_none_or(|left| left == 0));
                (talk.is_finished, said.is_complete) = (true, true);
                said.trailers = trailers.map(theirs).unwrap_or_default();
                self.ended(key);
            }
            Err(misuse) => {
                let expected = if is_due { Misuse::BodyTooShort } else { Misuse::Order };
                assert_eq!((misuse, self.sent.len()), (expected, before));
            }
        }
    }

    /// The stream whose turn it is says something.
    pub(crate) fn take_turn(&mut self, choice: u8, all: &mut All) {
        if let Some(key) = self.choose(choice >> 1) {
            self.machine.want_to_send(key, choice & 0x80 == 0);
        }
        if let Some((key, room)) = self.machine.next_to_send() {
            assert!(room > 0 && room == self.machine.sendable(key));
            let talk = &self.talks[&key];
            assert!(talk.has_begun && !talk.is_finished);
            self.say(key, talk.left.unwrap_or(3_000).min(room), false, all);
        }
    }

    /// Says what is left to say of all messages, as far as it may.
    pub(crate) fn say_all(&mut self, all: &mut All) -> bool {
        let before = self.sent.len();
        for key in self.talks.keys().copied().collect::<Vec<_>>() {
            let talk = &self.talks[&key];
            if !talk.has_begun || talk.is_finished {
                continue;
            }
            match talk.left.unwrap_or(0) {
                0 => self.finish_stream(key, &Fields::new(), all),
                left => self.say(key, left.min(self.machine.sendable(key)), false, all),
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

    pub(crate) fn hear(&mut self, now: Instant, bytes: impl Iterator<Item = u8>, all: &mut All) {
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
                event => self.tell(event, at, all),
            }
            at += received.consumed;
        }
    }

    fn tell(&mut self, event: Event, at: usize, all: &mut All) {
        match event {
            Event::Settings | Event::GoAway { .. } | Event::Interim { .. } => {}
            Event::Request { key, end } => {
                let mut head = RequestHead::default();
                self.machine.take_request(&mut head);
                let number = head.fields().first("x-n").expect("it has one");
                let number = std::str::from_utf8(number).expect("it is").parse().expect("a number");
                let is_tunnel = *head.method() == http::Method::CONNECT;
                let mut talk = Talk::new(number, is_tunnel, BodySize::Unknown, true);
                talk.has_begun = false;
                assert!(self.talks.insert(key, talk).is_none(), "the key is another stream's");
                let said = &mut all[number][0];
                assert_eq!(format!("{} {}", head.method(), head.path()), said.line);
                assert_eq!(theirs(head.fields()), said.fields);
                assert!(!std::mem::replace(&mut said.head_is_read, true), "it comes once");
                self.read_to_its_end(key, end, all);
            }
            Event::Response { key, end } => {
                let mut head = ResponseHead::default();
                self.machine.take_response(&mut head);
                let talk = self.talks.get_mut(&key).expect("it is open");
                let said = &mut all[talk.number][1];
                assert_eq!(head.status().as_str(), said.line);
                assert_eq!(theirs(head.fields()), said.fields);
                assert!(!std::mem::replace(&mut said.head_is_read, true), "it comes once");
                self.read_to_its_end(key, end, all);
            }
            Event::Data { key, span, end } => {
                let said = &mut all[self.talks[&key].number][1 - self.says];
                assert!(!said.is_read && said.head_is_read);
                let piece = &self.arrived[span.start + at..span.end + at];
                assert!(said.content[said.read..].starts_with(piece));
                said.read += piece.len();
                self.unread.push((Some(key), piece.len() as u32));
                self.read_to_its_end(key, end, all);
            }
            Event::Trailers { key } => {
                let trailers = self.machine.take_trailers().expect("they were announced");
                let said = &mut all[self.talks[&key].number][1 - self.says];
                assert_eq!(theirs(&trailers), std::mem::take(&mut said.trailers));
                self.read_to_its_end(key, true, all);
            }
            Event::Reset { key, reason } => {
                let is_honest = matches!(reason, ResetReason::Peer(_) | ResetReason::Unprocessed);
                assert!(is_honest, "{reason:?}");
                self.over(key, true);
            }
            Event::NeedMore | Event::Paused | Event::Closed => {
                panic!("{event:?}: {:?}", self.machine.fault())
            }
        }
    }

    fn read_to_its_end(&mut self, key: StreamKey, end: bool, all: &mut All) {
        if end {
            let said = &mut all[self.talks[&key].number][1 - self.says];
            assert!(said.is_complete && said.read == said.content.len());
            assert!(said.trailers.is_empty() && !std::mem::replace(&mut said.is_read, true));
            self.ended(key);
        }
    }

    /// A direction has ended, perhaps the last.
    pub(crate) fn ended(&mut self, key: StreamKey) {
        if !self.machine.is_open(key) {
            assert!(self.talks[&key].is_finished);
            self.over(key, false);
        }
    }

    fn over(&mut self, key: StreamKey, is_reset: bool) {
        assert!(!self.machine.is_open(key));
        self.talks.remove(&key).expect("it was open");
        // What is left of a stream that was reset is consumed by no exchange; that of others is consumed late.
        self.unread.retain(|(of, _)| !is_reset || *of != Some(key));
        self.unread.iter_mut().filter(|(of, _)| *of == Some(key)).for_each(|(of, _)| *of = None);
    }

    pub(crate) fn check_the_end(&self) {
        assert!(self.talks.is_empty(), "{:?}", self.talks);
        assert_eq!((self.machine.streams(), self.machine.unread()), (0, 0));
        assert!(self.machine.window() >= 32_767, "the peer has opened its window again");
        assert!(self.sent.is_empty() && self.arrived.is_empty());
        assert_eq!(self.machine.fault(), None);
    }
}
