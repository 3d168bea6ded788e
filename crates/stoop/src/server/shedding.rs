//! Load shedding: whether a core has so much to do that a new request is better answered at once, by 503.
//!
//! Two things tell: how many handlers run, and how late the thread comes to its tasks. For the second the acceptor of the
//! core asks to be woken every 100 ms: between the time it asked for and the time it is polled, every task that was
//! ready had its turn. While it is not polled at all, the lag is seen to grow by the clock.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::task::Context;
use std::time::{Duration, Instant};

use http::StatusCode;
use stoop_io::{Timer, now};

use super::events::ShedReason;
use crate::limits::SheddingLimits;
use crate::response::Response;

/// How often the lag of a core is measured: often enough that shedding ends soon after what caused it, and ten wake-ups
/// a second cost nothing that can be measured.
const MEASURED_EVERY: Duration = Duration::from_millis(100);

/// When a client is asked to come back, in seconds: ten measurements later.
pub(super) const RETRY_AFTER_SECONDS: &str = "1";

const TEXT: &str = "503 Service Unavailable: the server has too much to do (RFC 9110 §15.6.4)\n";

/// What is known of a core's load.
pub(super) struct CoreLoad {
    epoch: Instant,
    /// How late the last measurement was, in microseconds.
    lag: AtomicU64,
    /// When the next is due, in microseconds since the epoch; [`u64::MAX`] where none is.
    due: AtomicU64,
    /// Handlers that run.
    running: AtomicUsize,
}

impl CoreLoad {
    pub(super) fn new() -> Self {
        let (lag, due) = (AtomicU64::new(0), AtomicU64::new(u64::MAX));
        Self { epoch: now(), lag, due, running: AtomicUsize::new(0) }
    }

    pub(super) fn begin_handler(&self) {
        self.running.fetch_add(1, Relaxed);
    }

    pub(super) fn end_handler(&self) {
        self.running.fetch_sub(1, Relaxed);
    }

    pub(super) fn running(&self) -> usize {
        self.running.load(Relaxed)
    }

    /// Why a request is to be shed, if it is.
    #[inline]
    pub(super) fn shed_reason(&self, limits: &SheddingLimits) -> Option<ShedReason> {
        let running = self.running();
        if running >= limits.handlers_max {
            return Some(ShedReason::Handlers { running });
        }
        match self.due.load(Relaxed) {
            u64::MAX => None,
            due => self.lag_beyond(due, limits.lag_max),
        }
    }

    #[cold]
    fn lag_beyond(&self, due: u64, max: Duration) -> Option<ShedReason> {
        let overdue = self.micros(now()).saturating_sub(due);
        let lag = Duration::from_micros(self.lag.load(Relaxed).max(overdue));
        (lag > max.max(MEASURED_EVERY)).then_some(ShedReason::Lag { lag })
    }

    fn micros(&self, at: Instant) -> u64 {
        u64::try_from(at.saturating_duration_since(self.epoch).as_micros()).unwrap_or(u64::MAX - 1)
    }
}

/// Measures how late a core is.
pub(super) struct LagMeter {
    timer: Timer,
    due: Instant,
}

impl LagMeter {
    /// One that begins now; none where there is no limit.
    pub(super) fn new(limits: &SheddingLimits, timer: impl Fn() -> Timer) -> Option<Self> {
        (limits.lag_max < Duration::MAX).then(|| Self { timer: timer(), due: now() })
    }

    /// Measures if it is due, and has the task woken for the next time.
    pub(super) fn poll(&mut self, load: &CoreLoad, cx: &mut Context<'_>) {
        loop {
            let now = now();
            if now >= self.due {
                let lag = now.saturating_duration_since(self.due).as_micros();
                load.lag.store(u64::try_from(lag).unwrap_or(u64::MAX), Relaxed);
                self.due = now + MEASURED_EVERY;
                load.due.store(load.micros(self.due), Relaxed);
            }
            if self.timer.poll(cx, Some(self.due)).is_pending() {
                return;
            }
        }
    }

    /// Measures no more.
    pub(super) fn end(self, load: &CoreLoad) {
        load.due.store(u64::MAX, Relaxed);
    }
}

/// The answer to a request that is shed.
pub(super) fn overloaded<B>() -> Response<B> {
    let response = Response::refusal(StatusCode::SERVICE_UNAVAILABLE, TEXT);
    let failure = |_| Response::refusal(StatusCode::SERVICE_UNAVAILABLE, TEXT);
    response.with_field("retry-after", RETRY_AFTER_SECONDS).unwrap_or_else(failure)
}

#[cfg(test)]
mod tests {
    use std::task::Waker;

    use super::*;

    fn limits(lag_max: Duration) -> SheddingLimits {
        SheddingLimits { lag_max, ..SheddingLimits::default() }
    }

    #[tokio::test(start_paused = true)]
    async fn a_lag_counts_once_it_was_measured_and_while_it_grows() {
        let (load, limits) = (CoreLoad::new(), limits(Duration::from_secs(1)));
        let mut meter = LagMeter::new(&limits, Timer::precise).unwrap();
        let cx = &mut Context::from_waker(Waker::noop());
        meter.poll(&load, cx);
        assert_eq!(load.shed_reason(&limits), None);
        // The next measurement is due after 100 ms.
        tokio::time::advance(Duration::from_millis(1_100)).await;
        assert_eq!(load.shed_reason(&limits), None);
        tokio::time::advance(Duration::from_millis(1)).await;
        let lag = Duration::from_millis(1_001);
        assert_eq!(load.shed_reason(&limits), Some(ShedReason::Lag { lag }));
        meter.poll(&load, cx);
        assert_eq!(load.shed_reason(&limits), Some(ShedReason::Lag { lag }));
        tokio::time::advance(MEASURED_EVERY).await;
        meter.poll(&load, cx);
        assert_eq!(load.shed_reason(&limits), None);
        // A core that measures no more is never late.
        meter.end(&load);
        tokio::time::advance(Duration::from_secs(9)).await;
        assert_eq!(load.shed_reason(&limits), None);
    }

    #[tokio::test(start_paused = true)]
    async fn no_limit_is_never_measured() {
        assert!(LagMeter::new(&SheddingLimits::default(), Timer::precise).is_none());
    }

    #[test]
    fn a_core_sheds_when_as_many_handlers_run_as_may() {
        let load = CoreLoad::new();
        let limits = SheddingLimits { handlers_max: 1, ..SheddingLimits::default() };
        assert_eq!(load.shed_reason(&limits), None);
        load.begin_handler();
        assert_eq!(load.shed_reason(&limits), Some(ShedReason::Handlers { running: 1 }));
        load.end_handler();
        assert_eq!(load.shed_reason(&limits), None);
    }
}
