//! One direction of a simulated connection: the bytes on it and when they arrive.

use std::collections::VecDeque;
use std::task::Waker;
use std::time::Instant;

use bytes::{Buf, Bytes, BytesMut};

use super::link::{Link, LinkFault, LinkRandom, Sizes};
use super::log::{LogWriter, SimLog, Way};
use crate::output::Output;
use crate::timer::now;

/// One direction of a simulated connection.
pub(super) struct SimDirection {
    way: Way,
    pub(super) link: Link,
    pub(super) random: LinkRandom,
    pub(super) reads: Sizes,
    pub(super) writes: Sizes,
    /// Pieces under way, with the time of their arrival.
    in_flight: VecDeque<(Instant, Bytes)>,
    /// The number of their bytes.
    in_flight_bytes: usize,
    /// Bytes that were accepted from the writer.
    accepted: u64,
    /// Bytes that the reader received.
    pub(super) delivered: u64,
    /// When the reader learns that the writer has ended.
    pub(super) ended: Option<Instant>,
    pub(super) reader_gone: bool,
    pub(super) reader: Option<Waker>,
    pub(super) writer: Option<Waker>,
    log: LogWriter,
}

/// What there is to read in a direction.
pub(super) enum Available {
    /// This many bytes of the first piece may be read.
    Bytes(usize),
    End,
    /// Nothing before this time.
    NotBefore(Instant),
    Nothing,
}

impl SimDirection {
    pub(super) fn new(way: Way, link: &Link, seed: u64, log: &SimLog) -> Self {
        let (reads, writes) = (Sizes::new(&link.reads), Sizes::new(&link.writes));
        Self {
            way,
            link: link.clone(),
            random: LinkRandom::new(seed),
            reads,
            writes,
            in_flight: VecDeque::new(),
            in_flight_bytes: 0,
            accepted: 0,
            delivered: 0,
            ended: None,
            reader_gone: false,
            reader: None,
            writer: None,
            log: log.writer(),
        }
    }

    /// When something sent now arrives: never before what was sent earlier.
    pub(super) fn arrival(&mut self) -> Instant {
        let latency = self.link.latency + self.random.up_to(self.link.jitter);
        let before = self.in_flight.back().map(|(at, _)| *at);
        (now() + latency).max(before.unwrap_or_else(now))
    }

    pub(super) fn available(&self) -> Available {
        let left = match self.link.fault {
            LinkFault::EndAfter(n) if self.delivered >= n => return Available::End,
            LinkFault::StallAfter(n) if self.delivered >= n => return Available::Nothing,
            LinkFault::EndAfter(n) | LinkFault::StallAfter(n) | LinkFault::ResetAfter(n) => {
                n - self.delivered
            }
            LinkFault::None | LinkFault::RefuseAfter(_) => u64::MAX,
        };
        let now = now();
        match (self.in_flight.front(), self.ended) {
            (Some((at, piece)), _) if *at <= now => {
                Available::Bytes(piece.len().min(usize::try_from(left).unwrap_or(usize::MAX)))
            }
            (None, Some(at)) if at <= now => Available::End,
            (Some(&(at, _)), _) | (None, Some(at)) => Available::NotBefore(at),
            (None, None) => Available::Nothing,
        }
    }

    pub(super) fn deliver(&mut self, n: usize, into: &mut BytesMut) {
        let Some((_, piece)) = self.in_flight.front_mut() else { return };
        into.extend_from_slice(&piece[..n]);
        self.log.note_delivered(self.way, &piece[..n]);
        piece.advance(n);
        if piece.is_empty() {
            self.in_flight.pop_front();
        }
        self.in_flight_bytes -= n;
        self.delivered += n as u64;
    }

    /// How many more bytes may be accepted from the writer now.
    pub(super) fn window(&self) -> usize {
        let free = self.link.capacity.max(1) - self.in_flight_bytes;
        match self.link.fault {
            LinkFault::RefuseAfter(n) => {
                free.min(usize::try_from(n - self.accepted).unwrap_or(usize::MAX))
            }
            _ => free,
        }
    }

    /// Takes up to `n` bytes from the writer.
    pub(super) fn accept(&mut self, n: usize, out: &mut Output) {
        let mut piece = BytesMut::with_capacity(n);
        while piece.len() < n {
            let step = out.front().len().min(n - piece.len());
            piece.extend_from_slice(&out.front()[..step]);
            out.advance(step);
        }
        self.log.note_sent(self.way, &piece);
        let before = self.accepted;
        self.accepted += n as u64;
        if let LinkFault::EndAfter(end) = self.link.fault {
            // What is sent after the end is lost.
            piece.truncate(usize::try_from(end.saturating_sub(before)).unwrap_or(usize::MAX));
        }
        if !piece.is_empty() {
            self.in_flight_bytes += piece.len();
            let at = self.arrival();
            self.in_flight.push_back((at, piece.freeze()));
        }
    }

    /// Drops the bytes under way.
    pub(super) fn clear(&mut self) {
        self.in_flight.clear();
        self.wake();
    }

    pub(super) fn wake(&mut self) {
        // With the connection locked: these are wakers of tests, whose tasks are polled later.
        for waker in [self.reader.take(), self.writer.take()].into_iter().flatten() {
            waker.wake();
        }
    }
}
