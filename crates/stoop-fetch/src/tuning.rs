//! Has the concurrency of a run found: counts what the [`Tuner`] has to know, and does what it says, on a thread of its
//! own that sleeps nearly all the time.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use crate::progress::Bottleneck;
use crate::run_state::{RunState, WorkerGauge};
use crate::tuner::{Hindrance, Tick, Tuner};
use crate::tuning_gauge::{Demand, TuningGauge};

/// Often enough for a ramp of four steps a second.
const TICK: Duration = Duration::from_millis(50);

/// What was counted until a moment, over all workers.
struct Counts {
    at: Instant,
    answered: u64,
    answered_us: u64,
    lost: u64,
    lost_us: u64,
    exhausted: u64,
    in_flight: usize,
    busy: Vec<Option<Duration>>,
}

impl Counts {
    fn of(run: &RunState) -> Self {
        let sum = |count: fn(&TuningGauge) -> &AtomicU64| {
            let counts = run.gauges.iter().map(|gauge| count(&gauge.tuning).load(Relaxed));
            counts.fold(0, u64::wrapping_add)
        };
        Self {
            at: Instant::now(),
            answered: sum(|gauge| &gauge.answered),
            answered_us: sum(|gauge| &gauge.answered_us),
            lost: sum(|gauge| &gauge.lost),
            lost_us: sum(|gauge| &gauge.lost_us),
            exhausted: sum(|gauge| &gauge.exhausted),
            in_flight: run.gauges.iter().map(WorkerGauge::in_flight).sum(),
            busy: run.gauges.iter().map(|gauge| gauge.tuning.busy()).collect(),
        }
    }

    /// What happened since `before`.
    fn since(&self, before: &Self, is_wanted: bool) -> Tick {
        let seconds = (self.at - before.at).as_secs_f64().max(1e-6);
        let in_seconds = |us: u64| us as f64 / 1e6;
        let (answered, lost) = (self.answered - before.answered, self.lost - before.lost);
        let busy = self.busy.iter().zip(&before.busy).filter_map(|(now, before)| {
            // It is told when the event loop waits, and may be of more time than that of the tick.
            Some(now.as_ref()?.saturating_sub((*before)?).as_secs_f64() / seconds)
        });
        let (least_busy, busy) = busy.fold((f64::INFINITY, 0.0_f64), |(least, most), busy| {
            (least.min(busy), most.max(busy))
        });
        Tick {
            seconds,
            answered,
            latency: in_seconds(self.answered_us - before.answered_us),
            lost,
            lost_latency: in_seconds(self.lost_us - before.lost_us),
            started: (answered + lost + self.in_flight as u64)
                .saturating_sub(before.in_flight as u64),
            in_flight: self.in_flight,
            is_wanted,
            busy,
            // None has told it yet.
            least_busy: if least_busy.is_finite() { least_busy } else { 0.0 },
            is_exhausted: self.exhausted > before.exhausted,
        }
    }
}

/// Finds the concurrency of `run` until that ends.
pub(crate) fn tune(run: &RunState) {
    let mut tuner = Tuner::new(run.settings.concurrency);
    let mut before = Counts::of(run);
    run.tuning.set_hindrance(tuner.hindrance());
    while run.tuning.wait(TICK) {
        let now = Counts::of(run);
        // While the output or a limit of the run's own holds everything up, what is slow is not for want of concurrency.
        let is_held_up = run.is_full() || run.waits_for_bandwidth();
        let is_wanted = run.permits.is_short() && !is_held_up;
        let limit = tuner.limit();
        tuner.tick(&now.since(&before, is_wanted));
        if tuner.limit() != limit {
            run.permits.resize(tuner.limit(), |worker| run.lanes[worker].wake_worker());
        }
        run.tuning.set_hindrance(tuner.hindrance());
        before = now;
    }
}

/// What keeps more jobs of `run` from being in flight.
pub(crate) fn bottleneck(run: &RunState) -> Option<Bottleneck> {
    let waits_for = |demand| run.gauges.iter().any(|gauge| gauge.tuning.waits_for(demand));
    if run.output.is_full() {
        return Some(Bottleneck::Output);
    }
    if run.content_budget.is_short() {
        return Some(Bottleneck::ContentMemory);
    }
    if run.waits_for_bandwidth() {
        return Some(Bottleneck::Bandwidth);
    }
    if !run.permits.is_short() {
        return Some(match () {
            () if waits_for(Demand::Rate) => Bottleneck::Rate,
            () if waits_for(Demand::Hosts) => Bottleneck::Hosts,
            () => Bottleneck::Source,
        });
    }
    if !run.settings.concurrency.is_auto() {
        return Some(Bottleneck::Concurrency);
    }
    run.tuning.hindrance().map(|hindrance| match hindrance {
        Hindrance::Ceiling => run.settings.ceiling,
        Hindrance::Cores => Bottleneck::Cores,
        Hindrance::Rate => Bottleneck::Network,
    })
}
