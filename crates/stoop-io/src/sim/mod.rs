//! A simulated connection: late, in pieces, and with faults, the same way for each seed.
//!
//! Time is the runtime's, so with a paused clock a second of latency costs nothing. Without
//! latency no runtime is needed at all.
//!
//! Not here: losing or reordering bytes, which TCP does not do to those who use it; and more than
//! one connection.

mod link;
mod log;
mod wire;

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use bytes::{Buf, Bytes, BytesMut};

use crate::any_transport::AnyTransport;
use crate::output::Output;
use crate::timer::{Timer, now};
use crate::transport::{Filled, Liveness, Look, Peer, Transport};

pub use link::{Fault, Link, Split};
pub use log::{Log, Way, Write};
use wire::{Found, Wire};

/// One end of a simulated connection.
///
/// It closes as [`Memory`](crate::Memory) does: dropping an end with bytes that it has not consumed
/// resets the connection, at once; otherwise the peer reads what was sent, then the end.
pub struct Sim {
    net: Arc<Mutex<Net>>,
    side: usize,
    held: BytesMut,
    timer: Timer,
}

struct Net {
    wires: [Wire; 2],
    reset: bool,
}

impl Sim {
    /// A connection: what the first end sends goes over `there`, what it receives comes over
    /// `back`. The log tells what passed.
    pub fn pair(seed: u64, there: &Link, back: &Link) -> (Self, Self, Log) {
        let log = Log::new(now());
        // The directions must not draw the same numbers.
        let wires =
            [Wire::new(Way::There, there, seed, &log), Wire::new(Way::Back, back, !seed, &log)];
        let net = Arc::new(Mutex::new(Net { wires, reset: false }));
        let end = |side| Self {
            net: Arc::clone(&net),
            side,
            held: BytesMut::new(),
            timer: Timer::precise(),
        };
        (end(0), end(1), log)
    }

    /// Breaks the connection: reads and writes of both ends fail with `ConnectionReset`.
    pub fn reset(self) {
        lock(&self.net).break_down();
    }
}

fn lock(net: &Mutex<Net>) -> MutexGuard<'_, Net> {
    net.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Net {
    fn break_down(&mut self) {
        self.reset = true;
        for wire in &mut self.wires {
            wire.cut();
        }
    }
}

impl Transport for Sim {
    fn poll_fill(&mut self, cx: &mut Context<'_>, room: usize) -> Poll<io::Result<Filled>> {
        let room = room.saturating_sub(self.held.len());
        loop {
            let mut net = lock(&self.net);
            if net.reset {
                return Poll::Ready(Err(io::ErrorKind::ConnectionReset.into()));
            }
            let wire = &mut net.wires[1 - self.side];
            if wire.link.fault == Fault::ResetAfter(0) {
                net.break_down();
                continue;
            }
            wire.reader = Some(cx.waker().clone());
            let available = match wire.look() {
                Found::End => return Poll::Ready(Ok(Filled::End)),
                Found::Bytes(_) if room == 0 => return Poll::Ready(Ok(Filled::Full)),
                Found::Bytes(n) => n,
                Found::Nothing => return Poll::Pending,
                Found::NotBefore(at) => {
                    drop(net);
                    if self.timer.poll(cx, Some(at)).is_pending() {
                        return Poll::Pending;
                    }
                    continue;
                }
            };
            let n = wire.reads.next(&mut wire.random).min(available).min(room);
            wire.deliver(n, &mut self.held);
            wire.wake();
            if wire.link.fault == Fault::ResetAfter(wire.delivered) {
                net.break_down();
            }
            return Poll::Ready(Ok(Filled::Bytes(n)));
        }
    }

    fn received(&self) -> &[u8] {
        &self.held
    }

    fn consume(&mut self, n: usize) {
        self.held.advance(n);
    }

    fn take(&mut self, n: usize) -> Bytes {
        self.held.split_to(n).freeze()
    }

    /// Accepts one piece a poll: a writer that assumes that all of it leaves is found out.
    fn poll_flush(&mut self, cx: &mut Context<'_>, out: &mut Output) -> Poll<io::Result<()>> {
        if out.is_empty() {
            return Poll::Ready(Ok(()));
        }
        let mut net = lock(&self.net);
        if net.reset {
            return Poll::Ready(Err(io::ErrorKind::ConnectionReset.into()));
        }
        let wire = &mut net.wires[self.side];
        if wire.ended.is_some() || wire.reader_gone {
            return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
        }
        let window = wire.window();
        if window == 0 {
            wire.writer = Some(cx.waker().clone());
            return Poll::Pending;
        }
        let n = wire.writes.next(&mut wire.random).min(window).min(out.len());
        wire.accept(n, out);
        wire.wake();
        if out.is_empty() {
            return Poll::Ready(Ok(()));
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    fn unsent(&self) -> usize {
        0
    }

    fn poll_shutdown(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut net = lock(&self.net);
        let wire = &mut net.wires[self.side];
        if wire.ended.is_none() {
            wire.ended = Some(wire.arrival());
        }
        wire.wake();
        Poll::Ready(Ok(()))
    }

    fn liveness(&mut self, _: Look) -> Liveness {
        let net = lock(&self.net);
        if net.reset {
            return Liveness::Dead;
        }
        if !self.held.is_empty() {
            return Liveness::Readable;
        }
        match net.wires[1 - self.side].look() {
            Found::Bytes(_) => Liveness::Readable,
            Found::End => Liveness::Dead,
            _ if net.wires[self.side].reader_gone => Liveness::Dead,
            _ => Liveness::Quiet,
        }
    }

    fn has_failed(&self) -> bool {
        lock(&self.net).reset
    }

    fn peer(&self) -> Peer {
        Peer::Memory
    }
}

impl Drop for Sim {
    fn drop(&mut self) {
        let mut net = lock(&self.net);
        let incoming = &mut net.wires[1 - self.side];
        incoming.reader_gone = true;
        if !self.held.is_empty() || matches!(incoming.look(), Found::Bytes(_)) {
            return net.break_down();
        }
        incoming.wake();
        let outgoing = &mut net.wires[self.side];
        if outgoing.ended.is_none() {
            outgoing.ended = Some(outgoing.arrival());
        }
        outgoing.wake();
    }
}

impl From<Sim> for AnyTransport {
    fn from(sim: Sim) -> Self {
        Self::Custom(Box::new(sim))
    }
}

#[cfg(test)]
mod tests;
