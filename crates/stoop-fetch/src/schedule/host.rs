//! A host: its jobs that wait, and how many it is given at once.

use std::time::{Duration, Instant};

use super::feedback::Feedback;
use crate::lane::Batch;
use crate::politeness::Politeness;

/// The first pause of a host that asks for less without saying for how long. Each further one is twice as long.
const PAUSE_MIN: Duration = Duration::from_secs(1);

/// How long it is remembered that a host asked for less, while it has no jobs.
const OVERLOAD_MEMORY: Duration = Duration::from_secs(60);

/// Where a host stands whose jobs wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// In no queue: it has no job that waits, or as many in flight as it may have.
    None,
    /// Among those that may start a job now.
    Ready,
    /// Among those whose time comes.
    Timed,
}

/// A host of a worker.
#[derive(Debug)]
pub(super) struct Host {
    pub(super) key: Box<[u8]>,
    /// Its jobs that wait, in their order.
    pub(super) queue: Batch,
    pub(super) in_flight: usize,
    pub(super) place: Place,
    /// No job is started before.
    pub(super) next_start: Instant,
    /// How many are in flight at once: it falls by half, and grows by a part of one with each answer.
    allowed: f64,
    /// How many pauses there were since the last answer.
    pauses: u32,
    /// When it last asked for less. What was started before says nothing new.
    overloaded_at: Option<Instant>,
}

impl Host {
    pub(super) fn new(key: &[u8], politeness: &Politeness, now: Instant) -> Self {
        Self {
            key: key.into(),
            queue: Batch::default(),
            in_flight: 0,
            place: Place::None,
            next_start: now,
            allowed: politeness.per_host as f64,
            pauses: 0,
            overloaded_at: None,
        }
    }

    /// What is left of one that was forgotten, whose memory is given back.
    pub(super) fn forgotten(now: Instant) -> Self {
        Self::new(b"", &Politeness::default(), now)
    }

    /// Whether it may have one more job in flight, if its time has come.
    pub(super) fn has_room(&self) -> bool {
        (self.in_flight as f64) < self.allowed.floor()
    }

    /// Takes note that a job was started.
    pub(super) fn started(&mut self, politeness: &Politeness, now: Instant) {
        self.in_flight += 1;
        self.next_start = self.next_start.max(now + politeness.interval);
    }

    /// Takes note that a job has finished that was started at `start`.
    pub(super) fn finished(
        &mut self,
        politeness: &Politeness,
        start: Instant,
        feedback: Feedback,
        now: Instant,
    ) {
        match feedback {
            Feedback::None => {}
            Feedback::Answered if self.overloaded_at.is_some_and(|at| start <= at) => {}
            Feedback::Answered => {
                self.pauses = 0;
                let limit = politeness.per_host as f64;
                self.allowed = (self.allowed + 1.0 / self.allowed).min(limit);
                if self.allowed >= limit {
                    self.overloaded_at = None;
                }
            }
            Feedback::Overloaded(pause) => {
                if self.overloaded_at.is_none_or(|at| start > at) {
                    self.allowed = (self.allowed / 2.0).max(1.0);
                    self.overloaded_at = Some(now);
                    self.pauses = self.pauses.saturating_add(1);
                }
                let doubled = 1_u32 << (self.pauses.max(1) - 1).min(16);
                let pause = pause.unwrap_or(PAUSE_MIN * doubled).min(politeness.pause_max);
                self.next_start = self.next_start.max(now + pause);
            }
        }
        self.in_flight -= 1;
    }

    /// Until when it is remembered without jobs.
    pub(super) fn remembered_until(&self) -> Instant {
        let overloaded = self.overloaded_at.map(|at| at + OVERLOAD_MEMORY);
        overloaded.map_or(self.next_start, |until| until.max(self.next_start))
    }
}
