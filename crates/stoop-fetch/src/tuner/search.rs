//! The search: which concurrency is tried next, and which is kept.

mod steps;

use super::level::{Hindrance, Level};
use super::recent::{HURRY_EVERY, HURRY_LATENCY_MIN, Recent};
use super::tick::Tick;
use super::window::Window;
use crate::concurrency::Concurrency;

/// A window in which answers are as many more, for twice the concurrency, has paid in the ramp.
const RAMP_GAIN: f64 = 1.04;
/// A probe upward pays with so many more answers, for half as much concurrency again.
const UP_GAIN: f64 = 1.02;
/// It pays in full with so many: then the ramp goes on.
const FULL_GAIN: f64 = 1.3;
/// A probe downward pays if so many are left of the best.
const DOWN_LEFT: f64 = 0.985;
/// A rate that is so many times what it was has changed by itself.
const FELL: f64 = 0.7;
const ROSE: f64 = 1.4;
/// The most windows between two probes: the number doubles with each that does not pay.
const PROBE_GAP_MAX: u32 = 16;
/// Where fewer jobs than this part are answered there may be too many: less is tried before more.
const LOSSY: f64 = 0.7;
/// The same where only this part of the concurrency is jobs that will be answered.
const STALLED: f64 = 0.08;
/// What was started before a change fails after it, for want of a descriptor.
const BACK_OFF_EVERY: f64 = 0.25;
/// How much of the best rate is forgotten with each probe that does not pay: it may have been luck.
const FORGOTTEN: f64 = 0.005;
/// A worker's event loop that is busy for this part of the time gets no more done.
const BUSY: f64 = 0.85;
/// Where all of them are busy for this part, more than is kept has too little to gain to be tried: each probe takes memory for
/// what is in flight in it.
const ALL_BUSY: f64 = 0.95;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Ramp,
    Hold,
    Up,
    Down,
}

/// Finds the concurrency of a run.
#[derive(Debug)]
pub(crate) struct Tuner {
    bounds: Concurrency,
    limit: usize,
    phase: Phase,
    window: Window,
    recent: Recent,
    /// How long an answer took, in the last window or, before there was any, at first.
    latency: Option<f64>,
    /// How long it took before the ramp went up.
    base_latency: f64,
    /// What is returned to where a step does not pay.
    kept: Option<Level>,
    /// The best rate, as it would be by now: so that many small losses do not become a large one.
    best: f64,
    probe_gap: u32,
    until_probe: u32,
    probes_up: bool,
    busy: f64,
    least_busy: f64,
    /// Many jobs were lost in the last window.
    is_lossy: bool,
    /// Nothing was tried yet but more.
    is_first_ramp: bool,
}

impl Tuner {
    pub(crate) fn new(bounds: Concurrency) -> Self {
        Self {
            bounds,
            limit: bounds.start(),
            phase: Phase::Ramp,
            window: Window::new(false),
            recent: Recent::new(bounds.start()),
            latency: None,
            base_latency: 0.0,
            kept: None,
            best: 0.0,
            probe_gap: 1,
            until_probe: 1,
            probes_up: true,
            busy: 0.0,
            least_busy: 0.0,
            is_lossy: false,
            is_first_ramp: true,
        }
    }

    /// How many jobs may be in flight.
    pub(crate) fn limit(&self) -> usize {
        self.limit
    }

    /// What keeps the concurrency from growing; none while it grows.
    pub(crate) fn hindrance(&self) -> Option<Hindrance> {
        match self.phase {
            _ if self.limit >= self.bounds.max() => Some(Hindrance::Ceiling),
            _ if self.busy >= BUSY => Some(Hindrance::Cores),
            Phase::Ramp => None,
            _ => Some(Hindrance::Rate),
        }
    }

    /// Takes note of what happened, which may change the limit.
    pub(crate) fn tick(&mut self, tick: &Tick) {
        let part = (tick.seconds / HURRY_EVERY).min(1.0);
        self.busy += (tick.busy - self.busy) * part;
        self.least_busy += (tick.least_busy - self.least_busy) * part;
        self.recent.add(tick);
        if tick.is_exhausted && self.recent.since_change() >= BACK_OFF_EVERY {
            return self.back_off(tick.in_flight);
        }
        let Some(latency) = self.latency else {
            // Until a round is answered there is nothing to compare: the first answers are those of the fastest hosts.
            self.window.add(tick, tick.started, self.limit);
            if let Some(latency) = self.window.latency_of(self.limit) {
                (self.latency, self.base_latency) = (Some(latency), latency);
                self.window = Window::new(true);
            }
            return;
        };
        self.window.add(tick, self.recent.started_before(latency), self.limit);
        if self.phase == Phase::Ramp && tick.is_wanted && self.may_hurry(latency) {
            self.change(2 * self.limit);
        } else if self.window.is_unused(self.limit) {
            self.forgo();
        } else if let Some(kept) = self.kept.filter(|kept| self.is_collapsed(latency, *kept)) {
            self.probes_up = false;
            self.hold(kept, self.next_gap());
        } else if let Some(rate) = self.window_rate() {
            self.latency = self.window.latency().or(self.latency);
            self.is_lossy =
                self.window.part_answered() < LOSSY || self.window.in_use(self.limit) < STALLED;
            self.judge(rate);
        }
    }

