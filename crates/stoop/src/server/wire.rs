//! What a connection's bytes come from and go to, and how much may be on its way.

use std::io;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use stoop_io::{AnyTransport, Output, Transport};

use crate::limits::after;

/// For a client that takes everything as soon as it is there, output is gathered up to four times
/// the limit: sixteen calls of 64 KiB cost nearly twice what one of 1 MiB does.
const PACE_MAX: u32 = 2;

/// A transport, and what is to be sent by it.
pub(super) struct Wire {
    pub(super) io: AnyTransport,
    pub(super) out: Output,
    /// How often the limit of output was doubled.
    pace: u32,
    /// Since when the client has taken nothing of what is sent to it.
    stuck: Option<Instant>,
}

impl Wire {
    pub(super) fn new(io: AnyTransport) -> Self {
        Self { io, out: Output::default(), pace: 0, stuck: None }
    }

    /// How much is on its way to the client and not the kernel's yet.
    #[inline]
    pub(super) fn unsent(&self) -> usize {
        self.out.len() + self.io.unsent()
    }

    /// Whether so much is that nothing more is begun, by the limit `max`.
    #[inline]
    pub(super) fn is_full(&self, max: usize) -> bool {
        self.unsent() >= max.saturating_mul(1 << self.pace)
    }

    /// Sends what there is. Ready with whether all of it is gone, rather than the client.
    pub(super) fn flush(&mut self, cx: &mut Context<'_>, max: usize) -> Poll<bool> {
        if self.unsent() == 0 {
            return Poll::Ready(true);
        }
        self.flush_by(cx, max, AnyTransport::poll_flush)
    }

    /// The same, when nothing will follow.
    pub(super) fn flush_last(&mut self, cx: &mut Context<'_>, max: usize) -> Poll<bool> {
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
            Poll::Ready(_) if was_full => (self.pace + 1).min(PACE_MAX),
            Poll::Ready(_) => self.pace,
            Poll::Pending => 0,
        };
        if self.unsent() < before {
            self.stuck = None;
        }
        flushed.map(|sent| sent.is_ok())
    }

    /// When the client has taken too long to take anything, if there is something to take.
    pub(super) fn send_due(&mut self, now: Instant, allowed: Duration) -> Option<Instant> {
        (self.unsent() > 0).then(|| after(*self.stuck.get_or_insert(now), allowed))
    }
}
