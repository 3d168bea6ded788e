//! The turns of requests that wait at the hosts of a worker, and follow from others.

use std::time::Instant;

use super::PoliteQueue;
use crate::turns::{Answer, Mail, Turn};

impl PoliteQueue {
    /// Of how many hosts a request that waits may be sent now.
    pub(in super::super) fn turns_due(&self) -> usize {
        self.due.len()
    }

    /// Takes what is said of the turns of hosts.
    pub(in super::super) fn take_mail(&mut self, mail: Vec<Mail>, now: Instant) {
        for mail in mail {
            match mail {
                Mail::Want(turn) => self.want(turn, now),
                Mail::Left { host, start, feedback } => self.finished(host, start, feedback, now),
                Mail::Told { host, start, feedback } => self.told(host, start, feedback, now),
            }
        }
        self.look_at_time(now);
    }

    /// A request waits for the turn of its host.
    fn want(&mut self, turn: Turn, now: Instant) {
        self.key.clear();
        self.key.extend_from_slice(&turn.key);
        let id = turn.place.unwrap_or_else(|| self.host_of_key(now));
        self.hosts[id.index()].want(&self.politeness, turn);
        self.settle_anew(id, now);
    }

    /// Gives a turn to the request that is the next, with a permit of the caller's. False if none takes it.
    pub(in super::super) fn give_turn(&mut self, now: Instant) -> bool {
        while let Some(id) = self.due.pop_front() {
            let host = &mut self.hosts[id.index()];
            host.is_due = false;
            let turn = host.next_turn(now);
            let has_place = turn.as_ref().is_some_and(|turn| turn.place.is_some());
            let is_taken = turn.is_some_and(|turn| turn.answer(Answer::Granted(id)));
            if is_taken {
                self.hosts[id.index()].went_on(&self.politeness, has_place, now);
            }
            self.settle(id, now);
            if is_taken {
                return true;
            }
        }
        false
    }
}
