//! The turns of requests that wait at the hosts of a worker, and follow from others.

use std::time::Instant;

use super::PoliteQueue;
use crate::schedule::HostId;
use crate::turns::{Answer, Mail, Turn};

impl PoliteQueue {
    /// Of how many hosts a request that waits may be sent now.
    pub(in super::super) fn turns_due(&self) -> usize {
        self.turns_due.len()
    }

    /// Takes what is said of the turns of hosts.
    pub(in super::super) fn take_mail(&mut self, mail: Vec<Mail>, now: Instant) {
        for mail in mail {
            match mail {
                Mail::Want(turn) => {
                    self.want(turn, false, now);
                }
                Mail::Left { host, start, feedback } => self.finished(host, start, feedback, now),
                Mail::Told { host, start, feedback } => self.told(host, start, feedback, now),
                Mail::Learned { host, crawl_delay, is_sent } => {
                    self.learned(host, crawl_delay, is_sent, now);
                }
            }
        }
        self.look_at_time(now);
    }

    /// A request waits for the turn of its host. With a permit of the caller's the turn is given at once that is the next
    /// of the host, if that has come. Returns whether one was.
    pub(in super::super) fn want(&mut self, turn: Turn, has_permit: bool, now: Instant) -> bool {
        self.key.clear();
        self.key.extend_from_slice(&turn.key);
        let id = turn.place.unwrap_or_else(|| self.host_of_key(now));
        self.hosts[id.index()].want(&self.politeness, turn);
        let is_given = has_permit && self.give_turn_of(id, now);
        self.settle_anew(id, now);
        is_given
    }

    /// Gives a turn to the request that is the next, with a permit of the caller's. False if none takes it.
    pub(in super::super) fn give_turn(&mut self, now: Instant) -> bool {
        while let Some(id) = self.turns_due.pop_front() {
            self.hosts[id.index()].is_due = false;
            let is_given = self.give_turn_of(id, now);
            self.settle_anew(id, now);
            if is_given {
                return true;
            }
        }
        false
    }

    /// The same for the requests of one host.
    fn give_turn_of(&mut self, id: HostId, now: Instant) -> bool {
        let host = &mut self.hosts[id.index()];
        while let Some(turn) = host.next_turn(now) {
            let turn_of = (turn.place.is_some(), turn.asks);
            if turn.answer(Answer::Granted(id)) {
                host.went_on(&self.politeness, turn_of, now);
                return true;
            }
        }
        false
    }
}
