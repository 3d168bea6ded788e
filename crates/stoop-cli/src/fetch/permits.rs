//! The concurrency limit, exact over all cores.
//!
//! A slot keeps its permit from one URL to the next, so no URL costs an access here. Permits move only
//! between cores that have unequal work: a permit that one core gives back goes straight to the core
//! that has waited longest; otherwise the core that gave it back, which is awake, would take it again.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The permits of all cores; a core needs one for each slot.
#[derive(Debug)]
pub(super) struct Permits {
    state: Mutex<PermitState>,
    /// How many permits a core may keep while others wait.
    share: usize,
    /// How many cores are in the queue, and for each core whether it is: written under the lock, and
    /// read without it by slots that ask whether their permit is wanted elsewhere. Where the value read
    /// is late, the permit is given back one URL later.
    queued_count: AtomicUsize,
    is_queued: Vec<AtomicBool>,
}

#[derive(Debug)]
struct PermitState {
    free: usize,
    queue: VecDeque<usize>,
    /// For each core, the permits passed on to it that it has not taken yet.
    granted: Vec<usize>,
}

impl Permits {
    pub(super) fn new(permits: usize, cores: usize) -> Self {
        let state = PermitState {
            free: permits,
            queue: VecDeque::with_capacity(cores),
            granted: vec![0; cores],
        };
        Self {
            state: Mutex::new(state),
            share: permits.div_ceil(cores),
            queued_count: AtomicUsize::new(0),
            is_queued: (0..cores).map(|_| AtomicBool::new(false)).collect(),
        }
    }

    /// Takes up to `wanted` permits for `core`. If there are fewer, the core is queued, and the caller
    /// that passes one on to it wakes it.
    pub(super) fn take(&self, core: usize, wanted: usize) -> usize {
        let mut state = self.lock();
        let granted = state.granted[core].min(wanted);
        state.granted[core] -= granted;
        let free = state.free.min(wanted - granted);
        state.free -= free;
        if granted + free < wanted && !self.is_queued[core].swap(true, Relaxed) {
            state.queue.push_back(core);
            self.queued_count.fetch_add(1, Relaxed);
        }
        granted + free
    }

    /// Gives one permit of `core` back. Returns the core it was passed on to, which the caller wakes.
    #[must_use]
    pub(super) fn give_back(&self, core: usize) -> Option<usize> {
        self.pass_on(&mut self.lock(), core)
    }

    /// Gives one permit back that was passed on to `core` and is not wanted there any more. Returns the
    /// core that got it, which the caller wakes; call again until there is none.
    #[must_use]
    pub(super) fn decline(&self, core: usize) -> Option<usize> {
        let mut state = self.lock();
        if let Some(place) = state.queue.iter().position(|&queued| queued == core) {
            self.leave_queue(&mut state, place);
        }
        while state.granted[core] > 0 {
            state.granted[core] -= 1;
            if let Some(next) = self.pass_on(&mut state, core) {
                return Some(next);
            }
        }
        None
    }

    /// Passes a permit of `from` on to the core that has waited longest; to `from` itself only if no other
    /// core waits.
    fn pass_on(&self, state: &mut PermitState, from: usize) -> Option<usize> {
        if state.queue.is_empty() {
            state.free += 1;
            return None;
        }
        let place = state.queue.iter().position(|&core| core != from).unwrap_or(0);
        let next = self.leave_queue(state, place);
        state.granted[next] += 1;
        Some(next)
    }

    fn leave_queue(&self, state: &mut PermitState, place: usize) -> usize {
        let core = state.queue.remove(place).expect("a place in the queue");
        self.is_queued[core].store(false, Relaxed);
        self.queued_count.fetch_sub(1, Relaxed);
        core
    }

    /// Whether `core`, which holds `held` permits, should give one back, because others wait and it
    /// has more than its share.
    pub(super) fn is_wanted_elsewhere(&self, core: usize, held: usize) -> bool {
        held > self.share
            && self.queued_count.load(Relaxed) > usize::from(self.is_queued[core].load(Relaxed))
    }

    fn lock(&self) -> MutexGuard<'_, PermitState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_core_may_take_all_permits() {
        let permits = Permits::new(5, 2);
        assert_eq!(permits.take(0, 3), 3);
        assert_eq!(permits.take(0, 9), 2);
        assert!(!permits.is_wanted_elsewhere(0, 5), "no other core waits");
        assert_eq!(permits.give_back(0), Some(0), "no other core waits, so it gets its own");
    }

    #[test]
    fn a_permit_that_is_given_back_goes_to_another_core_that_waits() {
        let permits = Permits::new(2, 2);
        assert_eq!(permits.take(0, 9), 2);
        assert!(!permits.is_wanted_elsewhere(0, 2));
        assert_eq!(permits.take(1, 1), 0);
        assert!(permits.is_wanted_elsewhere(0, 2), "more than its share of one");
        assert!(!permits.is_wanted_elsewhere(0, 1));
        assert_eq!(permits.give_back(0), Some(1), "though core 0 waited first");
        assert_eq!(permits.take(0, 1), 0, "passed on, and not free");
        assert_eq!(permits.take(1, 1), 1);
    }

    #[test]
    fn a_core_without_lines_declines_its_permits() {
        let permits = Permits::new(1, 3);
        assert_eq!(permits.take(0, 1), 1);
        assert_eq!(permits.take(1, 1), 0);
        assert_eq!(permits.take(2, 1), 0);
        assert_eq!(permits.give_back(0), Some(1));
        assert_eq!(permits.decline(1), Some(2));
        assert_eq!(permits.decline(1), None);
        assert_eq!(permits.take(2, 1), 1);
        assert_eq!(permits.give_back(2), None);
        assert_eq!(permits.take(0, 5), 1);
    }

    #[test]
    fn a_core_is_queued_once_and_may_leave_the_queue() {
        let permits = Permits::new(1, 2);
        assert_eq!(permits.take(0, 1), 1);
        assert_eq!(permits.take(1, 4), 0);
        assert_eq!(permits.take(1, 4), 0);
        assert_eq!(permits.decline(1), None);
        assert_eq!(permits.give_back(0), None);
        assert_eq!(permits.take(1, 1), 1);
    }
}
