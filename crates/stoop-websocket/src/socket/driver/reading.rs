//! What comes from a stream is given to the machine.

use std::future::Future;
use std::io;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};

use bytes::BufMut;
use stoop::rt::Turn;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, ReadBuf};

use crate::machine::{Event, Machine, Received};
use crate::socket::buffers::with_read_buffer;
use crate::socket::driver::{ReadResult, SocketDriver};

/// Bytes that are missing of a payload from which on it is read into its message, and not copied there.
const DIRECT_BYTES_MIN: u64 = 8 * 1024;

/// Bytes that are decompressed in one step of a turn, into a thousand times as many at worst.
const COMPRESSED_STEP_BYTES: usize = 4 * 1024;

impl<S: AsyncRead + AsyncWrite + Unpin> SocketDriver<S> {
    /// What the bytes that are here come to.
    pub(super) fn next_received(&mut self) -> Option<Event> {
        if self.inbox.is_empty() {
            return None;
        }
        let received = receive(&mut self.machine, &mut self.turn, self.inbox.unread());
        self.inbox.consume(received.consumed);
        received.event
    }

    /// Reads what has come.
    pub(super) fn poll_read(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<ReadResult>> {
        if self.inbox.is_empty()
            && let Some((payload, missing)) = self.machine.direct()
            && missing >= DIRECT_BYTES_MIN
        {
            if payload.capacity() == payload.len() {
                // It doubles, so that memory is for what has come and not for what is announced.
                payload.reserve(usize::try_from(missing).unwrap_or(usize::MAX).min(payload.len()));
            }
            let room = usize::try_from(missing).unwrap_or(usize::MAX);
            let mut into = payload.limit(room);
            let n = ready!(pin!(self.io.read_buf(&mut into)).poll(cx))?;
            if n == 0 {
                return Poll::Ready(Ok(ReadResult::End));
            }
            self.watch.note_received();
            let event = self.machine.filled(n);
            return Poll::Ready(Ok(event.map_or(ReadResult::Bytes, ReadResult::Event)));
        }
        with_read_buffer(|buffer| {
            let begun = self.inbox.unread().len();
            let mut into = ReadBuf::new(&mut buffer[begun..]);
            ready!(Pin::new(&mut self.io).poll_read(cx, &mut into))?;
            let n = into.filled().len();
            if n == 0 {
                return Poll::Ready(Ok(ReadResult::End));
            }
            self.watch.note_received();
            if begun > 0 {
                buffer[..begun].copy_from_slice(self.inbox.unread());
            }
            let received = receive(&mut self.machine, &mut self.turn, &mut buffer[..begun + n]);
            self.inbox.keep(&buffer[received.consumed..begun + n]);
            let read = received.event.map_or(ReadResult::Bytes, ReadResult::Event);
            Poll::Ready(Ok(read))
        })
    }
}

/// Reads up to the first event, or as far as the turn goes where much may be decompressed.
#[inline]
fn receive(machine: &mut Machine, turn: &mut Turn, input: &mut [u8]) -> Received {
    match machine.may_inflate() {
        true => receive_in_steps(machine, turn, input),
        false => machine.receive(input),
    }
}

fn receive_in_steps(machine: &mut Machine, turn: &mut Turn, input: &mut [u8]) -> Received {
    let mut consumed = 0;
    loop {
        let rest = &mut input[consumed..];
        let len = rest.len().min(COMPRESSED_STEP_BYTES);
        let is_last = len == rest.len();
        let received = machine.receive(&mut rest[..len]);
        consumed += received.consumed;
        if received.event.is_some() || is_last || turn.long_step() {
            return Received { consumed, event: received.event };
        }
    }
}
