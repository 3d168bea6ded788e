//! The end of a connection that the peer may still be sending on.

use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use stoop_io::{FillResult, Transport};

use crate::conn::wire::Wire;
use crate::limits::after;

/// Input that is read and dropped after the last output was sent, up to a number of bytes and a deadline.
///
/// Closing a socket with unread input makes the kernel reset the connection, and the peer loses what was sent to
/// it last (RFC 9112 §9.6).
#[derive(Debug)]
pub(crate) struct Linger {
    /// No peer sends more than a `u32` counts within the time.
    bytes_left: u32,
    by: Instant,
    is_shut: bool,
}

impl Linger {
    pub(crate) fn new(bytes_max: u64, now: Instant, time: Duration) -> Self {
        let bytes_left = u32::try_from(bytes_max).unwrap_or(u32::MAX);
        Self { bytes_left, by: after(now, time), is_shut: false }
    }

    /// The deadline. The driver that lingers ends the connection at this time.
    #[inline]
    pub(crate) fn by(&self) -> Instant {
        self.by
    }

    /// Ends our half of the connection, then reads and drops input. Ready with whether to go on: not once the
    /// peer has closed its half too, or has sent more than the limit.
    pub(crate) fn poll(&mut self, wire: &mut Wire, cx: &mut Context<'_>) -> Poll<bool> {
        if !self.is_shut {
            match wire.io.poll_shutdown(cx) {
                Poll::Ready(Ok(())) => self.is_shut = true,
                Poll::Ready(Err(_)) => return Poll::Ready(false),
                Poll::Pending => {}
            }
        }
        let unread = wire.io.received().len();
        wire.io.consume(unread);
        wire.io.poll_fill(cx, usize::MAX).map(|filled| {
            let Ok(FillResult::Bytes(n)) = filled else { return false };
            let left = u32::try_from(n).ok().and_then(|n| self.bytes_left.checked_sub(n));
            self.bytes_left = left.unwrap_or(0);
            left.is_some()
        })
    }
}
