//! What is counted of a worker for those who find the concurrency, and what they tell.

use std::sync::atomic::{AtomicU8, AtomicU64, Ordering::Relaxed};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::runtime::{Handle, RuntimeMetrics};

use crate::kinds;
use crate::record::Outcome;
use crate::summary::ResultCode;
use crate::tuner::Hindrance;

/// What comes of asking for too much: of a host, of a line or of this machine.
const LOST: &[&str] = &[
    kinds::TOTAL_TIMEOUT,
    kinds::READ_TIMEOUT,
    kinds::SLOW_BODY,
    kinds::CONNECT_TIMEOUT,
    kinds::DNS_TIMEOUT,
    kinds::DNS_SERVFAIL,
    kinds::H2_REFUSED,
];
const EXHAUSTED: &[&str] = &[kinds::TOO_MANY_FILES, kinds::NO_LOCAL_PORTS];
/// Kinds of error without a request.
pub(crate) const NOT_ASKED: &[&str] = &[
    kinds::INVALID_URL,
    kinds::INVALID_JOB,
    kinds::HOST_SUSPENDED,
    kinds::ROBOTS_DENIED,
    kinds::CANCELLED,
    kinds::INTERNAL,
];

/// What is counted of one worker. Written by that worker alone, but for `metrics`.
#[derive(Debug, Default)]
pub(crate) struct TuningGauge {
    pub(crate) answered: AtomicU64,
    pub(crate) answered_us: AtomicU64,
    pub(crate) lost: AtomicU64,
    pub(crate) lost_us: AtomicU64,
    /// Those among the lost that found no descriptor or port.
    pub(crate) exhausted: AtomicU64,
    demand: AtomicU8,
    /// The figures of its event loop, which keep that in memory.
    metrics: Mutex<Option<RuntimeMetrics>>,
}

/// What a worker waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Demand {
    /// The source has nothing for it.
    Source,
    /// The hosts of its jobs are given no more.
    Hosts,
    /// All requests together have a rate, and it allows no more.
    Rate,
    Permits,
}

impl TuningGauge {
    /// Counts a job with its outcome. Only the worker's thread calls it.
    pub(crate) fn add(&self, outcome: &Outcome, duration: Duration) {
        let us = u64::try_from(duration.as_micros()).unwrap_or(u64::MAX);
        // A load and a store are as good as an addition, where one thread writes.
        let add = |count: &AtomicU64, more: u64| {
            count.store(count.load(Relaxed).wrapping_add(more), Relaxed);
        };
        let kind = match outcome.code {
            ResultCode::Error(kind) => kind,
            ResultCode::Status(_) => "",
        };
        if NOT_ASKED.contains(&kind) {
            return;
        }
        let is_exhausted = EXHAUSTED.contains(&kind);
        if is_exhausted {
            add(&self.exhausted, 1);
        }
        let is_lost = is_exhausted || LOST.contains(&kind) || outcome.overloaded.is_some();
        let (count, time) = match is_lost {
            true => (&self.lost, &self.lost_us),
            false => (&self.answered, &self.answered_us),
        };
        add(count, 1);
        add(time, us);
    }

    /// Notes what the worker waits for.
    pub(crate) fn set_demand(&self, demand: Demand) {
        self.demand.store(demand as u8, Relaxed);
    }

    /// Whether the worker waits for this.
    pub(crate) fn waits_for(&self, demand: Demand) -> bool {
        self.demand.load(Relaxed) == demand as u8
    }

    /// Begins to watch the event loop of this thread.
    pub(crate) fn watch_event_loop(&self) {
        *self.metrics() = Handle::try_current().ok().map(|handle| handle.metrics());
    }

    /// Ends that: the event loop has ended.
    pub(crate) fn forget_event_loop(&self) {
        *self.metrics() = None;
    }

    /// How long the event loop had something to do, until now.
    pub(crate) fn busy(&self) -> Option<Duration> {
        self.metrics().as_ref().map(|metrics| metrics.worker_total_busy_duration(0))
    }

    fn metrics(&self) -> MutexGuard<'_, Option<RuntimeMetrics>> {
        self.metrics.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What the search tells others, and its end.
#[derive(Debug, Default)]
pub(crate) struct TuningState {
    hindrance: Mutex<Option<Hindrance>>,
    is_over: Mutex<bool>,
    over: Condvar,
}

impl TuningState {
    /// Ends the search.
    pub(crate) fn end(&self) {
        *self.is_over.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.over.notify_all();
    }

    /// Waits for the next tick; false at the end.
    pub(crate) fn wait(&self, tick: Duration) -> bool {
        let is_over = self.is_over.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.over.wait_timeout_while(is_over, tick, |is_over| !*is_over);
        !*waited.unwrap_or_else(PoisonError::into_inner).0
    }

    pub(crate) fn set_hindrance(&self, hindrance: Option<Hindrance>) {
        *self.hindrance.lock().unwrap_or_else(PoisonError::into_inner) = hindrance;
    }

    pub(crate) fn hindrance(&self) -> Option<Hindrance> {
        *self.hindrance.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
