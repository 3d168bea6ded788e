//! What a connection holds of what was received or is to be sent, and the buffers that its thread lends it.

use std::cell::{Cell, RefCell};
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::AsyncWrite;

/// Bytes that one read takes at most. The buffer is a thread's and not a connection's.
const READ_BYTES: usize = 64 * 1024;

/// Buffers for sending that a thread keeps: of connections whose peers do not read at once.
const KEPT_MAX: usize = 8;

/// The capacity up to which such a buffer is kept.
const KEPT_BYTES_MAX: usize = 64 * 1024;

type ReadBuffer = Box<[u8; READ_BYTES]>;

thread_local! {
    static READ: Cell<Option<ReadBuffer>> = const { Cell::new(None) };
    /// The buffer for sending that was given back last: the only one where all peers read at once.
    static LAST: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
    static KEPT: RefCell<Vec<Vec<u8>>> = const { RefCell::new(Vec::new()) };
}

/// Lends the thread's buffer for reading.
#[inline]
pub(crate) fn with_read_buffer<R>(work: impl FnOnce(&mut [u8]) -> R) -> R {
    // Taken, not borrowed: a transport may be another connection of this crate.
    let mut buffer = READ.take().unwrap_or_else(new_read_buffer);
    let result = work(&mut buffer[..]);
    READ.set(Some(buffer));
    result
}

#[cold]
fn new_read_buffer() -> ReadBuffer {
    let Ok(buffer) = vec![0; READ_BYTES].try_into() else { unreachable!("it has that length") };
    buffer
}

/// An empty buffer for sending: one that was given back, or a new one.
#[inline]
fn take_kept() -> Vec<u8> {
    let last = LAST.take();
    if last.capacity() > 0 {
        return last;
    }
    KEPT.with_borrow_mut(Vec::pop).unwrap_or_default()
}

/// Gives a buffer for sending back.
#[inline]
fn give_back(mut bytes: Vec<u8>) {
    if !(1..=KEPT_BYTES_MAX).contains(&bytes.capacity()) {
        return;
    }
    bytes.clear();
    let before = LAST.replace(bytes);
    if before.capacity() > 0 {
        KEPT.with_borrow_mut(|kept| {
            if kept.len() < KEPT_MAX - 1 {
                kept.push(before);
            }
        });
    }
}

/// Received bytes that are not used up: those behind a message that the caller has not asked for yet, and the beginning
/// of a frame. Without any it has no memory.
#[derive(Default)]
pub(crate) struct Inbox {
    bytes: Vec<u8>,
    used: usize,
}

impl Inbox {
    pub(crate) fn is_empty(&self) -> bool {
        self.used == self.bytes.len()
    }

    pub(crate) fn unread(&mut self) -> &mut [u8] {
        &mut self.bytes[self.used..]
    }

    pub(crate) fn consume(&mut self, n: usize) {
        self.used += n;
        if self.is_empty() {
            *self = Self::default();
        }
    }

    /// Replaces what is here.
    #[inline]
    pub(crate) fn keep(&mut self, unread: &[u8]) {
        if !unread.is_empty() || self.bytes.capacity() > 0 {
            *self = Self { bytes: unread.to_vec(), used: 0 };
        }
    }
}

/// Bytes that are to be sent. Without any it has no memory.
#[derive(Default)]
pub(crate) struct Outbox {
    bytes: Vec<u8>,
    sent: usize,
}

impl Outbox {
    /// Bytes that wait.
    pub(crate) fn len(&self) -> usize {
        self.bytes.len() - self.sent
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The buffer, to append to.
    #[inline]
    pub(crate) fn buffer(&mut self) -> &mut Vec<u8> {
        if self.bytes.capacity() == 0 {
            self.bytes = take_kept();
            return &mut self.bytes;
        }
        // Else a peer that reads slowly and never all would make it grow without end.
        if self.sent > self.bytes.len() / 2 {
            self.bytes.drain(..self.sent);
            self.sent = 0;
        }
        &mut self.bytes
    }

    /// Forgets everything.
    #[inline]
    pub(crate) fn clear(&mut self) {
        give_back(std::mem::take(self).bytes);
    }

    /// Writes everything.
    #[inline]
    pub(crate) fn poll_write(
        &mut self,
        io: &mut (impl AsyncWrite + Unpin),
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        while !self.is_empty() {
            let written = Pin::new(&mut *io).poll_write(cx, &self.bytes[self.sent..]);
            self.advance(ready!(written)?)?;
        }
        Poll::Ready(Ok(()))
    }

    /// Writes everything and `payload` behind it, as far as it goes at once, and keeps what is left.
    pub(crate) fn write_with(
        &mut self,
        payload: &[u8],
        io: &mut (impl AsyncWrite + Unpin),
        cx: &mut Context<'_>,
    ) -> io::Result<()> {
        let mut rest = payload;
        while !rest.is_empty() {
            let slices = [IoSlice::new(&self.bytes[self.sent..]), IoSlice::new(rest)];
            let polled = match self.is_empty() {
                false if io.is_write_vectored() => {
                    Pin::new(&mut *io).poll_write_vectored(cx, &slices)
                }
                false => Pin::new(&mut *io).poll_write(cx, &slices[0]),
                true => Pin::new(&mut *io).poll_write(cx, rest),
            };
            let Poll::Ready(written) = polled else { break };
            let written = written?;
            let of_these = written.min(self.len());
            if of_these > 0 {
                self.advance(of_these)?;
            } else if written == 0 {
                return Err(io::ErrorKind::WriteZero.into());
            }
            rest = &rest[written - of_these..];
        }
        if !rest.is_empty() {
            self.buffer().extend_from_slice(rest);
        }
        Ok(())
    }

    #[inline]
    fn advance(&mut self, n: usize) -> io::Result<()> {
        if n == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
        self.sent += n;
        if self.is_empty() {
            self.clear();
        }
        Ok(())
    }
}
