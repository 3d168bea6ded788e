//! Decides which of a worker's jobs is started next.
//!
//! Without politeness that is the order of the lane, and costs nothing; so it is with it, as long as it could hold up no job,
//! because a host may have all that are in flight, and none has answered 429 or 503, or not at all. Otherwise each host has a queue of its own, and
//! those that may start a job now take turns. Requests that follow from others ([`turns`](crate::turns)) come first:
//!
//! ```text
//! mail ─► turns of hosts ────────────► turns due, in turn ─► jobs that wait
//!                                               ▲
//!                                   timed: hosts whose time comes
//!                                               ▼
//! lane ─► incoming ─┬─► queue of host a ─┐
//!                   ├─► queue of host b ─┼─► ready, in turn ─► slots
//!                   └─► without a host ──┘
//! ```

#[cfg(test)]
mod asleep_tests;
mod feedback;
mod host;
mod host_key;
#[cfg(test)]
mod outage_tests;
#[cfg(test)]
mod overload_tests;
mod polite;
#[cfg(test)]
mod robots_tests;
mod started;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod turn_tests;

use std::time::{Duration, Instant};

pub(crate) use self::feedback::Feedback;
pub(crate) use self::host_key::{address_key, host_key, server_key};
use self::polite::PoliteQueue;
#[cfg(test)]
use self::started::Suspension;
pub(crate) use self::started::{HostId, Started};
use crate::lane::Batch;
use crate::politeness::Politeness;
use crate::turns::{Mail, Turn, take_troubles};

/// The jobs of one worker that were not started yet.
pub(crate) struct Schedule {
    /// Jobs as they came from the lane.
    incoming: Batch,
    polite: Option<Box<PoliteQueue>>,
    /// Politeness could hold up no job yet: hosts do not count theirs.
    is_asleep: bool,
}

impl Schedule {
    /// A schedule for so many jobs in flight at most.
    pub(crate) fn new(politeness: Option<Politeness>, in_flight_max: usize) -> Self {
        Self {
            is_asleep: politeness.as_ref().is_some_and(|it| it.allows_at_once(in_flight_max)),
            incoming: Batch::default(),
            polite: politeness.map(|politeness| Box::new(PoliteQueue::new(politeness))),
        }
    }

    /// How many jobs may be started now, or fewer, but some if there are any.
    pub(crate) fn ready(&mut self) -> usize {
        if self.polite.is_some() {
            for (url, feedback) in take_troubles() {
                self.told_of(url.as_bytes(), Instant::now(), feedback);
            }
        }
        match &mut self.polite {
            None => self.incoming.len(),
            Some(_) if self.is_asleep => self.incoming.len(),
            Some(polite) => polite.ready(&mut self.incoming, Instant::now()),
        }
    }

    /// Room for jobs from the lane, if none are left that were not looked at, and the window is not full.
    pub(crate) fn room(&mut self) -> Option<&mut Batch> {
        let is_full = self.polite.as_ref().is_some_and(|polite| polite.is_full());
        (self.incoming.is_empty() && !is_full).then_some(&mut self.incoming)
    }

    /// Moves the next job into `started`, if one may start now.
    pub(crate) fn start(&mut self, started: &mut Started) -> bool {
        match &mut self.polite {
            Some(polite) if !self.is_asleep => {
                polite.start(&mut self.incoming, started, Instant::now())
            }
            _ => {
                let Some(job) = self.incoming.pop() else { return false };
                started.put(job, None);
                started.is_uncounted = self.is_asleep;
                true
            }
        }
    }

    /// What came of a request for `url`, of a job that no host counts and that was started at `start`. From the first one on
    /// that says something hosts count their jobs.
    pub(crate) fn told_of(&mut self, url: &[u8], start: Instant, feedback: Feedback) {
        if let (Some(polite), Feedback::Overloaded(_) | Feedback::Failed) =
            (&mut self.polite, feedback)
        {
            self.is_asleep = false;
            polite.told_of(url, start, feedback, Instant::now());
        }
    }

    /// A job of `host` that was started at `start` has finished.
    pub(crate) fn finished(&mut self, host: HostId, start: Instant, feedback: Feedback) {
        if let Some(polite) = &mut self.polite {
            polite.finished(host, start, feedback, Instant::now());
        }
    }

    /// A job of `host` knows what robots.txt says, and is sent now if `is_sent`.
    pub(crate) fn learned(&mut self, host: HostId, crawl_delay: Option<Duration>, is_sent: bool) {
        if let Some(polite) = &mut self.polite {
            polite.learned(host, crawl_delay, is_sent, Instant::now());
        }
    }

    /// Takes what other workers, and this one, say of the turns of hosts.
    pub(crate) fn take_mail(&mut self, mail: Vec<Mail>) {
        if let Some(polite) = &mut self.polite {
            polite.take_mail(mail, Instant::now());
        }
    }

    /// A request waits for the turn of a host of this worker. With a permit of the caller's the turn is given at once that is
    /// the next of that host, if that has come. Returns whether one was.
    pub(crate) fn want(&mut self, turn: Turn, has_permit: bool) -> bool {
        let polite = self.polite.as_mut();
        polite.is_some_and(|polite| polite.want(turn, has_permit, Instant::now()))
    }

    /// How many requests may at least be sent now that wait for turns.
    pub(crate) fn turns_due(&self) -> usize {
        self.polite.as_ref().map_or(0, |polite| polite.turns_due())
    }

    /// Gives a turn to a request that waits for one, with a permit of the caller's. False if none takes it.
    pub(crate) fn give_turn(&mut self) -> bool {
        match &mut self.polite {
            Some(polite) if polite.turns_due() > 0 => polite.give_turn(Instant::now()),
            _ => false,
        }
    }

    /// What a host said to a request that was sent at `start`, and is followed by another.
    pub(crate) fn told(&mut self, host: HostId, start: Instant, feedback: Feedback) {
        if let Some(polite) = &mut self.polite {
            polite.told(host, start, feedback, Instant::now());
        }
    }

    /// Whether that is the key of a host.
    pub(crate) fn is_host(&self, host: HostId, key: &[u8]) -> bool {
        self.polite.as_ref().is_some_and(|polite| polite.is_host(host, key))
    }

    /// Whether a host may start a job, or send a request that waits, now. Without politeness no host counts.
    pub(crate) fn has_turns(&self) -> bool {
        self.polite.as_ref().is_some_and(|polite| polite.has_turns())
    }

    /// When a host may start its next job that may start none now.
    pub(crate) fn next_time(&self) -> Option<Instant> {
        self.polite.as_ref().and_then(|polite| polite.next_time())
    }

    /// Whether no job is left.
    pub(crate) fn is_empty(&self) -> bool {
        self.incoming.is_empty() && self.polite.as_ref().is_none_or(|polite| polite.held() == 0)
    }

    /// Moves a job into `given_up`, whatever its turn: it will not be started.
    pub(crate) fn give_up(&mut self, given_up: &mut Started) -> bool {
        if self.polite.as_mut().is_some_and(|polite| polite.give_up(given_up)) {
            return true;
        }
        let Some(job) = self.incoming.pop() else { return false };
        given_up.put(job, None);
        true
    }
}