    /// The rate of the window, once it is known well enough: the first one soon, as twice the concurrency that it is compared
    /// with makes a large difference.
    fn window_rate(&self) -> Option<f64> {
        match self.kept.is_none() && self.is_first_ramp {
            true => self.window.first_rate(self.limit),
            false => self.window.rate(self.limit, self.compared()),
        }
    }

    /// Whether the ramp goes on before a window says that it pays.
    fn may_hurry(&self, latency: f64) -> bool {
        self.is_first_ramp
            && latency >= HURRY_LATENCY_MIN
            && self.limit < self.bounds.max()
            && self.busy < BUSY
            && self.recent.speaks_for_more(self.limit, self.base_latency)
    }

    /// The rate that the window is compared with, to know soon which is higher.
    fn compared(&self) -> Option<f64> {
        let kept = self.kept?;
        match self.phase {
            Phase::Ramp => Some(kept.rate * self.ramp_gain(kept)),
            Phase::Hold => None,
            Phase::Up => Some(kept.rate * UP_GAIN),
            Phase::Down => Some(self.best * DOWN_LEFT),
        }
    }

    /// What the ramp has to gain over `kept`.
    fn ramp_gain(&self, kept: Level) -> f64 {
        RAMP_GAIN.powf((self.limit as f64 / kept.limit as f64).log2().max(0.0))
    }

    /// Whether more was tried than `kept`, and is answered so badly that no window is needed to see it.
    fn is_collapsed(&self, latency: f64, kept: Level) -> bool {
        self.limit > kept.limit && self.window.is_collapsed(latency, kept.rate)
    }

    /// How many windows come before the next probe, where one did not pay.
    fn next_gap(&self) -> u32 {
        (2 * self.probe_gap).min(PROBE_GAP_MAX)
    }

    /// Decides by the rate of a window.
    fn judge(&mut self, rate: f64) {
        let now = Level { limit: self.limit, rate };
        let pays = self.compared().is_none_or(|compared| rate >= compared);
        let pays_in_full = |kept: Level| {
            rate >= kept.rate * FULL_GAIN.powf((self.limit as f64 / kept.limit as f64).log2())
        };
        if self.is_first_ramp && self.kept.is_some_and(pays_in_full) {
            // Where so many more are answered, answers do not take longer for want of room: the first ones were quick.
            self.base_latency = self.base_latency.max(self.latency.unwrap_or(0.0));
        }
        let Some(kept) = self.kept.filter(|_| self.phase != Phase::Ramp || !pays) else {
            self.keep(now);
            return self.ramp();
        };
        match self.phase {
            Phase::Ramp => self.hold(kept, 1),
            Phase::Hold => self.held(kept, rate),
            Phase::Up | Phase::Down if !pays => {
                self.probes_up = self.phase == Phase::Down;
                self.best = kept.rate.max(self.best * (1.0 - FORGOTTEN));
                self.hold(kept, self.next_gap());
            }
            Phase::Up => {
                self.keep(now);
                self.probe_gap = 1;
                let is_full = rate >= kept.rate * FULL_GAIN;
                if is_full { self.ramp() } else { self.probe() }
            }
            Phase::Down => {
                self.keep(now);
                self.probe_gap = 1;
                self.probe();
            }
        }
    }

    /// One more window without a change.
    fn held(&mut self, kept: Level, rate: f64) {
        let now = Level { limit: self.limit, rate };
        if rate < kept.rate * FELL || rate > kept.rate * ROSE {
            (self.kept, self.best) = (Some(now), rate);
            // Where answers became slower, more of them at once may make up for it.
            if rate < kept.rate {
                return self.ramp();
            }
        }
        let before = self.kept.map_or(rate, |kept| kept.rate);
        let smooth = (rate + before) / 2.0;
        // What changes the rate without a change of the concurrency would have changed the best one too.
        self.best *= if before > 0.0 { smooth / before } else { 1.0 };
        self.keep(Level { rate: smooth, ..now });
        self.until_probe = self.until_probe.saturating_sub(1);
        match self.until_probe {
            0 => self.probe(),
            _ => self.change(self.limit),
        }
    }

    fn keep(&mut self, level: Level) {
        self.kept = Some(level);
        self.best = self.best.max(level.rate);
    }
}
