//! A request's content on its way to the server, and when it is idle: `send_idle` passes without movement.
//!
//! An upload shares its connection with others, and may wait long for its turn. What counts is therefore
//! whether the server takes content of any upload; only a server that keeps the window of one stream closed
//! makes that one idle alone. Bytes that are still on their way to the server count as movement while they
//! get fewer.

use std::time::{Duration, Instant};

use stoop_proto::h2::StreamKey;

use super::ClientDriver;
use crate::body::Body;
use crate::conn::http2::outflow::Outflow;
use crate::limits::after;

/// A request's content that is being sent.
pub(super) struct Http2Upload {
    pub(super) outflow: Outflow<Body>,
    /// It waits for a 100 (RFC 9110 §10.1.1).
    pub(super) is_held: bool,
    /// The response shows that the server does not want the rest: the stream ends with the response.
    pub(super) is_unwanted: bool,
    pub(super) progress: SendProgress,
}

/// How far the bytes of an upload have come that were written.
#[derive(Clone, Copy)]
pub(super) struct SendProgress {
    /// The position in the output behind the last of them.
    end: i64,
    /// How far the output had arrived at the last look.
    arrived: Option<i64>,
}

impl SendProgress {
    /// The last byte was written before that position.
    #[inline]
    pub(super) fn written_to(end: i64) -> Self {
        Self { end, arrived: None }
    }

    /// Whether bytes before `end` have arrived since the last look. At the first look, whether there are
    /// some that have not: they get time until the next.
    fn advance(&mut self, arrived: i64, end: i64) -> bool {
        let arrived = arrived.min(end);
        match self.arrived.replace(arrived) {
            None => arrived < end,
            Some(before) => arrived > before,
        }
    }
}

impl ClientDriver {
    /// `send_idle` has passed since content of this upload was written. None if it is idle, else when it
    /// moved last, or might have.
    pub(super) fn upload_moved_at(&mut self, key: StreamKey) -> Option<Instant> {
        let (now, moved_at) = (self.now, self.role.uploads_moved_at);
        let idle = self.role.limits.time.send_idle.unwrap_or(Duration::MAX);
        let is_closed = self.machine.is_window_closed(key);
        if !is_closed && now < after(moved_at, idle) {
            return Some(moved_at);
        }
        let Some(upload) = &mut self.exchanges.get(key)?.upload else { return Some(now) };
        // A server opens a window when it has got the content that the window allowed.
        let end = if is_closed { upload.progress.end } else { self.wire.position() };
        upload.progress.advance(self.wire.has_arrived(), end).then_some(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_that_are_on_their_way_count_until_they_have_arrived() {
        let mut progress = SendProgress::written_to(100);
        assert!(progress.advance(50, 100), "some are on their way");
        assert!(progress.advance(60, 100) && progress.advance(100, 100), "they arrive");
        assert!(!progress.advance(200, 100), "what arrives behind them is no movement of theirs");
    }

    #[test]
    fn bytes_that_do_not_arrive_count_once() {
        let mut progress = SendProgress::written_to(100);
        assert!(progress.advance(50, 100));
        assert!(!progress.advance(50, 100));
    }

    #[test]
    fn an_upload_is_idle_at_once_if_everything_has_arrived() {
        assert!(!SendProgress::written_to(100).advance(100, 100));
    }
}
