//! The concurrency limit, exact over all cores.
//!
//! A slot keeps its permit from one URL to the next, so nothing here is touched once per URL. Only
//! when cores have unequal work do permits change hands: what one core gives back goes straight to
//! the core that waits longest, for otherwise the giver, which is awake, would take it again.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

#[derive(Debug)]
pub(super) struct Permits {
    state: Mutex<State>,
    /// What each core may keep while others wait.
    share: usize,
    /// Cores in the queue, and who they are: written under the lock, and read without it by slots
    /// that ask whether they are wanted elsewhere. A late answer is a permit given one URL later.
    waiting: AtomicUsize,
    queued: Vec<AtomicBool>,
}

#[derive(Debug)]
struct State {
    free: usize,
    queue: VecDeque<usize>,
    /// Permits handed to a core that has not picked them up yet.
    granted: Vec<usize>,
}

impl Permits {
    pub(super) fn new(permits: usize, cores: usize) -> Self {
        let state =
            State { free: permits, queue: VecDeque::with_capacity(cores), granted: vec![0; cores] };
        Self {
            state: Mutex::new(state),
            share: permits.div_ceil(cores),
            waiting: AtomicUsize::new(0),
            queued: (0..cores).map(|_| AtomicBool::new(false)).collect(),
        }
    }

    /// Up to `wanted` permits for `core`. If there are fewer, the core is queued, and is to be rung
    /// for when one is handed to it.
    pub(super) fn take(&self, core: usize, wanted: usize) -> usize {
        let mut state = self.lock();
        let granted = state.granted[core].min(wanted);
        state.granted[core] -= granted;
        let free = state.free.min(wanted - granted);
        state.free -= free;
        if granted + free < wanted && !self.queued[core].swap(true, Relaxed) {
            state.queue.push_back(core);
            self.waiting.fetch_add(1, Relaxed);
        }
        granted + free
    }

    /// Gives one permit of `core` back. Returns the core it was handed to, which is to be rung for.
    #[must_use]
    pub(super) fn give_back(&self, core: usize) -> Option<usize> {
        self.hand_on(&mut self.lock(), core)
    }

    /// Gives one permit back that was handed to `core` and is not wanted there any more. Returns
    /// the core to be rung for; call again until there is none.
    #[must_use]
    pub(super) fn decline(&self, core: usize) -> Option<usize> {
        let mut state = self.lock();
        if let Some(place) = state.queue.iter().position(|&queued| queued == core) {
            self.leave_queue(&mut state, place);
        }
        while state.granted[core] > 0 {
            state.granted[core] -= 1;
            if let Some(next) = self.hand_on(&mut state, core) {
                return Some(next);
            }
        }
        None
    }

    /// To the core that waits longest; to the giver itself only if it alone waits.
    fn hand_on(&self, state: &mut State, giver: usize) -> Option<usize> {
        if state.queue.is_empty() {
            state.free += 1;
            return None;
        }
        let place = state.queue.iter().position(|&core| core != giver).unwrap_or(0);
        let next = self.leave_queue(state, place);
        state.granted[next] += 1;
        Some(next)
    }

    fn leave_queue(&self, state: &mut State, place: usize) -> usize {
        let core = state.queue.remove(place).expect("a place in the queue");
        self.queued[core].store(false, Relaxed);
        self.waiting.fetch_sub(1, Relaxed);
        core
    }

    /// Whether `core`, which holds `held` permits, should let one go, because others wait and it
    /// has more than its share.
    pub(super) fn wanted_elsewhere(&self, core: usize, held: usize) -> bool {
        held > self.share
            && self.waiting.load(Relaxed) > usize::from(self.queued[core].load(Relaxed))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_core_may_have_them_all() {
        let permits = Permits::new(5, 2);
        assert_eq!(permits.take(0, 3), 3);
        assert_eq!(permits.take(0, 9), 2);
        assert!(!permits.wanted_elsewhere(0, 5), "only it waits for more");
        assert_eq!(permits.give_back(0), Some(0), "and so gets its own back");
    }

    #[test]
    fn what_is_given_back_goes_to_another_who_waits() {
        let permits = Permits::new(2, 2);
        assert_eq!(permits.take(0, 9), 2);
        assert!(!permits.wanted_elsewhere(0, 2));
        assert_eq!(permits.take(1, 1), 0);
        assert!(permits.wanted_elsewhere(0, 2), "more than its share of one");
        assert!(!permits.wanted_elsewhere(0, 1));
        assert_eq!(permits.give_back(0), Some(1), "though core 0 waited first");
        assert_eq!(permits.take(0, 1), 0, "handed over, not free");
        assert_eq!(permits.take(1, 1), 1);
    }

    #[test]
    fn a_core_that_ran_out_of_lines_declines() {
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
    fn a_core_is_queued_once_and_may_leave() {
        let permits = Permits::new(1, 2);
        assert_eq!(permits.take(0, 1), 1);
        assert_eq!(permits.take(1, 4), 0);
        assert_eq!(permits.take(1, 4), 0);
        assert_eq!(permits.decline(1), None);
        assert_eq!(permits.give_back(0), None);
        assert_eq!(permits.take(1, 1), 1);
    }
}
