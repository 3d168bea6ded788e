//! The state of a run that its threads share: the plan, what moves between the threads, their
//! counters, and why the run ends. [`run`](super::run()) starts and joins the threads.

use std::io;
use std::sync::atomic::{AtomicIsize, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use tokio::sync::Notify;

use super::fetcher::Fetchers;
use super::input::InputGauge;
use super::lane::Lane;
use super::output::OutputBuffer;
use super::permits::Permits;
use super::plan::FetchPlan;
use super::source::Stop;

/// The state that the reader, the cores, the writer and the main thread of a run share.
pub(super) struct RunState {
    pub(super) plan: FetchPlan,
    pub(super) fetchers: Fetchers,
    pub(super) lanes: Vec<Lane>,
    pub(super) permits: Permits,
    pub(super) output: OutputBuffer,
    pub(super) input: InputGauge,
    pub(super) gauges: Vec<CoreGauge>,
    /// URLs the client held beyond their deadline.
    pub(super) overdue: AtomicU64,
    /// The request to end before the input does.
    pub(super) stop: Stop,
    /// The writer has written the last line, or failed.
    pub(super) written: Notify,
    cause: Mutex<Option<EndCause>>,
    input_error: Mutex<Option<io::Error>>,
    cores_left: AtomicUsize,
}

/// The progress of one core. Written by that core alone; a line of cache to itself.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(super) struct CoreGauge {
    pub(super) done: AtomicU64,
    pub(super) errors: AtomicU64,
    pub(super) in_flight: AtomicIsize,
}

/// Why a run ended before its input did.
#[derive(Debug)]
pub(super) enum EndCause {
    Signal(u8),
    /// The time of `--duration` was over.
    Duration,
    /// Lines could not be written; the writer says why.
    OutputFailed,
    /// A core could not begin.
    CoreFailed(io::Error),
}

impl RunState {
    /// The state of a run that has not begun. `total_bytes` is the length of its input, 0 if unknown.
    pub(super) fn new(plan: FetchPlan, fetchers: Fetchers, total_bytes: u64) -> Self {
        let cores = plan.cores;
        Self {
            lanes: (0..cores).map(|_| Lane::default()).collect(),
            permits: Permits::new(plan.concurrency, cores),
            output: OutputBuffer::default(),
            input: InputGauge { total_bytes: total_bytes.into(), ..InputGauge::default() },
            gauges: (0..cores).map(|_| CoreGauge::default()).collect(),
            overdue: AtomicU64::new(0),
            stop: Stop::default(),
            written: Notify::new(),
            cause: Mutex::new(None),
            input_error: Mutex::new(None),
            cores_left: AtomicUsize::new(cores),
            fetchers,
            plan,
        }
    }

    pub(super) fn is_stopping(&self) -> bool {
        self.stop.is_requested()
    }

    /// Ends the run: unfinished URLs are answered as cancelled. The first cause counts.
    pub(super) fn stop(&self, cause: EndCause) {
        self.cause.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(cause);
        self.stop.request();
        self.wake_cores();
    }

    /// Wakes all cores.
    pub(super) fn wake_cores(&self) {
        self.lanes.iter().for_each(Lane::wake_core);
    }

    /// Keeps the error that ended the input.
    pub(super) fn set_input_error(&self, error: io::Error) {
        *self.input_error.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
    }

    /// The error that ended the input, if one did.
    pub(super) fn take_input_error(&self) -> Option<io::Error> {
        self.input_error.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Why the run ended before its input did, if it did.
    pub(super) fn take_cause(&self) -> Option<EndCause> {
        self.cause.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Notes that core `index` has ended, however it did: neither the reader nor the writer may wait
    /// for it.
    pub(super) fn core_ended(&self, index: usize) {
        self.lanes[index].close();
        if self.cores_left.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.output.close();
        }
    }
}
