//! The dispatcher of a worker: gives turns to requests that wait, and starts slots for lines, as far as there are permits.

use std::rc::Rc;
use std::time::{Duration, Instant};

use tokio::time::{MissedTickBehavior, interval};

use super::Worker;
use crate::format::RecordFormat;
use crate::lane::Refill;
use crate::run_state::WorkerGauge;
use crate::tuning_gauge::Demand;
use crate::turns::Post;
use crate::until::until;

/// How long a worker sleeps that may start no job because of the bandwidth: no other wakes it when that has room.
const BANDWIDTH_LOOK: Duration = Duration::from_millis(10);

impl<F: RecordFormat> Worker<F> {
    /// Gives turns and starts slots whenever there are requests that wait or lines, permits, and room in the output. It is
    /// woken for each of these, and when a slot ends.
    pub(super) async fn dispatch(self: Rc<Self>) {
        let mut overdue_checks = interval(self.overdue_check_interval());
        overdue_checks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            if self.run.is_stopping() {
                return self.cancel().await;
            }
            self.take_mail();
            let allowed = self.start_ready();
            if self.is_done() {
                // Also those that were granted while nothing could be started.
                if self.schedule.borrow().turns_due() == 0 {
                    self.decline_permits();
                }
                if self.run.is_over(self.index) {
                    return;
                }
            }
            let due = self.schedule.borrow().next_time();
            let due = due.into_iter().chain(allowed).min();
            self.sleeps_until.set(due);
            tokio::select! {
                biased;
                () = self.lane().woken() => {}
                () = until(due) => {}
                _ = overdue_checks.tick() => self.cut_overdue(),
            }
        }
    }

    /// Takes what other workers' jobs say of the turns of this worker's hosts.
    fn take_mail(&self) {
        let mail = self.run.take_mail(self.index);
        self.schedule.borrow_mut().take_mail(mail);
    }

    /// Gives a turn to each request that waits for one, and starts a slot for each line, as far as there are permits and the
    /// rate of all requests and the bandwidth allow. Where that is what they wait for, returns until when.
    fn start_ready(self: &Rc<Self>) -> Option<Instant> {
        loop {
            let turns = self.schedule.borrow().turns_due();
            let lines = if self.may_begin() { self.ready_lines() } else { 0 };
            let wanted = turns + lines;
            if wanted == 0 {
                self.waits_for_permits.set(false);
                let has_bandwidth = self.has_bandwidth();
                // Where the output is full, or content waits, what is wanted is not known.
                if has_bandwidth && !self.run.is_full() {
                    self.tell_demand(self.demand());
                }
                self.decline_permits();
                if let Some(rate) = &self.rate {
                    rate.leave();
                }
                return (!has_bandwidth).then(|| Instant::now() + BANDWIDTH_LOOK);
            }
            let allowed = self.rate.as_ref().and_then(|rate| rate.wait(Instant::now()));
            if allowed.is_some() {
                self.waits_for_permits.set(false);
                self.tell_demand(Demand::Rate);
                self.decline_permits();
                return allowed;
            }
            let wanted = if self.rate.is_some() { 1 } else { wanted };
            let held = self.slots.borrow().permits();
            let permits = self.run.permits.take(self.index, held, wanted);
            for _ in 0..permits {
                self.use_permit();
            }
            self.waits_for_permits.set(permits < wanted);
            if permits < wanted {
                self.tell_demand(Demand::Permits);
                return None;
            }
        }
    }

    /// What is waited for where nothing can be started.
    fn demand(&self) -> Demand {
        let is_at_end = self.is_lane_ended.get() || self.slots.borrow().is_crowded();
        let waits = is_at_end && self.slots.borrow().waiting() > 0;
        if waits || !self.schedule.borrow().is_empty() { Demand::Hosts } else { Demand::Source }
    }

    /// Whether jobs may begin: the output takes more, the bandwidth has room, and not too many wait for turns.
    pub(super) fn may_begin(&self) -> bool {
        !self.run.is_full() && self.has_bandwidth() && !self.slots.borrow().is_crowded()
    }

    fn has_bandwidth(&self) -> bool {
        let Some(bandwidth) = &self.run.settings.bandwidth else { return true };
        bandwidth.may_start(self.all_in_flight())
    }

    /// How many jobs of all workers are in flight.
    pub(super) fn all_in_flight(&self) -> usize {
        self.run.gauges.iter().map(WorkerGauge::in_flight).sum()
    }

    /// Uses a permit for a request whose turn it is, or else for the next line.
    fn use_permit(self: &Rc<Self>) {
        if self.schedule.borrow_mut().give_turn() {
            if let Some(rate) = &self.rate {
                rate.used();
            }
            return;
        }
        // A request whose turn came may not wait for it any more, and what was ready may have given its turn to one.
        if !self.may_begin() || !self.start_slot() {
            self.run.give_back_permit(Some(self.index));
        }
    }

    /// How many lines may be started now, or fewer, but some if there are any here or in the lane.
    pub(super) fn ready_lines(&self) -> usize {
        let mut schedule = self.schedule.borrow_mut();
        loop {
            let ready = schedule.ready();
            let Some(room) = schedule.room().filter(|_| ready == 0) else { return ready };
            match self.run.refill(self.index, room) {
                Refill::Lines => {}
                Refill::Empty => return 0,
                Refill::End => {
                    self.is_lane_ended.set(true);
                    return 0;
                }
            }
        }
    }

    /// Passes permits on that this worker was granted and has no lines for.
    fn decline_permits(&self) {
        while let Some(worker) = self.run.permits.decline(self.index) {
            self.run.lanes[worker].wake_worker();
        }
    }

    fn tell_demand(&self, demand: Demand) {
        self.run.gauges[self.index].tuning.set_demand(demand);
    }

    fn is_done(&self) -> bool {
        self.is_lane_ended.get()
            && self.schedule.borrow().is_empty()
            && self.slots.borrow().open_count() == 0
    }
}
