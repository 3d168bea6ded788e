//! [`Ping`]: whether the peer is still there: RFC 9113 §6.7.

use std::time::{Duration, Instant};

use crate::limits::after;

/// A PING that the peer has to answer in time, if one was sent.
#[derive(Debug, Default)]
pub(super) struct Ping {
    deadline: Option<Instant>,
}

impl Ping {
    /// The payloads of our PINGs, one for each purpose.
    pub(super) const MEASURE: [u8; 8] = *b"measure\0";
    pub(super) const ALIVE: [u8; 8] = *b"alive?\0\0";
    pub(super) const DRAIN: [u8; 8] = *b"drained\0";

    /// Whether the answer is waited for.
    pub(super) fn is_pending(&self) -> bool {
        self.deadline.is_some()
    }

    /// When the answer is late.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// Begins to wait. False if an answer is waited for already.
    pub(super) fn begin(&mut self, now: Instant, timeout: Duration) -> bool {
        let begins = self.deadline.is_none();
        if begins {
            self.deadline = Some(after(now, timeout));
        }
        begins
    }

    /// Restarts the time for the answer, if one is waited for.
    pub(super) fn renew(&mut self, now: Instant, timeout: Duration) {
        if let Some(deadline) = &mut self.deadline {
            *deadline = after(now, timeout);
        }
    }

    /// The answer has come.
    pub(super) fn answered(&mut self) {
        self.deadline = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_answer_is_waited_for_at_a_time_and_its_deadline_can_be_renewed() {
        let (mut ping, now, second) = (Ping::default(), Instant::now(), Duration::from_secs(1));
        ping.renew(now, second);
        assert!(!ping.is_pending() && ping.begin(now, second) && !ping.begin(now, second));
        assert_eq!(ping.deadline(), Some(now + second));
        ping.renew(now + second, second);
        assert_eq!(ping.deadline(), Some(now + 2 * second));
        ping.answered();
        assert!(!ping.is_pending() && ping.begin(now, second));
    }
}
