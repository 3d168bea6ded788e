//! What a connection's bytes come from and go to, and how much may be on its way.

use std::io;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use stoop_io::{AnyTransport, Output, Transport};

use crate::limits::after;

/// For a peer that takes everything as soon as it is there, output is gathered up to four times
/// the limit: sixteen calls of 64 KiB cost nearly twice what one of 1 MiB does.
const PACE_MAX: u32 = 2;

/// A connection that idled for less is only looked at from afar: what the kernel says would be
/// stale as soon as it is said, and a retry covers the rest.
pub(crate) const TRUSTED_FOR: Duration = Duration::from_millis(1);

/// A transport, and what is to be sent by it.
pub(crate) struct Wire {
    pub(crate) io: AnyTransport,
    pub(crate) out: Output,
    /// How often the limit of output was doubled, and may be.
    pace: u32,
    pace_max: u32,
    /// Since when the peer has taken nothing of what is sent to it.
    stuck: Option<Instant>,
}

impl Wire {
    pub(crate) fn new(io: AnyTransport) -> Self {
        Self { io, out: Output::default(), pace: 0, pace_max: PACE_MAX, stuck: None }
    }

    /// The same, and never gathers more than the limit: over HTTP/2, where content comes in frames of
    /// 16 KiB anyway, larger calls push what is to be sent out of the processor's cache.
    pub(crate) fn steady(self) -> Self {
        Self { pace: 0, pace_max: 0, ..self }
    }

    /// How much is on its way to the peer and not the kernel's yet.
    #[inline]
    pub(crate) fn unsent(&self) -> usize {
        self.out.len() + self.io.unsent()
    }

    /// Whether so much is that nothing more is begun, by the limit `max`.
    #[inline]
    pub(crate) fn is_full(&self, max: usize) -> bool {
        self.unsent() >= max.saturating_mul(1 << self.pace)
    }

    /// Sends what there is. Ready with whether all of it is gone, rather than the peer.
    pub(crate) fn flush(&mut self, cx: &mut Context<'_>, max: usize) -> Poll<bool> {
        if self.unsent() == 0 {
            return Poll::Ready(true);
        }
        self.flush_by(cx, max, AnyTransport::poll_flush)
    }

    /// The same, when nothing will follow.
    pub(crate) fn flush_last(&mut self, cx: &mut Context<'_>, max: usize) -> Poll<bool> {
        self.flush_by(cx, max, AnyTransport::poll_flush_last)
    }

    fn flush_by(
        &mut self,
        cx: &mut Context<'_>,
        max: usize,
        flush: fn(&mut AnyTransport, &mut Context<'_>, &mut Output) -> Poll<io::Result<()>>,
    ) -> Poll<bool> {
        let before = self.unsent();
        let was_full = self.is_full(max);
        let flushed = flush(&mut self.io, cx, &mut self.out);
        self.pace = match flushed {
            Poll::Ready(_) if was_full => (self.pace + 1).min(self.pace_max),
            Poll::Ready(_) => self.pace,
            Poll::Pending => 0,
        };
        if self.unsent() < before {
            self.stuck = None;
        }
        flushed.map(|sent| sent.is_ok())
    }

    /// When the peer has taken too long to take anything, if there is something to take.
    pub(crate) fn send_due(&mut self, now: Instant, allowed: Duration) -> Option<Instant> {
        (self.unsent() > 0).then(|| after(*self.stuck.get_or_insert(now), allowed))
    }
}
