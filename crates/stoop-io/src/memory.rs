//! A connected pair of transports in memory.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use bytes::{Buf, Bytes, BytesMut};

use crate::any_transport::AnyTransport;
use crate::buffer::SHARE_MIN;
use crate::output::Output;
use crate::transport::{FillResult, Liveness, LivenessCheck, PeerAddress, Transport};

/// Bytes that a pair holds in each direction by default.
pub const MEMORY_BYTES: usize = 64 * 1024;

/// One end of an in-memory connection.
///
/// It behaves as a socket does. Bytes that fill the peer's capacity stop the writer until it reads.
/// A shutdown ends one direction: the peer reads what was sent, then the end. So does dropping an
/// end, and the peer's writes then fail with `BrokenPipe`; but dropping an end with bytes that it
/// has not consumed resets the connection, as a kernel does: what was under way to the peer is lost
/// and its reads and writes fail with `ConnectionReset`.
pub struct Memory {
    directions: Arc<Mutex<Directions>>,
    /// Index of the direction that this end writes; it reads the other one.
    side: usize,
    held: BytesMut,
    peer: PeerAddress,
}

type Directions = [Direction; 2];

/// The bytes under way from one end to the other.
struct Direction {
    bytes: BytesMut,
    capacity: usize,
    state: DirectionState,
    reader: Option<Waker>,
    writer: Option<Waker>,
}

/// How far a direction is.
#[derive(Clone, Copy, PartialEq)]
enum DirectionState {
    Open,
    /// The writer ended it, or is gone.
    Ended,
    /// The reader is gone.
    Unread,
    Reset,
}

impl Memory {
    /// Two connected ends which hold up to `capacity` bytes each way, at least one; [`MEMORY_BYTES`] by
    /// default.
    pub fn pair(capacity: usize) -> (Self, Self) {
        let direction = || Direction {
            bytes: BytesMut::new(),
            capacity: capacity.max(1),
            state: DirectionState::Open,
            reader: None,
            writer: None,
        };
        let directions = Arc::new(Mutex::new([direction(), direction()]));
        let end = |side| Self {
            directions: Arc::clone(&directions),
            side,
            held: BytesMut::new(),
            peer: PeerAddress::Memory,
        };
        (end(0), end(1))
    }

    /// The same, with this as the address of its peer.
    pub fn with_peer(mut self, peer: PeerAddress) -> Self {
        self.peer = peer;
        self
    }

    /// Breaks the connection: both directions lose what is under way, and the peer's reads and
    /// writes fail with `ConnectionReset`.
    pub fn reset(self) {
        self.close(DirectionState::Reset);
    }

    fn close(&self, how: DirectionState) {
        let mut directions = lock(&self.directions);
        let mut wakers = Vec::with_capacity(4);
        for (side, direction) in directions.iter_mut().enumerate() {
            direction.state = match (direction.state, how) {
                (DirectionState::Reset, _) | (_, DirectionState::Reset) => DirectionState::Reset,
                _ if side == self.side => DirectionState::Ended,
                _ => DirectionState::Unread,
            };
            if direction.state != DirectionState::Ended {
                direction.bytes = BytesMut::new();
            }
            wakers.extend(direction.reader.take());
            wakers.extend(direction.writer.take());
        }
        drop(directions);
        wakers.into_iter().for_each(Waker::wake);
    }

    fn incoming(&self) -> usize {
        1 - self.side
    }
}

/// Neither end panics in the middle of a change, so a poisoned lock is as good as any.
fn lock(directions: &Mutex<Directions>) -> MutexGuard<'_, Directions> {
    directions.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Stores the task's waker and returns the one before, to be dropped without the lock: dropping it may
/// run any code, such as the drop of the other end.
#[must_use]
fn wait(slot: &mut Option<Waker>, cx: &Context<'_>) -> Option<Waker> {
    slot.replace(cx.waker().clone())
}

