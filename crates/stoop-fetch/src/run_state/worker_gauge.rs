//! The progress of one worker, which others look at.

use std::sync::atomic::{AtomicIsize, AtomicU64, AtomicUsize, Ordering};

use crate::tuning_gauge::TuningGauge;

/// The progress of one worker. Written by that worker alone; a line of cache to itself.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct WorkerGauge {
    pub(crate) done: AtomicU64,
    pub(crate) errors: AtomicU64,
    pub(crate) in_flight: AtomicIsize,
    /// Jobs whose next request waits for the turn of its host, or for the delay before that.
    pub(crate) waiting: AtomicUsize,
    /// Bytes of content, of jobs that are done and of those in flight.
    pub(crate) content_bytes: AtomicU64,
    pub(crate) tuning: TuningGauge,
}

impl WorkerGauge {
    /// How many jobs of the worker are in flight.
    pub(crate) fn in_flight(&self) -> usize {
        self.in_flight.load(Ordering::Relaxed).max(0).unsigned_abs()
    }

    /// Counts content as it comes. Only the worker's thread may: a load and a store are as good as an addition then.
    pub(crate) fn add_content(&self, bytes: usize) {
        let before = self.content_bytes.load(Ordering::Relaxed);
        self.content_bytes.store(before + bytes as u64, Ordering::Relaxed);
    }
}
