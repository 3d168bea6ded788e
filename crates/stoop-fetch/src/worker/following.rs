//! How the job of a slot waits for the turns of its redirects and retries.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::Worker;
use crate::capture::Clock;
use crate::format::RecordFormat;
use crate::robots_gate::RobotsGate;
use crate::run_state::RunState;
use crate::schedule::{Feedback, HostId};
use crate::turns::{Asker, Mail, Post, Turn};

/// The job of a slot.
pub(super) struct SlotJob<'a, F: RecordFormat> {
    pub(super) worker: &'a Worker<F>,
    pub(super) index: usize,
}

impl<F: RecordFormat> Asker for SlotJob<'_, F> {
    fn run(&self) -> Option<&Arc<RunState>> {
        Some(&self.worker.run)
    }

    fn robots(&self) -> Option<&Arc<RobotsGate>> {
        self.worker.robots.as_ref()
    }

    fn is_counted(&self) -> bool {
        !self.worker.slots.borrow().slot(self.index).job.is_uncounted
    }

    fn begin_count(&self) {
        self.worker.slots.borrow_mut().count(self.index);
    }

    fn begin_question(&self) {
        self.stop();
    }

    fn end_question(&self) {
        self.worker.slots.borrow_mut().sends(self.index);
        Clock::go_on(self);
    }

    fn not_sent(&self) {
        self.worker.not_sent();
    }

    fn begin_rest(&self) {
        if self.leave_flight(None) {
            self.worker.run.give_back_permit(Some(self.worker.index));
        }
    }

    fn begin_wait(&self, now: Instant) {
        if self.leave_flight(Some(now)) {
            self.worker.run.give_back_permit(Some(self.worker.index));
        }
    }

    fn wait_for(&self, worker: usize, turn: Turn, since: Instant) {
        let has_permit = self.leave_flight(Some(since));
        if worker == self.worker.index {
            // A host of this worker's: the permit stays here if a turn of that host has come, which is this one as a rule,
            // and no rate of all requests has it wait.
            let may_stay = has_permit && self.worker.rate.is_none();
            let is_given = self.worker.schedule.borrow_mut().want(turn, may_stay);
            self.worker.wake_for_turns();
            if is_given {
                return;
            }
        } else {
            self.worker.run.post(worker, Mail::Want(turn));
        }
        if has_permit {
            self.worker.run.give_back_permit(Some(self.worker.index));
        }
    }

    fn end_wait(&self, is_granted: bool) {
        let mut slots = self.worker.slots.borrow_mut();
        if slots.is_crowded() {
            self.worker.lane().wake_worker();
        }
        if slots.go_on(self.index, is_granted) {
            self.worker.add_in_flight(1);
        }
        drop(slots);
        self.worker.tell_waiting();
    }

    fn first_place(&self, key: &[u8]) -> Option<HostId> {
        let home = self.worker.slots.borrow().slot(self.index).job.host;
        home.filter(|home| self.worker.schedule.borrow().is_host(*home, key))
    }

    fn leave_first_place(&self, feedback: Feedback) {
        let mut slots = self.worker.slots.borrow_mut();
        if let Some(home) = slots.take_host(self.index) {
            let sent = slots.slot(self.index).sent;
            self.worker.schedule.borrow_mut().finished(home, sent, feedback);
            self.worker.lane().wake_worker();
        }
    }

    fn tell_first_host(&self, feedback: Feedback) {
        let slots = self.worker.slots.borrow();
        let slot = slots.slot(self.index);
        if let Some(host) = slot.job.host {
            self.worker.schedule.borrow_mut().told(host, slot.sent, feedback);
            self.worker.wake_for_turns();
        }
    }

    fn tell_first_host_rules(&self, crawl_delay: Option<Duration>, is_sent: bool) {
        let host = self.worker.slots.borrow().slot(self.index).job.host;
        if let Some(host) = host {
            self.worker.schedule.borrow_mut().learned(host, crawl_delay, is_sent);
            self.worker.wake_for_turns();
        }
    }
}

impl<F: RecordFormat> Clock for SlotJob<'_, F> {
    fn stop(&self) {
        self.worker.slots.borrow_mut().stop_clock(self.index);
    }

    fn go_on(&self) {
        self.worker.slots.borrow_mut().start_clock(self.index);
        // What was written meanwhile has given back its memory.
        self.worker.run.relieve();
    }

    fn gave_back(&self) {
        self.worker.run.relieve();
    }

    fn received(&self, bytes: usize) {
        self.worker.run.gauges[self.worker.index].add_content(bytes);
    }

    fn due(&self) -> Option<Instant> {
        let start = self.worker.slots.borrow().slot(self.index).start;
        Some(start + self.worker.run.settings.timeout)
    }
}

impl<F: RecordFormat> SlotJob<'_, F> {
    /// The job is not in flight from now on, and its clock stands still from that time on, if there is one. Returns whether
    /// it had a permit, which the caller has now.
    fn leave_flight(&self, clock_until: Option<Instant>) -> bool {
        let left = self.worker.slots.borrow_mut().leave_flight(self.index, clock_until);
        let (had_permit, was_in_flight) = left;
        if was_in_flight {
            self.worker.add_in_flight(-1);
        }
        self.worker.tell_waiting();
        had_permit
    }
}
