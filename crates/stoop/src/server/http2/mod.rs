//! A connection that speaks HTTP/2: many exchanges at a time, polled right here.
//!
//! A round polls the exchanges that were woken, reads what has arrived, lets those send whose turn it
//! is, and sends everything in one call. When nothing moves, it waits: for bytes, for room to send, for
//! an exchange, for a deadline. A request that is answered at once, with a buffer that the windows have
//! room for, is never an exchange: it is answered where it was read.
//!
//! `receive` is from events to handlers, `answer` from handlers to frames, `exchange` what is kept of a
//! request until it is answered, `timeouts` the limits of every wait.

mod answer;
mod exchange;
mod receive;
mod timeouts;

use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use stoop_io::{FillResult, Transport, now};
use stoop_proto::CloseReason;
use stoop_proto::h2;

use crate::conn::Sink;
use crate::conn::http2::exchanges::Exchanges;
use crate::conn::turn::{Turn, yield_turn};
use crate::conn::wire::Wire;
use crate::handler::Handler;
use crate::server::control::{Course, Registration};
use crate::server::core::{ConnectionParts, Core};

use exchange::Exchange;
use timeouts::Timeouts;

/// Rounds in a turn at most, however short they are.
const ROUNDS_MAX: u32 = 64;

/// Events read in a round, before their answers are sent.
const EVENTS_MAX: u32 = 256;

/// Drives one connection.
pub(in crate::server) struct Driver<H: Handler> {
    wire: Wire,
    core: Arc<Core<H>>,
    machine: h2::Connection,
    exchanges: Exchanges<Exchange<H>>,
    timeouts: Timeouts,
    stage: Stage,
    turn: Turn,
    at_end: bool,
    /// The time at the beginning of this poll.
    now: Instant,
    registration: Registration,
    /// Its place on its core, behind the transport because it is dropped after it.
    _balance: Option<stoop_io::ConnectionSlot>,
}

/// What a connection is up to.
enum Stage {
    Open,
    /// Everything is said, and still on its way.
    Closing,
    /// We have closed; the client gets time to read what we said.
    Lingering {
        left: u64,
        by: Instant,
    },
}

enum Round {
    Again,
    Wait,
    End,
}

impl<H: Handler> Driver<H> {
    pub(in crate::server) fn new(place: ConnectionParts<H>) -> Self {
        let ConnectionParts { wire, core, timer, registration, balance } = place;
        Self {
            wire: wire.steady(),
            machine: h2::Connection::server(&core.limits.wire),
            exchanges: Exchanges::new(Arc::default()),
            timeouts: Timeouts::new(timer),
            stage: Stage::Open,
            turn: Turn::default(),
            at_end: false,
            now: now(),
            core,
            registration,
            _balance: balance,
        }
    }

    /// Ready when the connection is over.
    pub(in crate::server) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        self.registration.take(cx.waker());
        self.exchanges.register(cx.waker());
        self.now = now();
        match self.core.control.course() {
            Course::Closing => {
                if self.machine.streams() > 0 || self.wire.unsent() > 0 {
                    self.core.control.cut_one_off();
                }
                self.wire.io.reset_on_close();
                return Poll::Ready(());
            }
            Course::Draining => self.machine.drain(self.now, CloseReason::Draining),
            Course::Running => {}
        }
        self.turn.begin();
        for _ in 0..ROUNDS_MAX {
            let round = match self.stage {
                Stage::Open => self.serve(cx),
                Stage::Closing => self.close(cx),
                Stage::Lingering { .. } => self.linger(cx),
            };
            match round {
                Round::Again | Round::Wait if self.turn.is_over() => break,
                Round::Again => {}
                Round::Wait => return Poll::Pending,
                Round::End => return Poll::Ready(()),
            }
        }
        yield_turn(cx);
        match self.flush(cx) {
            Poll::Ready(false) => Poll::Ready(()),
            _ => Poll::Pending,
        }
    }

    fn serve(&mut self, cx: &mut Context<'_>) -> Round {
        let mut moved = self.run_woken();
        let (read, wants_bytes) = self.read();
        moved |= read;
        moved |= self.send();
        moved |= self.transmit();
        if self.machine.is_closed() || self.machine.is_drained() {
            self.stage = Stage::Closing;
            return Round::Again;
        }
        if moved && !self.is_full() {
            return Round::Again;
        }
        let was_full = self.is_full();
        if self.flush(cx) == Poll::Ready(false) {
            return Round::End;
        }
        if moved || was_full && !self.is_full() {
            return Round::Again;
        }
        if !wants_bytes || self.at_end {
            return self.wait(cx);
        }
        match self.wire.io.poll_fill(cx, h2::FRAME_BYTES_MAX) {
            Poll::Ready(Ok(FillResult::Bytes(_))) => {
                self.timeouts.received();
                Round::Again
            }
            Poll::Ready(Ok(FillResult::End)) => {
                // A client of HTTP/2 does not half-close: it waits for nothing that is not sent yet.
                self.at_end = true;
                self.machine.receive_end();
                Round::Again
            }
            Poll::Ready(Ok(FillResult::Full) | Err(_)) => Round::End,
            Poll::Pending => self.wait(cx),
        }
    }

    /// Sends what the connection itself has to say. While the client takes nothing that waits in the
    /// machine, which reads no more once it is too much. True if there was something.
    fn transmit(&mut self) -> bool {
        let is_last = self.machine.is_closed() || self.machine.is_drained();
        let sends = self.machine.has_control() && (is_last || !self.is_full());
        if sends {
            let limits = &self.core.limits.wire;
            self.machine.transmit(self.now, limits, &mut Sink(&mut self.wire.out));
        }
        sends
    }

    fn close(&mut self, cx: &mut Context<'_>) -> Round {
        // What is left of exchanges is over: their handlers are dropped.
        drop(self.exchanges.drain());
        match self.wire.flush_last(cx, self.core.limits.output_bytes_max) {
            Poll::Pending => self.wait(cx),
            Poll::Ready(false) => Round::End,
            Poll::Ready(true) if self.at_end => Round::End,
            Poll::Ready(true) => {
                let (left, by) = self.timeouts.linger(&self.core.limits, self.now);
                self.stage = Stage::Lingering { left, by };
                Round::Again
            }
        }
    }

    /// Reads on behind the last that was said.
    fn linger(&mut self, cx: &mut Context<'_>) -> Round {
        let Stage::Lingering { left, .. } = &mut self.stage else { return Round::End };
        match self.wire.linger(cx, left) {
            Poll::Ready(true) => Round::Again,
            Poll::Ready(false) => Round::End,
            Poll::Pending => self.wait(cx),
        }
    }

    fn is_full(&self) -> bool {
        self.wire.is_full(self.core.limits.output_bytes_max)
    }

    fn flush(&mut self, cx: &mut Context<'_>) -> Poll<bool> {
        self.wire.flush(cx, self.core.limits.output_bytes_max)
    }

    /// Gives memory back that an idle connection has no use for.
    fn rest(&mut self) {
        if self.exchanges.rest() {
            self.machine.shrink();
        }
    }
}
