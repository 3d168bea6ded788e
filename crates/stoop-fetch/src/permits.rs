//! The concurrency limit, exact over all workers, which may change while they run.
//!
//! A slot keeps its permit from one URL to the next, so no URL costs an access here, unless its job waits for a turn
//! ([`turns`](crate::turns)). Permits move only between workers that have unequal work: a permit that one worker gives back
//! goes straight to the worker that has waited longest; otherwise the worker that gave it back, which is awake, would take
//! it again.
//!
//! Where the limit is lowered, permits are owed: each that is given back pays for one, and slots give theirs back between
//! two URLs as long as one is owed.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The permits of all workers; a worker needs one for each job in flight.
#[derive(Debug)]
pub(crate) struct Permits {
    state: Mutex<PermitState>,
    /// How many permits a worker may keep while others wait.
    share: AtomicUsize,
    /// How many permits are owed: written and read as the count of those queued.
    owed: AtomicUsize,
    /// How many workers are in the queue, and for each worker whether it is: written under the lock, and
    /// read without it by slots that ask whether their permit is wanted elsewhere. Where the value read
    /// is late, the permit is given back one URL later.
    queued_count: AtomicUsize,
    is_queued: Vec<AtomicBool>,
    /// How many of those in the queue have no permit at all: read and written like their number.
    starved_count: AtomicUsize,
}

#[derive(Debug)]
struct PermitState {
    /// All permits, those that are owed not counted.
    limit: usize,
    free: usize,
    queue: VecDeque<usize>,
    /// For each worker, the permits passed on to it that it has not taken yet.
    granted: Vec<usize>,
    /// For each worker, whether it is in the queue and has no permit.
    is_starved: Vec<bool>,
}

impl Permits {
    pub(crate) fn new(permits: usize, workers: usize) -> Self {
        let state = PermitState {
            limit: permits,
            free: permits,
            queue: VecDeque::with_capacity(workers),
            granted: vec![0; workers],
            is_starved: vec![false; workers],
        };
        Self {
            state: Mutex::new(state),
            share: AtomicUsize::new(permits.div_ceil(workers)),
            owed: AtomicUsize::new(0),
            queued_count: AtomicUsize::new(0),
            is_queued: (0..workers).map(|_| AtomicBool::new(false)).collect(),
            starved_count: AtomicUsize::new(0),
        }
    }

    /// How many permits there are.
    pub(crate) fn limit(&self) -> usize {
        self.lock().limit
    }

    /// Changes the number of permits, to one at least. Calls `wake` for each worker that some were passed on to.
    pub(crate) fn resize(&self, limit: usize, mut wake: impl FnMut(usize)) {
        let mut state = self.lock();
        let limit = limit.max(1);
        let before = std::mem::replace(&mut state.limit, limit);
        self.share.store(limit.div_ceil(self.is_queued.len()), Relaxed);
        let owed = self.owed.load(Relaxed);
        if limit < before {
            let taken = state.free.min(before - limit);
            state.free -= taken;
            self.owed.store(owed + (before - limit - taken), Relaxed);
            return;
        }
        let paid = owed.min(limit - before);
        self.owed.store(owed - paid, Relaxed);
        let mut new = limit - before - paid;
        while new > 0 && !state.queue.is_empty() {
            let part = new.div_ceil(state.queue.len());
            let worker = self.leave_queue(&mut state, 0);
            state.granted[worker] += part;
            new -= part;
            wake(worker);
        }
        state.free += new;
    }

    /// Whether a worker waits for permits.
    pub(crate) fn is_short(&self) -> bool {
        self.queued_count.load(Relaxed) > 0
    }

    /// Takes up to `wanted` permits for `worker`, which has `held`. If there are fewer, the worker is queued, and the caller
    /// that passes one on to it wakes it.
    pub(crate) fn take(&self, worker: usize, held: usize, wanted: usize) -> usize {
        let mut state = self.lock();
        let granted = state.granted[worker].min(wanted);
        state.granted[worker] -= granted;
        let free = state.free.min(wanted - granted);
        state.free -= free;
        if granted + free < wanted {
            if !self.is_queued[worker].swap(true, Relaxed) {
                state.queue.push_back(worker);
                self.queued_count.fetch_add(1, Relaxed);
            }
            self.set_starved(&mut state, worker, held + granted + free == 0);
        }
        granted + free
    }

    /// Gives one permit back, of `worker` or of none. Returns the worker it was passed on to, which the caller wakes.
    #[must_use]
    pub(crate) fn give_back(&self, worker: Option<usize>) -> Option<usize> {
        self.pass_on(&mut self.lock(), worker)
    }

    /// Gives one permit back that was passed on to `worker` and is not wanted there any more. Returns the
    /// worker that got it, which the caller wakes; call again until there is none.
    #[must_use]
    pub(crate) fn decline(&self, worker: usize) -> Option<usize> {
        let mut state = self.lock();
        if let Some(place) = state.queue.iter().position(|&queued| queued == worker) {
            self.leave_queue(&mut state, place);
        }
        while state.granted[worker] > 0 {
            state.granted[worker] -= 1;
            if let Some(next) = self.pass_on(&mut state, Some(worker)) {
                return Some(next);
            }
        }
        None
    }

    /// Passes a permit of `from` on to the worker that has waited longest; to `from` itself only if no other
    /// worker waits.
    fn pass_on(&self, state: &mut PermitState, from: Option<usize>) -> Option<usize> {
        let owed = self.owed.load(Relaxed);
        if owed > 0 {
            self.owed.store(owed - 1, Relaxed);
            return None;
        }
        if state.queue.is_empty() {
            state.free += 1;
            return None;
        }
        let place = state.queue.iter().position(|&worker| Some(worker) != from).unwrap_or(0);
        let next = self.leave_queue(state, place);
        state.granted[next] += 1;
        Some(next)
    }

    fn leave_queue(&self, state: &mut PermitState, place: usize) -> usize {
        let worker = state.queue.remove(place).expect("a place in the queue");
        self.is_queued[worker].store(false, Relaxed);
        self.queued_count.fetch_sub(1, Relaxed);
        self.set_starved(state, worker, false);
        worker
    }

    fn set_starved(&self, state: &mut PermitState, worker: usize, is_starved: bool) {
        if std::mem::replace(&mut state.is_starved[worker], is_starved) != is_starved {
            match is_starved {
                true => self.starved_count.fetch_add(1, Relaxed),
                false => self.starved_count.fetch_sub(1, Relaxed),
            };
        }
    }

    /// Whether `worker`, which holds `held` permits, should give one back: one is owed, another worker waits that has none,
    /// or others wait and this one has more than its share.
    pub(crate) fn is_wanted_elsewhere(&self, worker: usize, held: usize) -> bool {
        let others_wait =
            || self.queued_count.load(Relaxed) > usize::from(self.is_queued[worker].load(Relaxed));
        self.owed.load(Relaxed) > 0
            || self.starved_count.load(Relaxed) > 0
            || held > self.share.load(Relaxed) && others_wait()
    }

    /// How many permits are held: those of jobs in flight.
    pub(crate) fn held(&self) -> usize {
        let state = self.lock();
        let given = state.free + state.granted.iter().sum::<usize>();
        (state.limit + self.owed.load(Relaxed)).saturating_sub(given)
    }

    fn lock(&self) -> MutexGuard<'_, PermitState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