impl Transport for Memory {
    fn poll_fill(&mut self, cx: &mut Context<'_>, room: usize) -> Poll<io::Result<FillResult>> {
        let room = room.saturating_sub(self.held.len());
        let mut directions = lock(&self.directions);
        let direction = &mut directions[self.incoming()];
        let n = room.min(direction.bytes.len());
        match direction.state {
            DirectionState::Reset => {
                return Poll::Ready(Err(io::ErrorKind::ConnectionReset.into()));
            }
            _ if room == 0 => return Poll::Ready(Ok(FillResult::Full)),
            DirectionState::Ended if n == 0 => return Poll::Ready(Ok(FillResult::End)),
            _ if n == 0 => {
                let old = wait(&mut direction.reader, cx);
                drop(directions);
                drop(old);
                return Poll::Pending;
            }
            _ => {}
        }
        if self.held.is_empty() && n == direction.bytes.len() {
            self.held = std::mem::take(&mut direction.bytes);
        } else {
            self.held.extend_from_slice(&direction.bytes[..n]);
            direction.bytes.advance(n);
        }
        let writer = direction.writer.take();
        drop(directions);
        if let Some(writer) = writer {
            writer.wake();
        }
        Poll::Ready(Ok(FillResult::Bytes(n)))
    }

    fn received(&self) -> &[u8] {
        &self.held
    }

    fn consume(&mut self, n: usize) {
        self.held.advance(n);
        if self.held.is_empty() {
            self.held = BytesMut::new();
        }
    }

    fn take(&mut self, n: usize) -> Bytes {
        if n == self.held.len() {
            return std::mem::take(&mut self.held).freeze();
        }
        if n >= SHARE_MIN {
            return self.held.split_to(n).freeze();
        }
        let piece = Bytes::copy_from_slice(&self.held[..n]);
        self.consume(n);
        piece
    }

    fn poll_flush(&mut self, cx: &mut Context<'_>, out: &mut Output) -> Poll<io::Result<()>> {
        if out.is_empty() {
            return Poll::Ready(Ok(()));
        }
        out.refuse_files()?;
        let mut directions = lock(&self.directions);
        let direction = &mut directions[self.side];
        match direction.state {
            DirectionState::Reset => {
                return Poll::Ready(Err(io::ErrorKind::ConnectionReset.into()));
            }
            DirectionState::Ended | DirectionState::Unread => {
                return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
            }
            DirectionState::Open => {}
        }
        let mut free = direction.capacity - direction.bytes.len();
        let reader = if free > 0 { direction.reader.take() } else { None };
        direction.bytes.reserve(free.min(out.len()));
        while free > 0 && !out.is_empty() {
            let n = free.min(out.front().len());
            direction.bytes.extend_from_slice(&out.front()[..n]);
            out.advance(n);
            free -= n;
        }
        let old = if out.is_empty() { None } else { wait(&mut direction.writer, cx) };
        drop(directions);
        drop(old);
        if let Some(reader) = reader {
            reader.wake();
        }
        if out.is_empty() { Poll::Ready(Ok(())) } else { Poll::Pending }
    }

    fn unsent(&self) -> usize {
        0
    }

    fn poll_shutdown(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut directions = lock(&self.directions);
        let direction = &mut directions[self.side];
        if direction.state == DirectionState::Open {
            direction.state = DirectionState::Ended;
        }
        let reader = direction.reader.take();
        drop(directions);
        if let Some(reader) = reader {
            reader.wake();
        }
        Poll::Ready(Ok(()))
    }

    fn liveness(&mut self, _: LivenessCheck) -> Liveness {
        let directions = lock(&self.directions);
        let (incoming, outgoing) = (&directions[self.incoming()], &directions[self.side]);
        if incoming.state == DirectionState::Reset {
            Liveness::Dead
        } else if !self.held.is_empty() || !incoming.bytes.is_empty() {
            Liveness::Readable
        } else if incoming.state == DirectionState::Ended
            || outgoing.state == DirectionState::Unread
        {
            Liveness::Dead
        } else {
            Liveness::Quiet
        }
    }

    fn has_failed(&self) -> bool {
        lock(&self.directions)[self.incoming()].state == DirectionState::Reset
    }

    fn peer(&self) -> PeerAddress {
        self.peer
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        let unread =
            !self.held.is_empty() || !lock(&self.directions)[self.incoming()].bytes.is_empty();
        self.close(if unread { DirectionState::Reset } else { DirectionState::Ended });
    }
}

impl From<Memory> for AnyTransport {
    fn from(memory: Memory) -> Self {
        Self::Custom(Box::new(memory))
    }
}
