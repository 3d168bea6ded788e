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
    bytes_left: u64,
    by: Instant,
    is_shut: bool,
}

impl Linger {
    pub(crate) fn new(bytes_max: u64, now: Instant, time: Duration) -> Self {
        Self { bytes_left: bytes_max, by: after(now, time), is_shut: false }
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
            let left = self.bytes_left.checked_sub(n as u64);
            self.bytes_left = left.unwrap_or(0);
            left.is_some()
        })
    }
}
