//! How many jobs may be in flight where a run has a bandwidth: all that have started may come with content at once, which would
//! be late then.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::time::Instant;

use super::queue::{PIECE_BYTES, Queue};

/// So many jobs are in flight before one has ended, but for those that start because nothing comes.
const JOBS_MIN: usize = 4;

/// How many jobs may be in flight, as those before have shown.
#[derive(Debug)]
pub(super) struct Starts {
    /// As many may be for another to start.
    jobs: AtomicUsize,
    /// How many have ended.
    ended: AtomicU64,
}

impl Starts {
    /// None has started.
    pub(super) fn new() -> Self {
        Self { jobs: AtomicUsize::new(JOBS_MIN), ended: AtomicU64::new(0) }
    }

    /// Whether another job may start where so many are in flight. None does while content waits, and no more than have shown
    /// that there is room for them. Where nothing comes, as from hosts that do not answer, one more may each time that its
    /// content could have been read: so many may come with content at once that are read one after the other as fast.
    pub(super) fn may_start(&self, in_flight: usize, queue: &Queue, now: Instant) -> bool {
        let has_room = in_flight < self.jobs.load(Relaxed) && !queue.is_short();
        in_flight == 0 || has_room || queue.is_idle(self.job_bytes(queue), now)
    }

    /// A job has started, and so many are in flight with it.
    pub(super) fn started(&self, in_flight: usize, queue: &mut Queue, now: Instant) {
        let more = |jobs| (jobs < in_flight).then_some(jobs + 1);
        if self.jobs.fetch_update(Relaxed, Relaxed, more).is_ok() {
            queue.spend(self.job_bytes(queue), now);
        }
    }

    /// A job has ended, and so many are in flight yet: there may be one more from now on if those that may be are used, or one
    /// less where content waits.
    pub(super) fn ended(&self, in_flight: usize, is_short: bool) {
        self.ended.fetch_add(1, Relaxed);
        let change = |jobs: usize| match is_short {
            true => jobs.checked_sub(1).filter(|jobs| *jobs >= JOBS_MIN),
            false => (jobs <= 2 * (in_flight + 1)).then_some(jobs + 1),
        };
        let _ = self.jobs.fetch_update(Relaxed, Relaxed, change);
    }

    /// What a job may come with: as much as those before had, and a piece at least.
    fn job_bytes(&self, queue: &Queue) -> u64 {
        (queue.read() / self.ended.load(Relaxed).max(1)).max(PIECE_BYTES)
    }
}
