//! A job of a slot asks for the turns of the requests that follow from its first one.

use std::sync::Arc;
use std::time::Instant;

use super::Worker;
use crate::format::RecordFormat;
use crate::robots_gate::RobotsGate;
use crate::run_state::RunState;
use crate::schedule::{Feedback, HostId};
use crate::turns::{Asker, Post};

/// The job of a slot.
pub(super) struct SlotJob<'a, F: RecordFormat> {
    pub(super) worker: &'a Worker<F>,
    pub(super) index: usize,
}

impl<F: RecordFormat> Asker for SlotJob<'_, F> {
    fn run(&self) -> &Arc<RunState> {
        &self.worker.run
    }

    fn robots(&self) -> Option<&RobotsGate> {
        self.worker.robots.as_ref()
    }

    fn begin_wait(&self, now: Instant) {
        let had_permit = self.worker.slots.borrow_mut().wait(self.index, now);
        self.worker.add_in_flight(-1);
        if had_permit {
            self.worker.run.give_back_permit(self.worker.index);
        }
    }

    fn end_wait(&self, is_granted: bool) {
        let mut slots = self.worker.slots.borrow_mut();
        if slots.is_crowded() {
            self.worker.lane().wake_worker();
        }
        slots.go_on(self.index, is_granted);
        self.worker.add_in_flight(1);
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
        }
    }
}
