//! Which of a connection's exchanges were woken: each has a waker of its own, so that only those are
//! polled that have a reason to be.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Wake, Waker};

use crate::conn::http2::progress::WireProgress;

/// The exchanges of one connection that were woken, by their indexes, and the task to wake for them.
#[derive(Default)]
pub(crate) struct WokenExchanges {
    state: Mutex<WokenState>,
    pub(crate) progress: WireProgress,
}

#[derive(Default)]
struct WokenState {
    task: Option<Waker>,
    /// A bit for each index.
    woken: Vec<u64>,
    any: bool,
}

impl WokenState {
    fn set(&mut self, index: usize) {
        let (word_index, bit) = (index / 64, 1 << (index % 64));
        if self.woken.len() <= word_index {
            self.woken.resize(word_index + 1, 0);
        }
        self.woken[word_index] |= bit;
    }
}

impl WokenExchanges {
    /// A waker for the exchange of that index.
    pub(crate) fn waker(self: &Arc<Self>, index: usize) -> Waker {
        Arc::new(ExchangeWaker { ready: self.clone(), index }).into()
    }

    /// Remembers the task that polls.
    pub(crate) fn register(&self, task: &Waker) {
        let mut state = self.state();
        if !state.task.as_ref().is_some_and(|known| known.will_wake(task)) {
            state.task = Some(task.clone());
        }
    }

    /// Takes the indexes that were woken since the last time.
    pub(crate) fn take(&self, into: &mut VecDeque<usize>) {
        let mut state = self.state();
        if !std::mem::take(&mut state.any) {
            return;
        }
        for (word_index, word) in state.woken.iter_mut().enumerate() {
            let mut bits = std::mem::take(word);
            while bits != 0 {
                into.push_back(word_index * 64 + bits.trailing_zeros() as usize);
                bits &= bits - 1;
            }
        }
    }

    /// Wakes the task for the exchange of that index.
    pub(crate) fn wake_for(&self, index: usize) {
        let mut state = self.state();
        state.set(index);
        wake(state);
    }

    /// Puts that index back among those that were woken, by the task itself, which goes on.
    pub(crate) fn keep(&self, index: usize) {
        let mut state = self.state();
        state.set(index);
        state.any = true;
    }

    /// Wakes the task, for none of its exchanges.
    pub(crate) fn wake_task(&self) {
        wake(self.state());
    }

    /// [What had arrived](WireProgress::watch), and has the task look again.
    pub(crate) fn ask_progress(&self) -> i64 {
        let arrived = self.progress.watch();
        self.wake_task();
        arrived
    }

    fn state(&self) -> MutexGuard<'_, WokenState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Wakes the task, unless another wake-up that it has not seen yet covers this one.
fn wake(mut state: MutexGuard<'_, WokenState>) {
    let task = match std::mem::replace(&mut state.any, true) {
        false => state.task.clone(),
        true => None,
    };
    drop(state);
    if let Some(task) = task {
        task.wake();
    }
}

struct ExchangeWaker {
    ready: Arc<WokenExchanges>,
    index: usize,
}

impl Wake for ExchangeWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.ready.wake_for(self.index);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    struct Counted(AtomicUsize);

    impl Wake for Counted {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn the_task_is_woken_once_for_all_that_are() {
        let counted = Arc::new(Counted(AtomicUsize::new(0)));
        let ready = Arc::new(WokenExchanges::default());
        ready.register(&counted.clone().into());
        for index in [3, 200, 3, 64] {
            ready.waker(index).wake();
        }
        assert_eq!(counted.0.load(Ordering::Relaxed), 1);
        let mut woken = VecDeque::new();
        ready.take(&mut woken);
        assert_eq!(woken, [3, 64, 200]);
        woken.clear();
        ready.take(&mut woken);
        assert!(woken.is_empty());
        ready.waker(0).wake();
        assert_eq!(counted.0.load(Ordering::Relaxed), 2);
    }
}
