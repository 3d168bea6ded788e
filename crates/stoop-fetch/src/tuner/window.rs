//! A window: how many jobs were answered in what time, after a change has settled.

use super::tick::Tick;

/// A change has settled after so many rounds, in each of which as many jobs end as are in flight.
const SETTLED_AFTER: f64 = 2.0;
const SETTLED_AFTER_MIN: f64 = 0.05;
const SECONDS_MIN: f64 = 0.25;
/// A round is taken to last no longer, in seconds: jobs that never end would hold up everything.
const ROUND_MAX: f64 = 5.0;
/// As many answers tell rates apart that differ by some percent, if they come over so many seconds: a machine that does
/// something else meanwhile does it for some tenths of one.
const ANSWERS_ENOUGH: f64 = 1_000.0;
const SECONDS_OF_ENOUGH: f64 = 0.75;
/// A window of two rounds that is longer than this ends with fewer.
const SECONDS_ENOUGH: f64 = 2.0;
/// What differs by so many standard deviations differs.
const DEVIATIONS: f64 = 3.0;
/// After so many latencies fewer answers than this part of the usual are a collapse.
const COLLAPSED_AFTER: f64 = 3.0;
const COLLAPSED: f64 = 0.6;
/// A limit is used if jobs wait for it in this part of the time.
const USED: f64 = 0.5;
/// How long the first window waits for a whole round, in seconds.
const FIRST_SECONDS: f64 = 2.0;
/// Fewer answers tell no latency.
const FIRST_ANSWERS: f64 = 10.0;
/// How long a job takes that is lost, where none has ended yet: the usual deadline.
const LOST_LATENCY: f64 = 5.0;

/// What happened since a change has settled.
#[derive(Debug, Default)]
pub(super) struct Window {
    /// What happened until now settles: for how long, and how many jobs have ended.
    settling: Option<(f64, f64)>,
    /// How long ago the window was made, and how many jobs were answered since.
    made: (f64, f64),
    seconds: f64,
    wanted_seconds: f64,
    answered: f64,
    latency: f64,
    lost: f64,
    lost_latency: f64,
    /// Jobs that were started a latency before.
    started: f64,
}

impl Window {
    /// A window that begins now, or when a change has settled.
    pub(super) fn new(is_changed: bool) -> Self {
        Self { settling: is_changed.then_some((0.0, 0.0)), ..Self::default() }
    }

    /// Adds a tick with a `limit`, and how many jobs were started a latency before. Nothing settles before those have
    /// ended that are too many.
    pub(super) fn add(&mut self, tick: &Tick, started: u64, limit: usize) {
        self.made.0 += tick.seconds;
        self.made.1 += tick.answered as f64;
        if let Some((seconds, ended)) = &mut self.settling {
            *seconds += tick.seconds;
            *ended += (tick.answered + tick.lost) as f64;
            let is_over = *seconds >= SETTLED_AFTER_MIN
                && *ended >= SETTLED_AFTER * limit as f64
                && tick.in_flight <= limit;
            if is_over || *seconds >= ROUND_MAX {
                self.settling = None;
            }
            return;
        }
        self.seconds += tick.seconds;
        self.wanted_seconds += if tick.is_wanted { tick.seconds } else { 0.0 };
        self.answered += tick.answered as f64;
        self.latency += tick.latency;
        self.lost += tick.lost as f64;
        self.lost_latency += tick.lost_latency;
        self.started += started as f64;
    }

    /// Whether the limit was not what held jobs up.
    pub(super) fn is_unused(&self, limit: usize) -> bool {
        (self.seconds >= SECONDS_ENOUGH || self.has_rounds(1.0, limit))
            && self.wanted_seconds < USED * self.seconds
    }

    /// How many jobs are answered in a second with `limit`, once that is known well enough: to be told apart from
    /// `compared`, or at all.
    pub(super) fn rate(&self, limit: usize, compared: Option<f64>) -> Option<f64> {
        let rate = self.lasting_rate(limit);
        let deviation = rate / self.answered.max(1.0).sqrt();
        let is_clear = compared.is_some_and(|other| (rate - other).abs() > DEVIATIONS * deviation);
        let is_enough = self.answered >= ANSWERS_ENOUGH && self.seconds >= SECONDS_OF_ENOUGH
            || self.seconds >= SECONDS_ENOUGH && self.has_rounds(2.0, limit);
        (self.has_rounds(1.0, limit) && (is_clear || is_enough)).then_some(rate)
    }

    /// The same, known less well and sooner.
    pub(super) fn first_rate(&self, limit: usize) -> Option<f64> {
        let is_soon = self.has_rounds(2.0, limit);
        self.rate(limit, None).or_else(|| is_soon.then(|| self.lasting_rate(limit)))
    }

    /// Whether it is clear before there is a rate that it will be a small part of `usual`. Jobs take `latency`.
    pub(super) fn is_collapsed(&self, latency: f64, usual: f64) -> bool {
        let (seconds, answered) = self.made;
        seconds >= SECONDS_MIN + COLLAPSED_AFTER * latency && answered < COLLAPSED * usual * seconds
    }

    /// Whether the window has so many rounds: with less it could have all answers of one, or none.
    fn has_rounds(&self, rounds: f64, limit: usize) -> bool {
        self.seconds >= SECONDS_MIN
            && (self.answered + self.lost >= rounds * limit as f64 || self.seconds >= ROUND_MAX)
    }

    /// Which part of the jobs is answered, as far as that is certain.
    pub(super) fn part_answered(&self) -> f64 {
        let missing = self.started - self.answered;
        let is_certain = missing > DEVIATIONS * self.started.sqrt();
        if is_certain { self.answered / self.started } else { 1.0 }
    }

    /// The rate of answers once jobs that are lost take their part of the concurrency: they do for as long as their
    /// deadline, and the first of them end only then.
    fn lasting_rate(&self, limit: usize) -> f64 {
        let part = self.part_answered();
        if part >= 1.0 || self.answered == 0.0 {
            return self.answered / self.seconds;
        }
        let lost_latency =
            if self.lost > 0.0 { self.lost_latency / self.lost } else { LOST_LATENCY };
        let latency = self.latency / self.answered;
        limit as f64 * part / (part * latency + (1.0 - part) * lost_latency)
    }

    /// Which part of `limit` is jobs that are answered.
    pub(super) fn in_use(&self, limit: usize) -> f64 {
        self.latency / self.seconds / limit as f64
    }

    /// How long an answer took, if there was any.
    pub(super) fn latency(&self) -> Option<f64> {
        (self.answered > 0.0).then(|| self.latency / self.answered)
    }

    /// The same once `limit` jobs were answered, or for some time none more.
    pub(super) fn latency_of(&self, limit: usize) -> Option<f64> {
        let is_known = self.answered >= limit as f64
            || self.seconds >= FIRST_SECONDS && self.answered >= FIRST_ANSWERS;
        self.latency().filter(|_| is_known)
    }
}
