//! The deadlines of an exchange. They share one timer: the nearest counts.

use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use stoop_io::{Timer, now};

use crate::error::{Error, ErrorKind, Phase};
use crate::limits::{ClientTime, after};

/// What an exchange waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Waiting {
    /// For nothing: whatever comes next begins anew.
    Nothing,
    /// For the server to take what is to be sent.
    Sending,
    /// For the caller to make more of the request's content.
    Caller,
    /// For the response's head.
    Head,
    /// For the response's content.
    Content,
}

/// More than an hour is no limit.
const UNLIMITED: u32 = u32::MAX;

fn micros(time: Duration) -> u32 {
    time.as_micros().try_into().unwrap_or(UNLIMITED)
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Deadlines {
    total: Option<Instant>,
    /// The time when the exchange began, until it first waits: that is as good as now.
    begun: Option<Instant>,
    waiting: Waiting,
    /// How long content may still be waited for, in microseconds, so that it comes at its least
    /// rate; [`UNLIMITED`] if there is none.
    left: u32,
    /// Since when content is waited for. What its owner takes to look at a piece does not count.
    content_since: Option<Instant>,
    /// Of what is waited for.
    own: Option<Instant>,
    /// When content is sent though no 100 came.
    pub(super) continue_by: Option<Instant>,
}

impl Deadlines {
    pub(super) fn new(begun: Instant, total: Option<Instant>, time: &ClientTime) -> Self {
        let left = match time.body_bytes_per_second_min {
            0 => UNLIMITED,
            _ => micros(time.body_grace.saturating_add(time.body_window)),
        };
        Self {
            total,
            begun: Some(begun),
            waiting: Waiting::Nothing,
            left,
            content_since: None,
            own: None,
            continue_by: None,
        }
    }

    /// Something moved: the time for the next wait begins with that wait.
    #[inline]
    pub(super) fn moved(&mut self) {
        self.waiting = Waiting::Nothing;
    }

    /// The same, as of then.
    pub(super) fn moved_at(&mut self, then: Instant) {
        self.moved();
        self.begun = Some(then);
    }

    /// So much content came. It gives back the time that it may take.
    #[inline]
    pub(super) fn content_came(&mut self, bytes: usize, time: &ClientTime) {
        self.moved();
        let whole = micros(time.body_window);
        // What is left of the grace is beyond it, and content that comes early takes none of that.
        if self.left < whole {
            let paid = (bytes as u64).saturating_mul(1_000_000) / time.body_bytes_per_second_min;
            self.left = (u64::from(self.left).saturating_add(paid)).min(whole.into()) as u32;
        }
    }

    /// Bytes came, which may be content. Tells whether the deadline of everything has passed: who
    /// always has something to read never waits for it.
    pub(super) fn is_over(&mut self) -> bool {
        if self.total.is_none() && self.content_since.is_none() {
            return false;
        }
        let now = now();
        if let Some(since) = self.content_since.take() {
            let waited = micros(now.saturating_duration_since(since));
            // Who waits is told as soon as it is too long: if it was longer, nobody waited.
            self.left = self.left.checked_sub(waited).unwrap_or(self.left);
        }
        self.total.is_some_and(|total| total <= now)
    }

    /// When content comes too slowly, if none comes until then.
    fn slow_at(&mut self, now: Instant) -> Option<Instant> {
        if self.left == UNLIMITED {
            return None;
        }
        let since = *self.content_since.get_or_insert(now);
        Some(since + Duration::from_micros(self.left.into()))
    }

    pub(super) fn total_error(phase: Phase) -> Error {
        Error::new(ErrorKind::TotalTimeout, phase)
    }

    /// Waits for the nearest deadline. Ready with `None`: content need not wait for a 100 any more.
    pub(super) fn poll(
        &mut self,
        cx: &mut Context<'_>,
        timer: &mut Timer,
        waiting: Waiting,
        time: &ClientTime,
    ) -> Poll<Option<Error>> {
        let now = self.begun.take().unwrap_or_else(now);
        if self.waiting != waiting {
            self.waiting = waiting;
            let limit = match waiting {
                Waiting::Nothing | Waiting::Caller => None,
                Waiting::Sending => time.send_idle,
                Waiting::Head => time.first_byte,
                Waiting::Content => time.read_idle,
            };
            self.own = limit.map(|limit| after(now, limit));
        }
        let slow = match waiting {
            Waiting::Content => self.slow_at(now),
            _ => None,
        };
        let all = [self.total, self.own, slow, self.continue_by];
        let Some(nearest) = all.into_iter().flatten().min() else { return Poll::Pending };
        if now < nearest && timer.poll(cx, Some(nearest)).is_pending() {
            return Poll::Pending;
        }
        let is_due = |deadline: Option<Instant>| deadline.is_some_and(|due| due <= nearest);
        let (kind, phase) = match waiting {
            Waiting::Head => (ErrorKind::FirstByteTimeout, Phase::Wait),
            Waiting::Content => (ErrorKind::ReadTimeout, Phase::Receive),
            Waiting::Nothing | Waiting::Sending | Waiting::Caller => {
                (ErrorKind::ReadTimeout, Phase::Send)
            }
        };
        Poll::Ready(if is_due(self.total) {
            Some(Self::total_error(phase))
        } else if is_due(self.own) {
            Some(Error::new(kind, phase))
        } else if is_due(slow) {
            Some(Error::new(ErrorKind::SlowBody, phase))
        } else {
            // RFC 9110 §10.1.1: the content is sent even if no 100 comes.
            self.continue_by = None;
            None
        })
    }
}
