//! A simulated connection with latency, split reads and writes, and faults, the same for each seed.
//!
//! Time is the runtime's, so with a paused clock a second of latency costs nothing. Without
//! latency no runtime is needed at all.
//!
//! Not here: losing or reordering bytes, which TCP hides from its users; and more than one
//! connection.

mod direction;
mod link;
mod log;

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use bytes::{Buf, Bytes, BytesMut};

use crate::any_transport::AnyTransport;
use crate::output::Output;
use crate::timer::{Timer, now};
use crate::transport::{FillResult, Liveness, LivenessCheck, PeerAddress, Transport};

use direction::{Available, SimDirection};
pub use link::{Link, LinkFault, Split};
pub use log::{SimLog, Way, Write};

/// One end of a simulated connection.
///
/// It closes as [`Memory`](crate::Memory) does: dropping an end with bytes that it has not consumed
/// resets the connection, at once; otherwise the peer reads what was sent, then the end.
pub struct Sim {
    connection: Arc<Mutex<SimConnection>>,
    side: usize,
    held: BytesMut,
    timer: Timer,
}

/// The state that both ends share.
struct SimConnection {
    directions: [SimDirection; 2],
    reset: bool,
}

impl Sim {
    /// A connection: what the first end sends goes over `there`, what it receives comes over
    /// `back`. The log records what passed.
    pub fn pair(seed: u64, there: &Link, back: &Link) -> (Self, Self, SimLog) {
        let log = SimLog::new(now());
        // The directions must not draw the same numbers.
        let directions = [
            SimDirection::new(Way::There, there, seed, &log),
            SimDirection::new(Way::Back, back, !seed, &log),
        ];
        let connection = Arc::new(Mutex::new(SimConnection { directions, reset: false }));
        let end = |side| Self {
            connection: Arc::clone(&connection),
            side,
            held: BytesMut::new(),
            timer: Timer::precise(),
        };
        (end(0), end(1), log)
    }

    /// Breaks the connection: reads and writes of both ends fail with `ConnectionReset`.
    pub fn reset(self) {
        lock(&self.connection).break_connection();
    }
}

fn lock(connection: &Mutex<SimConnection>) -> MutexGuard<'_, SimConnection> {
    connection.lock().unwrap_or_else(PoisonError::into_inner)
}

impl SimConnection {
    fn break_connection(&mut self) {
        self.reset = true;
        for direction in &mut self.directions {
            direction.clear();
        }
    }
}

impl Transport for Sim {
    fn poll_fill(&mut self, cx: &mut Context<'_>, room: usize) -> Poll<io::Result<FillResult>> {
        let room = room.saturating_sub(self.held.len());
        loop {
            let mut connection = lock(&self.connection);
            if connection.reset {
                return Poll::Ready(Err(io::ErrorKind::ConnectionReset.into()));
            }
            let direction = &mut connection.directions[1 - self.side];
            if direction.link.fault == LinkFault::ResetAfter(0) {
                connection.break_connection();
                continue;
            }
            direction.reader = Some(cx.waker().clone());
            let available = match direction.available() {
                Available::End => return Poll::Ready(Ok(FillResult::End)),
                Available::Bytes(_) if room == 0 => return Poll::Ready(Ok(FillResult::Full)),
                Available::Bytes(n) => n,
                Available::Nothing => return Poll::Pending,
                Available::NotBefore(at) => {
                    drop(connection);
                    if self.timer.poll(cx, Some(at)).is_pending() {
                        return Poll::Pending;
                    }
                    continue;
                }
            };
            let n = direction.reads.next(&mut direction.random).min(available).min(room);
            direction.deliver(n, &mut self.held);
            direction.wake();
            if direction.link.fault == LinkFault::ResetAfter(direction.delivered) {
                connection.break_connection();
            }
            return Poll::Ready(Ok(FillResult::Bytes(n)));
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

    /// Accepts one piece a poll, so that a writer that assumes that all of it leaves fails its test.
    fn poll_flush(&mut self, cx: &mut Context<'_>, out: &mut Output) -> Poll<io::Result<()>> {
        if out.is_empty() {
            return Poll::Ready(Ok(()));
        }
        out.refuse_files()?;
        let mut connection = lock(&self.connection);
        if connection.reset {
            return Poll::Ready(Err(io::ErrorKind::ConnectionReset.into()));
        }
        let direction = &mut connection.directions[self.side];
        if direction.ended.is_some() || direction.reader_gone {
            return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
        }
        let window = direction.window();
        if window == 0 {
            direction.writer = Some(cx.waker().clone());
            return Poll::Pending;
        }
        let n = direction.writes.next(&mut direction.random).min(window).min(out.len());
        direction.accept(n, out);
        direction.wake();
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
        let mut connection = lock(&self.connection);
        let direction = &mut connection.directions[self.side];
        if direction.ended.is_none() {
            direction.ended = Some(direction.arrival());
        }
        direction.wake();
        Poll::Ready(Ok(()))
    }

    fn liveness(&mut self, _: LivenessCheck) -> Liveness {
        let connection = lock(&self.connection);
        if connection.reset {
            return Liveness::Dead;
        }
        if !self.held.is_empty() {
            return Liveness::Readable;
        }
        match connection.directions[1 - self.side].available() {
            Available::Bytes(_) => Liveness::Readable,
            Available::End => Liveness::Dead,
            _ if connection.directions[self.side].reader_gone => Liveness::Dead,
            _ => Liveness::Quiet,
        }
    }

    fn has_failed(&self) -> bool {
        lock(&self.connection).reset
    }

    fn peer(&self) -> PeerAddress {
        PeerAddress::Memory
    }
}

impl Drop for Sim {
    fn drop(&mut self) {
        let mut connection = lock(&self.connection);
        let incoming = &mut connection.directions[1 - self.side];
        incoming.reader_gone = true;
        if !self.held.is_empty() || matches!(incoming.available(), Available::Bytes(_)) {
            return connection.break_connection();
        }
        incoming.wake();
        let outgoing = &mut connection.directions[self.side];
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
