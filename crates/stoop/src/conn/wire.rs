//! What a connection's bytes come from and go to, and how much may be on its way.

use std::io;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use stoop_io::{AnyTransport, FileError, FillResult, Output, Transport};

use crate::connection_info::CarriedBytes;
use crate::limits::after;

/// For a peer that takes everything as soon as it is there, output is gathered up to four times
/// the limit: sixteen calls of 64 KiB cost nearly twice what one of 1 MiB does.
const DOUBLINGS_MAX: u8 = 2;

/// A connection that idled for less is checked without a system call; a retry covers what that misses.
pub(crate) const LIVENESS_CACHE: Duration = Duration::from_millis(1);

/// How often it is looked at whether a peer takes output, within the time that it has for it. What is on the way when the
/// wait begins arrives a moment later, and is no reason to wait for all of that time again.
const LOOKS: u8 = 16;

/// How many bytes a kernel takes that nothing reads, at least.
const TAKEN_AT_ONCE: i64 = 64 << 10;

/// A transport, and what is to be sent by it.
pub(crate) struct Wire {
    pub(crate) io: AnyTransport,
    pub(crate) out: Output,
    /// How often the limit of output was doubled, and may be.
    limit_doublings: u8,
    doublings_max: u8,
    /// How often it was looked whether the peer has taken any, since it was found to be stuck.
    looks: u8,
    /// Since when the peer has taken nothing of the output.
    stuck: Option<Instant>,
    /// Bytes of the output that the transport has taken.
    taken: u64,
    /// Bytes that it has received.
    received: u64,
    /// How many of those [written](Self::written) the peer's kernel had acknowledged at the last check.
    arrived: i64,
    /// Why the output failed, if a file in it did and not the transport.
    file_error: Option<FileError>,
    /// Bytes acknowledged when the last PING was written; the most there can be unless others were on their way before it.
    acknowledged_at_ping: i64,
}

/// A place in what a connection sends.
pub(crate) enum Mark {
    /// After so many bytes that are the connection's own.
    Output(u64),
    /// After so many bytes that are the transport's: with what TLS adds.
    Transport(i64),
}

impl Wire {
    /// What the transport has received already is this connection's: what came behind the header of a proxy.
    pub(crate) fn new(io: AnyTransport) -> Self {
        let received = io.received().len() as u64;
        Self {
            io,
            out: Output::default(),
            limit_doublings: 0,
            doublings_max: DOUBLINGS_MAX,
            looks: 0,
            stuck: None,
            taken: 0,
            received,
            arrived: 0,
            file_error: None,
            acknowledged_at_ping: i64::MAX,
        }
    }

    /// The same, and never gathers more than the limit: over HTTP/2, where content comes in frames of
    /// 16 KiB anyway, larger calls push what is to be sent out of the processor's cache.
    pub(crate) fn with_fixed_limit(self) -> Self {
        Self { limit_doublings: 0, doublings_max: 0, ..self }
    }

    /// How much is on its way to the peer and not the kernel's yet.
    #[inline]
    pub(crate) fn unsent(&self) -> usize {
        self.out.len() + self.io.unsent()
    }

    /// Whether so much is held for the peer that nothing more is begun, by the limit `max`.
    #[inline]
    pub(crate) fn is_full(&self, max: usize) -> bool {
        self.out.held() + self.io.held() >= max.saturating_mul(1 << self.limit_doublings)
    }

    /// Sends the output. Ready with true if all was sent, and with false if the transport failed.
    pub(crate) fn flush(&mut self, cx: &mut Context<'_>, max: usize) -> Poll<bool> {
        if self.unsent() == 0 {
            return Poll::Ready(true);
        }
        self.try_flush(cx, max).map(|sent| sent.is_ok())
    }

    /// The same, and tells why it failed.
    pub(crate) fn try_flush(&mut self, cx: &mut Context<'_>, max: usize) -> Poll<io::Result<()>> {
        self.flush_by(cx, max, AnyTransport::poll_flush)
    }

    /// The same, when nothing will follow.
    pub(crate) fn flush_last(&mut self, cx: &mut Context<'_>, max: usize) -> Poll<bool> {
        self.flush_by(cx, max, AnyTransport::poll_flush_last).map(|sent| sent.is_ok())
    }

