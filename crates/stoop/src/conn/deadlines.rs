//! The deadlines of an exchange. They share one timer: the nearest counts.

use std::task::{Context, Poll};
use std::time::Instant;

use stoop_io::{Timer, now};

use crate::error::{Error, ErrorKind, Phase};
use crate::limits::ClientTime;

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

#[derive(Clone, Copy, Debug)]
pub(super) struct Deadlines {
    total: Option<Instant>,
    /// The time when the exchange began, until it first waits: that is as good as now.
    begun: Option<Instant>,
    waiting: Waiting,
    /// Of what is waited for.
    own: Option<Instant>,
    /// When content is sent though no 100 came.
    pub(super) continue_by: Option<Instant>,
}

impl Deadlines {
    pub(super) fn new(begun: Instant, total: Option<Instant>) -> Self {
        let begun = Some(begun);
        Self { total, begun, waiting: Waiting::Nothing, own: None, continue_by: None }
    }

    /// Something moved: the time for the next wait begins with that wait.
    #[inline]
    pub(super) fn moved(&mut self) {
        self.waiting = Waiting::Nothing;
    }

    /// Whether the deadline of everything has passed, for an exchange that never has to wait.
    pub(super) fn is_over(&self) -> bool {
        self.total.is_some_and(|total| total <= now())
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
            self.own = limit.map(|limit| now + limit);
        }
        let all = [self.total, self.own, self.continue_by];
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
        } else {
            // RFC 9110 §10.1.1: the content is sent even if no 100 comes.
            self.continue_by = None;
            None
        })
    }
}
