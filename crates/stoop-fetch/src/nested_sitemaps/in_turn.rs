//! A sitemap asks for the turns of its requests, of which all wait as those of a job do that follow from its first one.

use std::cell::Cell;
use std::sync::Arc;
use std::time::Instant;

use crate::robots_gate::RobotsGate;
use crate::run_state::RunState;
use crate::turns::{Asker, Mail, Post, Turn};

/// A sitemap that is fetched.
pub(super) struct NestedSitemap<'a> {
    run: Option<&'a Arc<RunState>>,
    robots: Option<&'a Arc<RobotsGate>>,
    has_permit: Cell<bool>,
}

impl<'a> NestedSitemap<'a> {
    /// One that has neither a permit nor a place yet.
    pub(super) fn new(run: Option<&'a Arc<RunState>>, robots: Option<&'a Arc<RobotsGate>>) -> Self {
        Self { run, robots, has_permit: Cell::new(false) }
    }

    fn give_permit_back(&self) {
        if let Some(run) = self.run.filter(|_| self.has_permit.take()) {
            run.give_back_permit(None);
        }
    }
}

impl Asker for NestedSitemap<'_> {
    fn run(&self) -> Option<&Arc<RunState>> {
        self.run
    }

    fn robots(&self) -> Option<&Arc<RobotsGate>> {
        self.robots
    }

    fn begin_rest(&self) {
        self.give_permit_back();
    }

    fn begin_wait(&self, _now: Instant) {
        self.give_permit_back();
    }

    fn wait_for(&self, worker: usize, turn: Turn, _since: Instant) {
        self.give_permit_back();
        if let Some(run) = self.run {
            run.post(worker, Mail::Want(turn));
        }
    }

    fn end_wait(&self, is_granted: bool) {
        self.has_permit.set(is_granted);
    }

    fn not_sent(&self) {
        // Its turn took a place of the rate.
        if let Some(run) = self.run.filter(|_| self.has_permit.get()) {
            run.settings.rate.give_back();
        }
    }
}

impl Drop for NestedSitemap<'_> {
    fn drop(&mut self) {
        self.give_permit_back();
    }
}
