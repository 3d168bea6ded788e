//! What happens to a URL whose deadline the client did not keep, and when that is no defect.

use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use stoop::Phase;

use super::Core;
use crate::fetch::outcome::Outcome;

impl Core {
    /// How often overdue slots are looked for.
    pub(super) fn round(&self) -> Duration {
        (self.run.plan.timeout / 10).clamp(Duration::from_millis(50), Duration::from_secs(1))
    }

    /// The client keeps the deadline. Should it ever fail to, no list must hang for it: what is late
    /// by more than the tolerance is answered and dropped here, and counted, since it is a defect.
    ///
    /// It is none where the process was stopped (SIGSTOP, Ctrl-Z) or did not get a processor: the
    /// client could not keep a deadline either. To make a slot overdue that takes longer than the
    /// tolerance and a round, which are two rounds at least, and so this round comes late too. The
    /// next one finds what the client has not seen to until then.
    pub(super) fn cut_overdue(&self) {
        let timeout = self.run.plan.timeout;
        let tolerance = (timeout / 10).max(Duration::from_millis(50));
        let late = timeout + tolerance + self.round();
        let now = Instant::now();
        if now.duration_since(self.looked.replace(now)) >= 2 * self.round() {
            return;
        }
        let slots = self.slots.borrow().indices();
        for index in slots {
            if self.slots.borrow().is_overdue(index, late, now) {
                let words = "cut off beyond the deadline, which the client should have kept";
                let outcome = Outcome::without_client("total_timeout", Phase::Wait, words);
                self.answer(index, &outcome);
                self.slots.borrow_mut().abort(index);
                self.run.overdue.fetch_add(1, Relaxed);
            }
        }
    }
}
