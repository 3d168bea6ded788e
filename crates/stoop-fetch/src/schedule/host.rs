//! A host: its jobs that wait, and how many it is given at once.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use super::feedback::Feedback;
use crate::lane::Batch;
use crate::politeness::Politeness;
use crate::turns::{Answer, Turn};

/// The first pause of a host that asks for less without saying for how long. Each further one is twice as long.
const PAUSE_MIN: Duration = Duration::from_secs(1);

/// How long it is remembered that a host asked for less, or did not answer, while it has no jobs.
const TROUBLE_MEMORY: Duration = Duration::from_secs(60);

/// How long a host is left alone at first, and at most, that does not answer.
const SUSPENSION: Duration = Duration::from_secs(30);
const SUSPENSION_MAX: Duration = Duration::from_secs(300);

/// A host of a worker.
#[derive(Debug)]
pub(super) struct Host {
    pub(super) key: Box<[u8]>,
    /// Its jobs that wait, in their order.
    pub(super) queue: Batch,
    /// Requests that wait for a turn and follow from others: first those that have a place here.
    turns: VecDeque<Turn>,
    pub(super) in_flight: usize,
    /// It stands among those of which a request that waits may be sent now.
    pub(super) is_due: bool,
    /// It stands among those that may start a job now.
    pub(super) is_ready: bool,
    /// When it is looked at again, if its time comes.
    pub(super) timed_at: Option<Instant>,
    /// No job is started before.
    next_start: Instant,
    /// How many are in flight at once: it falls by half, and grows by a part of one with each answer.
    allowed: f64,
    /// How many pauses there were since the last answer.
    pauses: u32,
    /// When it last asked for less. What was started before says nothing new.
    overloaded_at: Option<Instant>,
    /// How many jobs came to nothing since its last response.
    failures: u32,
    /// How often it was suspended since then.
    suspensions: u32,
    /// Until when its jobs are not tried.
    suspended_until: Option<Instant>,
    /// Its robots.txt was read, or does not count. Until then one job at a time is started.
    has_robots_rules: bool,
    /// What its robots.txt says.
    crawl_delay: Duration,
    /// When a job was sent last, if robots.txt counts.
    sent_at: Option<Instant>,
    /// When a job came to nothing last.
    failed_at: Option<Instant>,
}

impl Host {
    pub(super) fn new(key: &[u8], politeness: &Politeness, now: Instant) -> Self {
        Self {
            key: key.into(),
            queue: Batch::default(),
            turns: VecDeque::new(),
            in_flight: 0,
            is_due: false,
            is_ready: false,
            timed_at: None,
            next_start: now,
            allowed: politeness.per_host as f64,
            pauses: 0,
            overloaded_at: None,
            failures: 0,
            suspensions: 0,
            suspended_until: None,
            has_robots_rules: politeness.robots.is_none(),
            crawl_delay: Duration::ZERO,
            sent_at: None,
            failed_at: None,
        }
    }

    /// What is left of one that was forgotten, whose memory is given back.
    pub(super) fn forgotten(now: Instant) -> Self {
        Self::new(b"", &Politeness::default(), now)
    }

    /// When its next job may start, if no other has to finish first.
    pub(super) fn next_start(&self, now: Instant) -> Option<Instant> {
        if self.is_suspended(now) {
            // To be answered at once.
            return Some(now);
        }
        // After a suspension one job tries whether it answers.
        let has_one = self.suspended_until.is_some() || !self.has_robots_rules;
        let allowed = if has_one { 1.0 } else { self.allowed.floor() };
        ((self.in_flight as f64) < allowed).then_some(self.next_start)
    }

    /// When it is looked at again that has a job or a request that waits.
    pub(super) fn next_look(&self, now: Instant) -> Option<Instant> {
        match self.turns.front() {
            Some(turn) if turn.place.is_some() => Some(self.next_start),
            _ => self.next_start(now),
        }
    }

    /// Whether neither a job nor a request waits.
    pub(super) fn is_empty(&self) -> bool {
        self.queue.is_empty() && self.turns.is_empty()
    }

    /// A request waits for a turn.
    pub(super) fn want(&mut self, politeness: &Politeness, turn: Turn) {
        if let Some(crawl_delay) = turn.crawl_delay {
            self.has_robots_rules = true;
            self.crawl_delay = self.crawl_delay.max(crawl_delay.min(politeness.pause_max));
        }
        let at = match turn.place {
            Some(_) => self.turns.iter().position(|turn| turn.place.is_none()),
            None => None,
        };
        self.turns.insert(at.unwrap_or(self.turns.len()), turn);
    }

