//! A host: its jobs that wait, and how many it is given at once.

mod turns;

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use super::feedback::Feedback;
use super::started::Suspension;
use crate::lane::Batch;
use crate::politeness::Politeness;
use crate::turns::Turn;

/// The first pause of a host that asks for less without saying for how long. Each further one is twice as long. A shorter
/// Retry-After is none.
const PAUSE_MIN: Duration = Duration::from_secs(1);

/// How long it is remembered that a host asked for less, or did not answer, while it has no jobs.
const TROUBLE_MEMORY: Duration = Duration::from_secs(60);

/// The first wait for a host that does not answer, before one request tries it. Each further one is twice as long.
const TRIAL_WAIT_MIN: Duration = Duration::from_secs(1);

/// How long a host is left alone at first, and at most, whose outage was too long to be waited for.
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
    /// Since when it has answered nothing but that.
    overload_since: Option<Instant>,
    /// How many requests came to nothing since its last response.
    failures: u32,
    /// Since when it has been suspended, again and again, without a response in between.
    outage_since: Option<Instant>,
    /// How often it was suspended since then: first while its jobs wait, then while they are answered at once.
    suspensions: u32,
    /// Until when its jobs are not tried.
    suspended_until: Option<Instant>,
    /// Why it was not waited for any longer, if so: while it is suspended, its jobs are answered at once.
    given_up: Option<Suspension>,
    /// One request tries whether it answers after a suspension.
    is_tried: bool,
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
            overload_since: None,
            failures: 0,
            outage_since: None,
            suspensions: 0,
            suspended_until: None,
            given_up: None,
            is_tried: false,
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
        let allowed = if self.has_robots_rules { self.allowed.floor() } else { 1.0 };
        let has_place = (self.in_flight as f64) < allowed;
        self.next_request().filter(|_| has_place)
    }

    /// When the next request may be sent to it, if it has a place. After a suspension one tries whether the host answers, and
    /// the others wait for that.
    fn next_request(&self) -> Option<Instant> {
        let until = self.suspended_until.unwrap_or(self.next_start);
        (!self.is_tried).then_some(self.next_start.max(until))
    }

    /// When it is looked at again that has a job or a request that waits.
    pub(super) fn next_look(&self, now: Instant) -> Option<Instant> {
        match self.turns.front() {
            Some(turn) if turn.place.is_some() => self.next_request(),
            _ => self.next_start(now),
        }
    }

    /// Whether neither a job nor a request waits.
    pub(super) fn is_empty(&self) -> bool {
        self.queue.is_empty() && self.turns.is_empty()
    }

    /// Whether its jobs are answered without being tried.
    pub(super) fn is_suspended(&self, now: Instant) -> bool {
        self.suspension(now).is_some()
    }

    /// Why its jobs are answered without being tried, if they are.
    pub(super) fn suspension(&self, now: Instant) -> Option<Suspension> {
        self.given_up.filter(|_| self.suspended_until.is_some_and(|until| now < until))
    }

    /// Takes note that a job was started.
    pub(super) fn started(&mut self, politeness: &Politeness, now: Instant) {
        self.in_flight += 1;
        self.is_tried = self.suspended_until.is_some();
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
        // What was started before a suspension is not what tries the host, and what says nothing did not.
        if feedback == Feedback::None || self.suspended_until.is_none_or(|until| start >= until) {
            self.is_tried = false;
        }
        if matches!(feedback, Feedback::Answered | Feedback::Overloaded(_)) {
            (self.failures, self.suspensions) = (0, 0);
            (self.outage_since, self.failed_at) = (None, None);
            // What was started before says nothing of a pause that the host has asked for.
            let is_early = self.overloaded_at.is_some_and(|at| start <= at);
            if !is_early || self.given_up != Some(Suspension::LongPause) {
                (self.suspended_until, self.given_up, self.is_tried) = (None, None, false);
            }
        }
        match feedback {
            Feedback::None => {}
            Feedback::Failed => self.failed(politeness, start, now),
            Feedback::Answered if self.overloaded_at.is_some_and(|at| start <= at) => {
                self.overload_since = None;
            }
            Feedback::Answered => {
                (self.overload_since, self.pauses) = (None, 0);
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
                let asked = pause.filter(|pause| *pause >= PAUSE_MIN);
                let pause = asked.unwrap_or(PAUSE_MIN * doubled).min(politeness.pause_max);
                self.next_start = self.next_start.max(now + pause);
                let overload =
                    now.saturating_duration_since(*self.overload_since.get_or_insert(now));
                let max = politeness.overload_max;
                // The end of the pause would be too late, too.
                if overload >= max || overload + pause > max {
                    let beyond = overload.saturating_sub(max);
                    // Twice as long each time, because that is what has passed then.
                    let until = now + beyond.clamp(SUSPENSION, SUSPENSION_MAX);
                    self.suspended_until = Some(until.max(self.next_start));
                    self.given_up = Some(match asked {
                        Some(_) if pause > max => Suspension::LongPause,
                        _ => Suspension::Overloaded,
                    });
                }
            }
        }
    }

    /// Takes note that a request came to nothing that was sent at `start`.
    fn failed(&mut self, politeness: &Politeness, start: Instant, now: Instant) {
        self.failures = self.failures.saturating_add(1);
        self.failed_at = Some(now);
        let is_reached = politeness.failures_max > 0 && self.failures >= politeness.failures_max;
        // What was started before a suspension says nothing new.
        if !is_reached || self.suspended_until.is_some_and(|until| start < until) {
            return;
        }
        let outage = now.saturating_duration_since(*self.outage_since.get_or_insert(now));
        let left = politeness.outage_max.saturating_sub(outage);
        if left.is_zero() && self.given_up.is_none() {
            (self.given_up, self.suspensions) = (Some(Suspension::Silent), 0);
        }
        let doubled = 1 << self.suspensions.min(16);
        let wait = match self.given_up {
            Some(_) => (SUSPENSION * doubled).min(SUSPENSION_MAX),
            None => (TRIAL_WAIT_MIN * doubled).min(left),
        };
        self.suspended_until = Some(now + wait);
        self.suspensions += 1;
    }

    /// Until when it is remembered without jobs; where there are very many, for as long only as it may start none.
    pub(super) fn remembered_until(&self, is_crowded: bool) -> Instant {
        let troubles = [self.overloaded_at, self.failed_at, self.suspended_until];
        let troubles = troubles.into_iter().flatten().filter(|_| !is_crowded);
        troubles.map(|at| at + TROUBLE_MEMORY).fold(self.next_start, Instant::max)
    }
}
