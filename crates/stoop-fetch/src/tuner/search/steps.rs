//! The steps of the search: what is tried next, and how the limit changes.

use super::super::level::Level;
use super::super::window::Window;
use super::{ALL_BUSY, BUSY, PROBE_GAP_MAX, Phase, Tuner};

/// How much more than what is kept a probe tries, and how much less.
const UP_FACTOR: f64 = 1.5;
const DOWN_FACTOR: f64 = 0.7;
/// How much less it tries where many jobs are lost, since each step takes as long as a deadline.
const LOSSY_FACTOR: f64 = 0.5;
/// How much of what is in flight is left where there is no descriptor for more.
const BACK_OFF_FACTOR: f64 = 0.95;

impl Tuner {
    /// Goes on with twice the concurrency, if there is room.
    pub(super) fn ramp(&mut self) {
        if self.is_lossy {
            self.probes_up = false;
            return self.probe();
        }
        let is_busy = self.least_busy >= ALL_BUSY || self.busy >= BUSY && !self.is_first_ramp;
        if is_busy || self.limit >= self.bounds.max() {
            return self.stay(self.probe_gap);
        }
        self.phase = Phase::Ramp;
        self.change(2 * self.limit);
    }

    /// Returns to `kept`, and stays for some windows.
    pub(super) fn hold(&mut self, kept: Level, gap: u32) {
        self.stay(gap);
        self.change(kept.limit);
    }

    /// Probes after some windows.
    pub(super) fn stay(&mut self, gap: u32) {
        self.is_first_ramp = false;
        self.phase = Phase::Hold;
        (self.probe_gap, self.until_probe) = (gap, gap);
        self.change(self.limit);
    }

    /// Tries more or less than what is kept.
    pub(super) fn probe(&mut self) {
        self.is_first_ramp = false;
        let next = |factor: f64| (self.limit as f64 * factor) as usize;
        let down = next(if self.is_lossy { LOSSY_FACTOR } else { DOWN_FACTOR });
        let up = next(UP_FACTOR).max(self.limit + 1);
        let can_rise = self.limit < self.bounds.max() && self.least_busy < ALL_BUSY;
        let can_fall = self.limit > self.bounds.min();
        match (can_rise, can_fall) {
            (true, _) if self.probes_up || !can_fall => {
                self.phase = Phase::Up;
                self.change(up);
            }
            (_, true) => {
                self.phase = Phase::Down;
                self.change(down);
            }
            _ => self.stay(PROBE_GAP_MAX),
        }
    }

    /// What is not used is neither raised nor judged.
    pub(super) fn forgo(&mut self) {
        match (self.phase, self.kept) {
            (Phase::Up | Phase::Down, Some(kept)) => self.hold(kept, self.probe_gap),
            _ => self.change(self.limit),
        }
    }

    /// This machine has no room for more than are in flight: there will never be so many again.
    pub(super) fn back_off(&mut self, in_flight: usize) {
        let room = (self.limit.min(in_flight) as f64 * BACK_OFF_FACTOR) as usize;
        self.bounds = self.bounds.at_most(room.max(1));
        (self.kept, self.best) = (None, 0.0);
        self.stay(PROBE_GAP_MAX / 4);
        self.change(room);
    }

    /// Sets the limit, and begins a window.
    pub(super) fn change(&mut self, limit: usize) {
        let limit = limit.clamp(self.bounds.min(), self.bounds.max());
        self.window = Window::new(limit != self.limit);
        self.limit = limit;
        self.recent.changed(limit);
    }
}
