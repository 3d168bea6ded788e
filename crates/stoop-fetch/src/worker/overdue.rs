//! Cuts off URLs whose deadline the client did not keep, unless the process itself was held up.

use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use stoop::Phase;

use super::Worker;
use crate::format::RecordFormat;
use crate::record::Outcome;

impl<F: RecordFormat> Worker<F> {
    /// How often the worker looks for overdue slots.
    pub(crate) fn overdue_check_interval(&self) -> Duration {
        (self.run.settings.timeout / 10).clamp(Duration::from_millis(50), Duration::from_secs(1))
    }

    /// Answers and aborts each slot that is later than its deadline and the tolerance, and counts it:
    /// the client keeps deadlines, so this is a defect, and no list may hang because of it.
    ///
    /// It is no defect where the process was stopped (SIGSTOP, Ctrl-Z) or did not get a processor: the
    /// client could not keep a deadline either. To make a slot overdue, that has to take longer than the
    /// tolerance and an interval between checks, which are two intervals at least, and so this check
    /// comes late too. The next one finds the slots that the client has not ended by then.
    pub(crate) fn cut_overdue(&self) {
        let timeout = self.run.settings.timeout;
        let tolerance = (timeout / 10).max(Duration::from_millis(50));
        let late = timeout + tolerance + self.overdue_check_interval();
        let now = Instant::now();
        if now.duration_since(self.last_overdue_check.replace(now))
            >= 2 * self.overdue_check_interval()
        {
            return;
        }
        let slots = self.slots.borrow().indices();
        for index in slots {
            if self.slots.borrow().is_overdue(index, late, now) {
                let text = "cut off beyond the deadline, which the client should have kept";
                let outcome = Outcome::local_error(crate::kinds::TOTAL_TIMEOUT, Phase::Wait, text);
                self.answer(index, &outcome);
                self.slots.borrow_mut().abort(index);
                self.run.overdue.fetch_add(1, Relaxed);
            }
        }
    }
}