    /// Whether requests wait for turns.
    pub(super) fn has_turns(&self) -> bool {
        !self.turns.is_empty()
    }

    /// Whether a request that waits may be sent now.
    pub(super) fn has_turn(&self, now: Instant) -> bool {
        !self.turns.is_empty() && self.next_look(now).is_some_and(|at| at <= now)
    }

    /// The request whose turn it is.
    pub(super) fn next_turn(&mut self, now: Instant) -> Option<Turn> {
        self.answer_suspended(now);
        let has_turn = self.has_turn(now);
        self.turns.pop_front_if(|_| has_turn)
    }

    /// Answers the requests that wait, if its jobs are answered without being tried.
    pub(super) fn answer_suspended(&mut self, now: Instant) {
        if self.is_suspended(now) {
            for turn in self.turns.drain(..) {
                turn.answer(Answer::Suspended);
            }
        }
    }

    /// Takes note that a request is sent that waited for its turn.
    pub(super) fn went_on(&mut self, politeness: &Politeness, has_place: bool, now: Instant) {
        self.started(politeness, now);
        if has_place {
            self.in_flight -= 1;
        }
        self.sent_at = Some(now);
    }

    /// Whether its jobs are answered without being tried.
    pub(super) fn is_suspended(&self, now: Instant) -> bool {
        self.suspended_until.is_some_and(|until| now < until)
    }

    /// Takes note that a job was started.
    pub(super) fn started(&mut self, politeness: &Politeness, now: Instant) {
        self.in_flight += 1;
        self.next_start = self.next_start.max(now + politeness.interval.max(self.crawl_delay));
    }

    /// Takes note of what its robots.txt says, to a job that is sent now, or that gives its turn back. The origins of a
    /// host may say different things: the longest delay holds.
    pub(super) fn learned(
        &mut self,
        politeness: &Politeness,
        crawl_delay: Option<Duration>,
        is_sent: bool,
        now: Instant,
    ) {
        self.has_robots_rules = true;
        let crawl_delay = crawl_delay.unwrap_or_default().min(politeness.pause_max);
        self.crawl_delay = self.crawl_delay.max(crawl_delay);
        let delay = politeness.interval.max(self.crawl_delay);
        if is_sent {
            self.sent_at = Some(now);
            self.next_start = self.next_start.max(now + delay);
        } else if self.pauses == 0 {
            self.next_start = self.sent_at.map_or(now, |at| at + delay);
        }
    }

    /// Takes note that a job has finished that was started at `start`.
    pub(super) fn finished(
        &mut self,
        politeness: &Politeness,
        start: Instant,
        feedback: Feedback,
        now: Instant,
    ) {
        self.told(politeness, start, feedback, now);
        self.in_flight -= 1;
    }

    /// Takes note of what came of a request that was sent at `start`.
    pub(super) fn told(
        &mut self,
        politeness: &Politeness,
        start: Instant,
        feedback: Feedback,
        now: Instant,
    ) {
        match feedback {
            Feedback::None => {}
            Feedback::Failed => self.failed(politeness, start, now),
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
        if matches!(feedback, Feedback::Answered | Feedback::Overloaded(_)) {
            (self.failures, self.suspensions) = (0, 0);
            (self.suspended_until, self.failed_at) = (None, None);
        }
    }

    /// Takes note that a job came to nothing that was started at `start`.
    fn failed(&mut self, politeness: &Politeness, start: Instant, now: Instant) {
        self.failures = self.failures.saturating_add(1);
        self.failed_at = Some(now);
        let is_reached = politeness.failures_max > 0 && self.failures >= politeness.failures_max;
        // What was started before a suspension says nothing new.
        if is_reached && self.suspended_until.is_none_or(|until| start >= until) {
            let doubled = SUSPENSION * (1 << self.suspensions.min(16));
            self.suspended_until = Some(now + doubled.min(SUSPENSION_MAX));
            self.suspensions += 1;
        }
    }

    /// Until when it is remembered without jobs; where there are very many, for as long only as it may start none.
    pub(super) fn remembered_until(&self, is_crowded: bool) -> Instant {
        let troubles = [self.overloaded_at, self.failed_at, self.suspended_until];
        let troubles = troubles.into_iter().flatten().filter(|_| !is_crowded);
        troubles.map(|at| at + TROUBLE_MEMORY).fold(self.next_start, Instant::max)
    }
}
