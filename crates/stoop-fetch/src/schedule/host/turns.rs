//! The requests of a host that wait for their turns, and follow from others.

use std::time::Instant;

use super::Host;
use crate::politeness::Politeness;
use crate::turns::{Answer, Turn};

/// How many requests wait for a host that does not answer, and come from others: the jobs that they belong to have slots.
const TURNS_WAITING_MAX: usize = 64;

impl Host {
    /// A request waits for a turn.
    pub(in crate::schedule) fn want(&mut self, politeness: &Politeness, turn: Turn) {
        if let Some(crawl_delay) = turn.crawl_delay {
            self.has_robots_rules = true;
            self.crawl_delay = self.crawl_delay.max(crawl_delay.min(politeness.pause_max));
        }
        let is_out = self.suspended_until.is_some();
        if is_out && turn.place.is_none() && self.turns.len() >= TURNS_WAITING_MAX {
            turn.answer(Answer::Suspended);
            return;
        }
        let at = match turn.place {
            Some(_) => self.turns.iter().position(|turn| turn.place.is_none()),
            None => None,
        };
        self.turns.insert(at.unwrap_or(self.turns.len()), turn);
    }

    /// Whether requests wait for turns.
    pub(in crate::schedule) fn has_turns(&self) -> bool {
        !self.turns.is_empty()
    }

    /// Whether a request that waits may be sent now.
    pub(in crate::schedule) fn has_turn(&self, now: Instant) -> bool {
        !self.turns.is_empty() && self.next_look(now).is_some_and(|at| at <= now)
    }

    /// The request whose turn it is.
    pub(in crate::schedule) fn next_turn(&mut self, now: Instant) -> Option<Turn> {
        self.answer_suspended(now);
        let has_turn = self.has_turn(now);
        self.turns.pop_front_if(|_| has_turn)
    }

    /// Answers the requests that wait, if its jobs are answered without being tried.
    pub(in crate::schedule) fn answer_suspended(&mut self, now: Instant) {
        if self.is_suspended(now) {
            for turn in self.turns.drain(..) {
                turn.answer(Answer::Suspended);
            }
        }
    }

    /// Takes note that a request has its turn, and is sent unless what robots.txt says is asked for first.
    pub(in crate::schedule) fn went_on(
        &mut self,
        politeness: &Politeness,
        (has_place, asks): (bool, bool),
        now: Instant,
    ) {
        self.started(politeness, now);
        if has_place {
            self.in_flight -= 1;
        }
        if !asks {
            self.sent_at = Some(now);
        }
    }
}