    fn flush_by(
        &mut self,
        cx: &mut Context<'_>,
        max: usize,
        flush: fn(&mut AnyTransport, &mut Context<'_>, &mut Output) -> Poll<io::Result<()>>,
    ) -> Poll<io::Result<()>> {
        let output = self.out.len();
        let before = self.stuck.map(|_| self.written());
        let was_full = self.is_full(max);
        let flushed = flush(&mut self.io, cx, &mut self.out);
        self.limit_doublings = match flushed {
            Poll::Ready(_) if was_full => (self.limit_doublings + 1).min(self.doublings_max),
            Poll::Ready(_) => self.limit_doublings,
            Poll::Pending => 0,
        };
        if let Poll::Ready(Err(error)) = &flushed {
            self.file_error = FileError::of(error);
        }
        self.taken += output.saturating_sub(self.out.len()) as u64;
        if before.is_some_and(|before| self.written() > before) {
            self.stuck = None;
        }
        flushed
    }

    /// The error of a file by which the last flush has failed: then the peer is not at fault. Returned once.
    pub(crate) fn take_file_error(&mut self) -> Option<FileError> {
        self.file_error.take()
    }

    /// Waits for more bytes, of which `room` may be there unconsumed.
    #[inline]
    pub(crate) fn poll_fill(
        &mut self,
        cx: &mut Context<'_>,
        room: usize,
    ) -> Poll<io::Result<FillResult>> {
        let filled = self.io.poll_fill(cx, room);
        if let Poll::Ready(Ok(FillResult::Bytes(n))) = filled {
            self.received += n as u64;
        }
        filled
    }

    /// What it has carried in all.
    pub(crate) fn carried(&self) -> CarriedBytes {
        CarriedBytes { sent: self.taken, received: self.received }
    }

    /// When to look whether the peer [is stuck](Self::is_stuck), if there is something to take.
    pub(crate) fn send_due(&mut self, now: Instant, allowed: Duration) -> Option<Instant> {
        if self.unsent() == 0 {
            return None;
        }
        self.begin_wait(now);
        let next = allowed / u32::from(LOOKS) * u32::from(self.looks + 1);
        self.stuck.map(|since| after(since, next))
    }

    /// Looks whether the peer has taken nothing for as long as it is allowed to. It is asked when it
    /// [is due](Self::send_due): the answer is late by a sixteenth of that time at most.
    pub(crate) fn is_stuck(&mut self, now: Instant, allowed: Duration) -> bool {
        if self.check_progress() {
            return false;
        }
        // What is beyond the last look is one that came early.
        self.looks = (self.looks + 1).min(LOOKS - 1);
        self.stuck.is_some_and(|since| now >= after(since, allowed))
    }

    /// Starts the wait for the peer to take output, if it has not started.
    pub(crate) fn begin_wait(&mut self, now: Instant) {
        if self.stuck.is_none() {
            (self.stuck, self.looks) = (Some(now), 0);
            self.arrived = self.has_arrived();
        }
    }

    /// Ends the wait if the peer has taken output since the last check, and returns whether it has. A kernel
    /// that has taken much at once takes nothing for long, though a slow peer takes what is in it.
    pub(crate) fn check_progress(&mut self) -> bool {
        let arrived = self.has_arrived();
        let moved = arrived > self.arrived;
        self.arrived = arrived;
        if moved {
            self.stuck = None;
        }
        moved
    }

    /// Whether the peer has taken some of what was written since the last look, or, if there was none, some of much that was
    /// written from a position on: what is short its kernel takes at once, whether it is read or not.
    pub(crate) fn is_taking(&mut self, from: Option<i64>) -> bool {
        let arrived = self.has_arrived();
        let before = std::mem::replace(&mut self.arrived, arrived);
        match from {
            Some(from) => arrived > from && self.position() - from > TAKEN_AT_ONCE,
            None => arrived > before,
        }
    }

    /// Notes that a PING is written behind all that is on its way.
    pub(crate) fn note_ping(&mut self) {
        self.acknowledged_at_ping = if self.backlog() > 0 { self.has_arrived() } else { i64::MAX };
    }

    /// Whether the peer may not have read the PING yet, because it still takes what was sent before. Then the
    /// wait for its answer starts again.
    pub(crate) fn renew_ping(&mut self) -> bool {
        let before = self.acknowledged_at_ping;
        self.note_ping();
        self.has_arrived() > before
    }

    /// How many bytes were written, those included that the kernel has not taken yet. Compare it with
    /// [`has_arrived`](Self::has_arrived).
    #[inline]
    pub(crate) fn position(&self) -> i64 {
        self.taken as i64 + self.io.overhead() as i64 + self.out.len() as i64
    }

    /// How many of them the kernel has taken.
    #[inline]
    fn written(&self) -> i64 {
        self.taken as i64 + self.io.overhead() as i64 - self.io.unsent() as i64
    }

    /// How many of them the peer's kernel has acknowledged, as far as that is known. It is below zero as long
    /// as it has not acknowledged all of a TLS handshake.
    pub(crate) fn has_arrived(&self) -> i64 {
        self.written() - self.io.unacknowledged() as i64
    }

    /// The end of what was written.
    pub(crate) fn mark(&self) -> Mark {
        Mark::Output(self.taken + self.out.len() as u64)
    }

    /// Whether the kernel has taken all that was written up to `mark`. Over TLS it may be so a little earlier than it
    /// is said, where a record goes on behind it.
    pub(crate) fn has_sent(&self, mark: &mut Mark) -> bool {
        if let Mark::Output(end) = *mark {
            if self.taken < end {
                return false;
            }
            *mark = Mark::Transport(self.taken as i64 + self.io.overhead() as i64);
        }
        matches!(*mark, Mark::Transport(end) if self.written() >= end)
    }

    /// How many of the bytes up to `mark` wait for the kernel still.
    pub(crate) fn unsent_before(&self, mark: &Mark) -> u64 {
        match *mark {
            Mark::Output(end) => end.saturating_sub(self.taken) + self.io.unsent() as u64,
            Mark::Transport(end) => u64::try_from(end - self.written()).unwrap_or(0),
        }
    }

    fn backlog(&self) -> usize {
        self.unsent() + self.io.unacknowledged()
    }
}

#[cfg(test)]
mod tests;
