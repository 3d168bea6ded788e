//! A network in numbers, on which a concurrency is fixed or found: jobs queue for a line or a processor, wait for
//! their hosts, and are lost where too many are in flight.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::{Tick, Tuner};

const TICK: f64 = 0.05;
const DEADLINE: f64 = 5.0;

/// A network, and the machine in front of it.
#[derive(Clone, Copy)]
pub(super) struct Network {
    /// Jobs in a second that the line, or the processor, takes.
    pub(super) capacity: f64,
    /// What has this capacity is the processor, whose load is seen.
    pub(super) is_processor: bool,
    /// How long a host takes for an answer, in seconds: evenly from the first to the second.
    pub(super) delay: (f64, f64),
    /// Jobs that start before this time, in seconds, take the first of these: a list may begin with what is quick.
    pub(super) quick_until: f64,
    /// Jobs beyond so many in flight make that part of all time out.
    pub(super) bearable: usize,
    /// This part of the hosts never answers.
    pub(super) dead: f64,
    /// Jobs beyond so many in flight fail at once for want of a descriptor.
    pub(super) descriptors: usize,
    /// Hosts and source have so many jobs at once, at most.
    pub(super) demand: usize,
    /// What chance begins with.
    pub(super) seed: u64,
}

impl Default for Network {
    fn default() -> Self {
        Self {
            capacity: 1e9,
            is_processor: false,
            delay: (0.001, 0.001),
            quick_until: 0.0,
            bearable: usize::MAX,
            dead: 0.0,
            descriptors: usize::MAX,
            demand: usize::MAX,
            seed: 7,
        }
    }
}

/// What became of a run.
#[derive(Debug, Default)]
pub(super) struct Course {
    /// Jobs that were answered until each tick.
    pub(super) answered: Vec<u64>,
    /// The limit after each tick.
    pub(super) limits: Vec<usize>,
}

impl Course {
    /// Answers in a second, between two times in seconds.
    pub(super) fn rate(&self, from: f64, to: f64) -> f64 {
        let at = |seconds: f64| self.answered[(seconds / TICK) as usize - 1] as f64;
        (at(to) - at(from)) / (to - from)
    }

    /// The lowest and the highest limit from a time on, in seconds.
    pub(super) fn range(&self, from: f64) -> (usize, usize) {
        let limits = &self.limits[(from / TICK) as usize..];
        (*limits.iter().min().expect("some"), *limits.iter().max().expect("some"))
    }
}

/// What happens to one job in the end.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum End {
    Answered,
    Lost,
    Exhausted,
}

/// Times as whole nanoseconds, which have an order.
type Nanos = u64;

fn nanos(seconds: f64) -> Nanos {
    (seconds * 1e9) as Nanos
}

/// Runs for some seconds with a limit that `tuner` finds, or is told.
pub(super) fn run(network: Network, mut tuner: Tuner, seconds: f64) -> Course {
    let mut state = State { network, random: network.seed, ..State::default() };
    let mut course = Course::default();
    let mut answered = 0;
    for number in 1..=(seconds / TICK).ceil() as u64 {
        let tick = state.until(number as f64 * TICK, tuner.limit());
        answered += tick.answered;
        tuner.tick(&tick);
        course.answered.push(answered);
        course.limits.push(tuner.limit());
    }
    course
}

#[derive(Default)]
struct State {
    network: Network,
    now: f64,
    in_flight: usize,
    /// When each job ends, when it began, and how.
    ends: BinaryHeap<Reverse<(Nanos, Nanos, End)>>,
    /// When the line, or the processor, has done all that waits for it.
    free_at: f64,
    random: u64,
}

impl State {
    fn until(&mut self, end: f64, limit: usize) -> Tick {
        let mut tick = Tick { seconds: TICK, ..Tick::default() };
        let before = self.in_flight as u64;
        self.fill(limit);
        while let Some(&Reverse((at, start, what))) = self.ends.peek()
            && at <= nanos(end)
        {
            self.ends.pop();
            self.now = at as f64 / 1e9;
            self.in_flight -= 1;
            match what {
                End::Answered => {
                    tick.answered += 1;
                    tick.latency += (at - start) as f64 / 1e9;
                }
                End::Lost => {
                    tick.lost += 1;
                    tick.lost_latency += (at - start) as f64 / 1e9;
                }
                End::Exhausted => (tick.lost, tick.is_exhausted) = (tick.lost + 1, true),
            }
            self.fill(limit);
        }
        self.now = end;
        tick.started = self.in_flight as u64 + tick.answered + tick.lost - before;
        tick.in_flight = self.in_flight;
        tick.is_wanted = self.in_flight >= limit && limit < self.network.demand;
        if self.network.is_processor {
            let work = tick.started as f64 / self.network.capacity;
            let behind = self.free_at > end;
            tick.busy = if behind { 1.0 } else { (work / TICK).min(1.0) };
            tick.least_busy = tick.busy;
        }
        tick
    }

    /// Starts as many jobs as may be.
    fn fill(&mut self, limit: usize) {
        while self.in_flight < limit.min(self.network.demand) {
            let (end, what) = self.outcome();
            self.in_flight += 1;
            self.ends.push(Reverse((nanos(end), nanos(self.now), what)));
        }
    }

    fn outcome(&mut self) -> (f64, End) {
        let Network { capacity, delay, bearable, dead, descriptors, .. } = self.network;
        let least = delay.0;
        let most = if self.now < self.network.quick_until { least } else { delay.1 };
        if self.in_flight >= descriptors {
            return (self.now + 0.001, End::Exhausted);
        }
        if self.random() < dead || self.random() * self.in_flight as f64 > bearable as f64 {
            return (self.now + DEADLINE, End::Lost);
        }
        let delay = least + self.random() * (most - least);
        self.free_at = self.free_at.max(self.now) + 1.0 / capacity;
        match self.free_at + delay {
            end if end - self.now > DEADLINE => (self.now + DEADLINE, End::Lost),
            end => (end, End::Answered),
        }
    }

    /// A number from 0 to 1 (Knuth's generator).
    fn random(&mut self) -> f64 {
        self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.random >> 11) as f64 / (1_u64 << 53) as f64
    }
}
