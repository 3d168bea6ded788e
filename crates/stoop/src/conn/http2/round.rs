//! The order of work in a poll of an HTTP/2 driver.
//!
//! A round looks at the exchanges that were woken, reads what has arrived, opens streams, lets those send
//! that have their turn, and flushes. A poll has as many rounds as its turn has time for; when a round
//! finds nothing to do, the task waits.

use std::task::{Context, Poll};

use stoop_io::{FillResult, now};
use stoop_proto::h2;

use crate::conn::http2::driver::{DriverRole, Round, Stage, StreamDriver, TransportFailure};
use crate::turn::yield_turn;

/// Rounds in a turn at most, however short they are.
const ROUNDS_MAX: u32 = 64;

impl<R: DriverRole> StreamDriver<R> {
    /// Drives the connection; ready when it is over.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let polled = self.poll_rounds(cx);
        self.exchanges.progress().note_arrived(&self.wire);
        polled
    }

    fn poll_rounds(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        self.exchanges.register(cx.waker());
        self.now = now();
        if R::begin_poll(self, cx).is_break() {
            return Poll::Ready(());
        }
        self.turn.begin();
        for _ in 0..ROUNDS_MAX {
            let round = match self.stage {
                Stage::Open => self.serve(cx),
                Stage::Closing => self.close(cx),
                Stage::Lingering(_) => self.linger(cx),
            };
            R::end_round(self);
            match round {
                Round::Again | Round::Wait if self.turn.is_over() => break,
                Round::Again => {}
                Round::Wait => return Poll::Pending,
                Round::End => return Poll::Ready(()),
            }
        }
        yield_turn(cx);
        if self.flush(cx) == Poll::Ready(false) {
            R::transport_failed(self, TransportFailure::Write);
            R::end_round(self);
            return Poll::Ready(());
        }
        Poll::Pending
    }

    /// One round of an open connection.
    fn serve(&mut self, cx: &mut Context<'_>) -> Round {
        if let Some(round) = R::begin_round(self, cx) {
            return round;
        }
        let mut moved = self.run_woken();
        let (read, wants_bytes) = self.read();
        moved |= read;
        moved |= R::open_streams(self);
        moved |= self.send();
        moved |= self.transmit();
        if self.machine.is_closed() || self.machine.is_drained() {
            R::machine_ended(self);
            self.stage = Stage::Closing;
            return Round::Again;
        }
        if moved && !self.is_full() {
            return Round::Again;
        }
        let was_full = self.is_full();
        if self.flush(cx) == Poll::Ready(false) {
            return self.fail(TransportFailure::Write);
        }
        if moved || was_full && !self.is_full() {
            return Round::Again;
        }
        if !wants_bytes {
            return R::wait(self, cx);
        }
        match self.fill(cx) {
            Some(round) => round,
            None => R::wait(self, cx),
        }
    }

    /// Looks at the exchanges that were woken. True if there were any.
    fn run_woken(&mut self) -> bool {
        let mut woken = self.exchanges.take_woken();
        let any = !woken.is_empty();
        while let Some(index) = woken.pop_front() {
            R::run(self, index);
            if self.turn.step() {
                break;
            }
        }
        self.exchanges.put_back(woken);
        any
    }

    /// Receives more bytes; none if there are none now.
    pub(crate) fn fill(&mut self, cx: &mut Context<'_>) -> Option<Round> {
        if self.at_end {
            return None;
        }
        match self.wire.poll_fill(cx, h2::FRAME_BYTES_MAX) {
            Poll::Ready(Ok(FillResult::Bytes(_))) => {
                self.role.received(self.now);
                Some(Round::Again)
            }
            // Neither side of HTTP/2 half-closes: the peer waits for nothing that is not sent yet.
            Poll::Ready(Ok(FillResult::End)) => {
                self.receive_end();
                Some(Round::Again)
            }
            Poll::Ready(Ok(FillResult::Full)) => Some(self.fail(TransportFailure::Overflow)),
            Poll::Ready(Err(error)) => Some(self.fail(TransportFailure::Read(error))),
            Poll::Pending => None,
        }
    }

    /// The peer has ended the connection, and nothing more comes.
    pub(crate) fn receive_end(&mut self) {
        self.read_rest();
        self.at_end = true;
        self.machine.receive_end();
    }

    fn fail(&mut self, failure: TransportFailure) -> Round {
        R::transport_failed(self, failure);
        Round::End
    }

    /// Sends what the machine wrote last.
    fn close(&mut self, cx: &mut Context<'_>) -> Round {
        let flushed = self.wire.flush_last(cx, self.role.output_bytes_max());
        self.role.flushed(&self.wire, flushed != Poll::Ready(false));
        match flushed {
            Poll::Pending => R::wait(self, cx),
            Poll::Ready(true) if !self.at_end => match R::linger(self) {
                Some(linger) => {
                    self.stage = Stage::Lingering(linger);
                    Round::Again
                }
                None => Round::End,
            },
            Poll::Ready(_) => Round::End,
        }
    }

    /// Reads on behind the last that was sent.
    fn linger(&mut self, cx: &mut Context<'_>) -> Round {
        let Stage::Lingering(linger) = &mut self.stage else { return Round::End };
        match linger.poll(&mut self.wire, cx) {
            Poll::Ready(true) => Round::Again,
            Poll::Ready(false) => Round::End,
            Poll::Pending => R::wait(self, cx),
        }
    }
}
