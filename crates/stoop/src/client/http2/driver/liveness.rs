//! Whether the server is there: when something came from it last, and what it was asked since.

use std::time::{Duration, Instant};

use crate::conn::wire::LIVENESS_CACHE;

/// How long exchanges wait and nothing comes before the server gets a PING. It gets one, until it answers a
/// request: servers end connections that send many PINGs.
const PING_AFTER: Duration = Duration::from_secs(3);

/// How long the driver waits for input that the kernel says it has. It is there at once, except from a
/// transport that hands on only a part of it.
const INPUT_WITHIN: Duration = Duration::from_millis(50);

/// What is known of a server from what came of it, and when.
pub(super) struct ServerLiveness {
    /// When something was received last, or the first request was sent after the connection was idle.
    heard_at: Instant,
    /// A PING was sent, and no part of a response has come since.
    is_pinged: bool,
    /// The kernel has input that the event loop does not know of: until then the driver waits for it.
    input_by: Option<Instant>,
}

impl ServerLiveness {
    pub(super) fn new(now: Instant) -> Self {
        Self { heard_at: now, is_pinged: false, input_by: None }
    }

    /// Bytes were received.
    pub(super) fn received(&mut self, now: Instant) {
        (self.heard_at, self.input_by) = (now, None);
    }

    /// A part of a response came: the server may be asked again when it is silent again.
    #[inline]
    pub(super) fn answered(&mut self) {
        self.is_pinged = false;
    }

    /// A request is sent on an idle connection: the time before it does not count as silence.
    pub(super) fn begins(&mut self, now: Instant) {
        self.heard_at = now;
    }

    /// When a PING is due, while exchanges wait.
    pub(super) fn ping_due(&self) -> Option<Instant> {
        (!self.is_pinged).then(|| self.heard_at + PING_AFTER)
    }

    /// Whether a PING is to be sent now, which counts it as sent: true once until the server answers.
    pub(super) fn take_ping(&mut self) -> bool {
        !std::mem::replace(&mut self.is_pinged, true)
    }

    /// Whether it is so short ago that something came that a look at the kernel is not worth its cost.
    pub(super) fn is_trusted(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.heard_at) <= LIVENESS_CACHE
    }

    /// The kernel has input: the driver waits for it.
    pub(super) fn expect_input(&mut self, now: Instant) {
        self.input_by = Some(now + INPUT_WITHIN);
    }

    /// Whether the driver still waits for input that the kernel has; none if the kernel was not asked since
    /// something came.
    pub(super) fn expects_input(&self, now: Instant) -> Option<bool> {
        self.input_by.map(|by| now < by)
    }

    /// When the wait for that input ends.
    pub(super) fn input_due(&self, now: Instant) -> Option<Instant> {
        self.input_by.filter(|by| *by > now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn a_silent_server_gets_one_ping_until_it_answers() {
        let begun = Instant::now();
        let mut server = ServerLiveness::new(begun);
        assert_eq!(server.ping_due(), Some(begun + PING_AFTER));
        server.received(begun + SECOND);
        assert_eq!(server.ping_due(), Some(begun + SECOND + PING_AFTER));
        assert!(server.take_ping() && !server.take_ping());
        // The answer to the PING is no answer to a request.
        server.received(begun + 5 * SECOND);
        assert_eq!(server.ping_due(), None);
        server.answered();
        assert_eq!(server.ping_due(), Some(begun + 5 * SECOND + PING_AFTER));
    }

    #[test]
    fn idle_time_before_a_request_is_no_silence() {
        let begun = Instant::now();
        let mut server = ServerLiveness::new(begun);
        server.begins(begun + 60 * SECOND);
        assert_eq!(server.ping_due(), Some(begun + 60 * SECOND + PING_AFTER));
        assert!(server.is_trusted(begun + 60 * SECOND + LIVENESS_CACHE));
        assert!(!server.is_trusted(begun + 61 * SECOND));
    }

    #[test]
    fn input_is_waited_for_once_and_for_a_while() {
        let now = Instant::now();
        let mut server = ServerLiveness::new(now);
        assert_eq!((server.expects_input(now), server.input_due(now)), (None, None));
        server.expect_input(now);
        let by = now + INPUT_WITHIN;
        assert_eq!((server.expects_input(now), server.input_due(now)), (Some(true), Some(by)));
        // It has not come: the kernel is not asked again before something does.
        assert_eq!((server.expects_input(by), server.input_due(by)), (Some(false), None));
        server.received(by);
        assert_eq!(server.expects_input(by), None);
    }
}
