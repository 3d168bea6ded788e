//! How much of a worker's jobs is held.

use crate::job::Job;

/// How many jobs are held of hosts that may start none now, and how many bytes of them.
pub(super) const HELD_MAX: usize = 65_536;
pub(super) const HELD_BYTES_MAX: usize = 16 << 20;

/// How many jobs are held, and how many bytes of them.
#[derive(Default)]
pub(super) struct HeldJobs {
    pub(super) jobs: usize,
    pub(super) bytes: usize,
}

impl HeldJobs {
    pub(super) fn add(&mut self, job: &Job<'_>) {
        self.jobs += 1;
        self.bytes += job.held_bytes();
    }

    pub(super) fn remove(&mut self, job: &Job<'_>) {
        self.jobs -= 1;
        self.bytes -= job.held_bytes();
    }
}
