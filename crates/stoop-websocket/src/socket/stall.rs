//! [`Stall`]: for how long a peer has taken nothing of what is sent to it.

use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::time::Instant;

use crate::socket::watch::Timer;

/// How often it is looked at whether the peer takes anything, within the time that it has for it.
const LOOKS: u32 = 8;

/// The wait for a peer to take what is written: there from a write that was not taken at once until everything was, so that
/// a connection that idles has no memory for it. Nothing that the peer sends ends it.
#[derive(Default)]
pub(crate) struct Stall(Option<Box<Wait>>);

struct Wait {
    /// When the peer was last seen to take anything, or the wait began.
    since: Instant,
    /// The stream has taken more since the last look.
    has_moved: bool,
    /// Bytes that the stream had taken and the peer had not, at the last look.
    backlog: usize,
    timer: Timer,
}

impl Stall {
    /// The stream has taken more.
    #[inline]
    pub(crate) fn note_taken(&mut self) {
        if let Some(wait) = &mut self.0 {
            wait.has_moved = true;
        }
    }

    /// Nothing is waited for any more.
    #[inline]
    pub(crate) fn end(&mut self) {
        self.0 = None;
    }

    /// Begins the wait, if it has not begun. Ready when nothing was taken for `limit`: by the stream, or of its `backlog`.
    pub(crate) fn poll(
        &mut self,
        limit: Duration,
        backlog: impl Fn() -> usize,
        cx: &mut Context<'_>,
    ) -> Poll<()> {
        if limit == Duration::MAX {
            return Poll::Pending;
        }
        let wait = self.0.get_or_insert_with(|| Box::new(Wait::new(backlog())));
        loop {
            let left = limit.saturating_sub(wait.since.elapsed());
            ready!(wait.timer.poll(left.min(limit / LOOKS), cx));
            wait.look(backlog());
            if wait.since.elapsed() >= limit {
                return Poll::Ready(());
            }
        }
    }
}

impl Wait {
    fn new(backlog: usize) -> Self {
        Self { since: Instant::now(), has_moved: false, backlog, timer: Timer::default() }
    }

    /// Begins again if anything was taken since the last look.
    fn look(&mut self, backlog: usize) {
        if self.has_moved || backlog < self.backlog {
            self.since = Instant::now();
        }
        (self.has_moved, self.backlog) = (false, backlog);
    }
}
