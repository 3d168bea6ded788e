//! Which connections of a server are idle, and since when: what they report when a place is needed.
//!
//! Nothing is kept of idle connections while there is room, so that requests cost nothing for it. At need all connections
//! are woken, and those that are idle report since when. A report lasts for as many evictions as there were idle
//! connections, because whatever became idle since is younger. The choice is made over all cores, which wait for the
//! same places.

use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use stoop_io::now;

/// A connection that has been idle for less is left alone: its first request, or the next one, may be on the way.
const IDLE_MIN: Duration = Duration::from_secs(1);

/// How often connections are asked at most: to wake ten thousand takes some ten milliseconds.
pub(super) const ASK_EVERY: Duration = Duration::from_millis(100);

/// How long the answers are used: afterwards many of them may be idle no more, and each of those takes a step.
const ANSWERS_LAST: Duration = Duration::from_secs(2);

/// How long connections have to answer, and one that was chosen has to close, before the next step.
pub(super) const STEP: Duration = Duration::from_millis(5);

/// Which connections are idle, as far as they were asked.
#[derive(Default)]
pub(super) struct Idlers(Mutex<IdleList>);

#[derive(Default)]
pub(super) struct IdleList {
    /// How many acceptors have a connection waiting for a place.
    pub(super) waiting_acceptors: usize,
    /// When the connections were asked last.
    asked: Option<Instant>,
    /// Connections were asked, and no step followed yet: what they report is kept.
    is_collecting: bool,
    /// Since when each connection that reported is idle, by its number.
    reported: HashMap<NonZeroUsize, Instant>,
    /// Those of an earlier report that may be closed, the longest idle last.
    candidates: Vec<(Instant, NonZeroUsize)>,
    /// Those that are to close.
    chosen: Vec<NonZeroUsize>,
}

/// What is done for a place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum EvictionStep {
    /// That connection is to close.
    Close(NonZeroUsize),
    /// All connections are to report.
    Ask,
    /// None has been idle for long enough.
    Wait,
}

impl IdleList {
    pub(super) fn next_step(&mut self, now: Instant) -> EvictionStep {
        if self.asked.is_some_and(|asked| now >= asked + ANSWERS_LAST) {
            self.candidates.clear();
        }
        if self.candidates.is_empty() && std::mem::take(&mut self.is_collecting) {
            self.candidates =
                self.reported.drain().map(|(number, since)| (since, number)).collect();
            self.candidates.sort_unstable_by(|one, other| other.cmp(one));
        }
        match self.candidates.last() {
            Some((since, number)) if now.saturating_duration_since(*since) >= IDLE_MIN => {
                let number = *number;
                self.candidates.pop();
                self.chosen.push(number);
                EvictionStep::Close(number)
            }
            Some(_) => EvictionStep::Wait,
            None if self.asked.is_none_or(|asked| now >= asked + ASK_EVERY) => {
                self.asked = Some(now);
                self.is_collecting = true;
                self.reported.clear();
                self.chosen.clear();
                EvictionStep::Ask
            }
            None => EvictionStep::Wait,
        }
    }

    /// Whether connections are to report whether they are idle.
    pub(super) fn is_asking(&self) -> bool {
        self.is_collecting || !self.chosen.is_empty()
    }

    /// An acceptor needs a place no longer.
    pub(super) fn withdraw(&mut self) {
        self.waiting_acceptors -= 1;
        if self.waiting_acceptors == 0 {
            self.is_collecting = false;
            self.chosen.clear();
        }
    }

    /// A connection reports since when it is idle, if it is. Returns true if it is to close.
    fn report(&mut self, number: NonZeroUsize, idle_since: Option<Instant>, now: Instant) -> bool {
        let is_chosen = self.chosen.iter().position(|chosen| *chosen == number);
        if let Some(index) = is_chosen {
            self.chosen.swap_remove(index);
        }
        match idle_since {
            // A number may be another connection's by now.
            Some(since) if is_chosen.is_some() => now.saturating_duration_since(since) >= IDLE_MIN,
            Some(since) if self.is_collecting => {
                self.reported.insert(number, since);
                false
            }
            _ => {
                self.reported.remove(&number);
                false
            }
        }
    }
}

impl Idlers {
    pub(super) fn list(&self) -> MutexGuard<'_, IdleList> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A connection reports since when it is idle, if it is. Returns true if it is to close.
    pub(super) fn report(&self, number: NonZeroUsize, idle_since: Option<Instant>) -> bool {
        self.list().report(number, idle_since, now())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(n: usize) -> NonZeroUsize {
        NonZeroUsize::new(n).unwrap()
    }

    #[test]
    fn the_longest_idle_is_chosen_first_and_none_that_was_idle_for_less_than_a_second() {
        let (mut list, start) = (IdleList::default(), Instant::now());
        let at = |millis| start + Duration::from_millis(millis);
        assert_eq!(list.next_step(at(0)), EvictionStep::Ask);
        for (n, since) in [(1, 20), (2, 10), (3, 30)] {
            assert!(!list.report(number(n), Some(at(since)), at(40)));
        }
        // One that has got a request meanwhile is idle no more.
        assert!(!list.report(number(4), Some(at(0)), at(40)));
        assert!(!list.report(number(4), None, at(50)));
        assert_eq!(list.next_step(at(1_009)), EvictionStep::Wait);
        for (time, n) in [(1_010, 2), (1_020, 1)] {
            assert_eq!(list.next_step(at(time)), EvictionStep::Close(number(n)));
            assert!(list.report(number(n), Some(at(time - 1_000)), at(time)));
            assert!(!list.report(number(n), Some(at(time - 1_000)), at(time)), "told once");
        }
        assert_eq!(list.next_step(at(1_029)), EvictionStep::Wait);
        assert_eq!(list.next_step(at(1_030)), EvictionStep::Close(number(3)));
        // It has got a request.
        assert!(!list.report(number(3), None, at(1_030)));
    }

    #[test]
    fn old_answers_are_not_used() {
        let (mut list, start) = (IdleList::default(), Instant::now());
        assert_eq!(list.next_step(start), EvictionStep::Ask);
        list.report(number(1), Some(start), start);
        list.report(number(2), Some(start), start);
        assert_eq!(list.next_step(start + STEP), EvictionStep::Wait);
        assert!(!list.is_asking(), "connections that work are left alone");
        assert_eq!(list.next_step(start + IDLE_MIN), EvictionStep::Close(number(1)));
        assert!(list.is_asking());
        assert_eq!(list.next_step(start + ANSWERS_LAST), EvictionStep::Ask);
    }

    #[test]
    fn connections_are_asked_ten_times_a_second_at_most() {
        let (mut list, start) = (IdleList::default(), Instant::now());
        assert_eq!(list.next_step(start), EvictionStep::Ask);
        assert_eq!(list.next_step(start + STEP), EvictionStep::Wait);
        assert_eq!(list.next_step(start + ASK_EVERY), EvictionStep::Ask);
    }
}
