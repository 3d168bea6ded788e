//! What happened in the last moment, and which concurrency that tells of.

use std::collections::VecDeque;

use super::tick::Tick;

/// The ramp hurries in steps of so many seconds, and only where answers take longer than this: those that take less come at
/// a rate that a window tells soon.
pub(super) const HURRY_EVERY: f64 = 0.25;
pub(super) const HURRY_LATENCY_MIN: f64 = 0.05;
/// It hurries to so many times the concurrency that answers speak for.
const HURRY_FACTOR: usize = 4;
/// It does not where answers take longer than at first by this factor.
const HURRY_LATENCY: f64 = 1.6;
/// How long the last moment is, in seconds.
const MOMENT: f64 = 0.25;
/// Fewer answers say nothing of how long they take.
const ANSWERS_MIN: u64 = 8;
/// Answers come at a rate that is at least this part of what the concurrency and their latency promise.
const PROMISED: f64 = 0.6;
/// How long it is known how many jobs were started when, in seconds.
const STARTED_KEPT: f64 = 4.0;
/// More changes than the ramp makes in the longest latency.
const CHANGES_MAX: usize = 32;

/// The last ticks, and the last changes of the limit.
#[derive(Debug)]
pub(super) struct Recent {
    now: f64,
    ticks: VecDeque<Tick>,
    /// How many jobs were started until when.
    started: VecDeque<(f64, u64)>,
    /// When each limit was set, the latest last.
    changes: VecDeque<(f64, usize)>,
}

impl Recent {
    pub(super) fn new(limit: usize) -> Self {
        Self {
            now: 0.0,
            ticks: VecDeque::new(),
            started: VecDeque::new(),
            changes: [(0.0, limit)].into(),
        }
    }

    pub(super) fn add(&mut self, tick: &Tick) {
        self.now += tick.seconds;
        self.ticks.push_back(*tick);
        self.started.push_back((self.now, tick.started));
        while self.started[0].0 < self.now - STARTED_KEPT {
            self.started.pop_front();
        }
        let seconds = |ticks: &VecDeque<Tick>| ticks.iter().map(|tick| tick.seconds).sum::<f64>();
        while self.ticks.len() > 1 && seconds(&self.ticks) - self.ticks[0].seconds >= MOMENT {
            self.ticks.pop_front();
        }
    }

    pub(super) fn changed(&mut self, limit: usize) {
        if self.changes.back().is_some_and(|&(_, last)| last == limit) {
            return;
        }
        self.changes.push_back((self.now, limit));
        if self.changes.len() > CHANGES_MAX {
            self.changes.pop_front();
        }
    }

    /// How many jobs were started in a tick as long as the last, a `latency` ago.
    pub(super) fn started_before(&self, latency: f64) -> u64 {
        let then = self.now - latency;
        let tick = self.started.iter().rev().find(|&&(at, _)| at <= then + 1e-9);
        tick.map_or(0, |&(_, started)| started)
    }

    /// How long ago the limit was changed.
    pub(super) fn since_change(&self) -> f64 {
        self.changes.back().map_or(f64::MAX, |&(at, _)| self.now - at)
    }

    /// Whether answers speak for more than `limit`: they take no longer than the `latency` at first, and come from a time
    /// when the limit was not much lower.
    pub(super) fn speaks_for_more(&self, limit: usize, latency: f64) -> bool {
        self.since_change() >= HURRY_EVERY
            && self.answered(latency).is_some_and(|answered| limit < HURRY_FACTOR * answered)
            && self.latency().is_none_or(|now| now <= HURRY_LATENCY * latency)
    }

    /// How long an answer took, if there were enough.
    fn latency(&self) -> Option<f64> {
        let (answered, latency, _) = self.sums();
        (answered >= ANSWERS_MIN).then(|| latency / answered as f64)
    }

    /// The concurrency that the last answers tell of: that of a `latency` ago, when they were asked for. None where they
    /// are too few for it, or too many jobs are lost.
    fn answered(&self, latency: f64) -> Option<usize> {
        let asked_at = self.now - latency;
        let before = self.changes.iter().rev().find(|&&(at, _)| at <= asked_at);
        let &(_, limit) = before.or(self.changes.front())?;
        let (answered, _, lost) = self.sums();
        let seconds: f64 = self.ticks.iter().map(|tick| tick.seconds).sum();
        let promised = limit as f64 / latency * seconds;
        let is_promised = answered as f64 >= PROMISED * promised;
        (is_promised && 2 * lost <= answered.max(1)).then_some(limit)
    }

    /// Answers, their latencies, and losses.
    fn sums(&self) -> (u64, f64, u64) {
        self.ticks.iter().fold((0, 0.0, 0), |(answered, latency, lost), tick| {
            (answered + tick.answered, latency + tick.latency, lost + tick.lost)
        })
    }
}
