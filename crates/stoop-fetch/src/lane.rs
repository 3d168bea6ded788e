//! The queue from the reader to one worker: lines are handed over in batches, and either side sleeps when
//! the other is behind.
//!
//! There are three batches for each worker (the reader fills one, one waits in the lane, the
//! worker empties one), and all keep their memory.

mod batch;

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

pub(crate) use self::batch::Batch;

/// The result of a refill.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refill {
    Lines,
    /// There are no lines now; the worker is woken when there are.
    Empty,
    /// The lane is closed, and there are no lines left.
    End,
}

/// The lane is closed: its worker failed, or did not wait any longer.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Closed;

/// The queue from the reader to one worker.
#[derive(Debug, Default)]
pub(crate) struct Lane {
    state: Mutex<LaneState>,
    has_room: Condvar,
    worker_wake: Notify,
}

#[derive(Debug, Default)]
struct LaneState {
    waiting: Batch,
    is_closed: bool,
    is_reader_asleep: bool,
    is_worker_asleep: bool,
}

impl Lane {
    /// Wakes the worker. A wake-up while it is awake is not lost.
    pub(crate) fn wake_worker(&self) {
        self.worker_wake.notify_one();
    }

    /// Waits until the worker is woken.
    pub(crate) async fn woken(&self) {
        self.worker_wake.notified().await;
    }

    /// The reader's side: hands `lines` over if there is room, and says whether it did.
    pub(crate) fn try_push(&self, lines: &mut Batch) -> Result<bool, Closed> {
        if lines.is_empty() {
            return Ok(true);
        }
        let state = self.lock();
        if state.is_closed {
            return Err(Closed);
        }
        if state.waiting.is_full() {
            return Ok(false);
        }
        self.append(state, lines);
        Ok(true)
    }

    /// The reader's side: hands `lines` over, sleeping until there is room.
    pub(crate) fn push(&self, lines: &mut Batch) -> Result<(), Closed> {
        if lines.is_empty() {
            return Ok(());
        }
        let mut state = self.lock();
        while state.waiting.is_full() && !state.is_closed {
            state.is_reader_asleep = true;
            state = self.has_room.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        if state.is_closed {
            return Err(Closed);
        }
        self.append(state, lines);
        Ok(())
    }

    fn append(&self, mut state: MutexGuard<'_, LaneState>, lines: &mut Batch) {
        state.waiting.append(lines);
        let was_asleep = std::mem::take(&mut state.is_worker_asleep);
        drop(state);
        if was_asleep {
            self.wake_worker();
        }
    }

    /// Closes the lane: by the reader when there are no more lines, or by the worker when it takes no more.
    pub(crate) fn close(&self) {
        let mut state = self.lock();
        state.is_closed = true;
        drop(state);
        self.has_room.notify_one();
        self.wake_worker();
    }

    /// The worker's side: swaps `empty`, a batch without lines, for the lines that wait.
    pub(crate) fn refill(&self, empty: &mut Batch) -> Refill {
        debug_assert!(empty.is_empty());
        let mut state = self.lock();
        if state.waiting.is_empty() {
            state.is_worker_asleep = true;
            return if state.is_closed { Refill::End } else { Refill::Empty };
        }
        empty.clear();
        std::mem::swap(&mut state.waiting, empty);
        if std::mem::take(&mut state.is_reader_asleep) {
            self.has_room.notify_one();
        }
        Refill::Lines
    }

    fn lock(&self) -> MutexGuard<'_, LaneState> {
        // No code under the lock can panic half-way, so the state behind a poisoned lock is sound.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::thread;

    use super::batch::LINES_MAX;
    use super::batch::tests::{batch, lines};
    use super::*;

    #[test]
    fn lines_pushed_before_the_close_still_arrive() {
        let lane = Lane::default();
        let mut worker = Batch::default();
        assert_eq!(lane.refill(&mut worker), Refill::Empty);
        lane.push(&mut batch(&["a"])).expect("open");
        lane.close();
        assert_eq!(lane.push(&mut batch(&["b"])), Err(Closed));
        assert_eq!(lane.try_push(&mut batch(&["b"])), Err(Closed));
        assert_eq!(lane.refill(&mut worker), Refill::Lines);
        assert_eq!(lines(&mut worker), ["a"]);
        assert_eq!(lane.refill(&mut worker), Refill::End);
    }

    #[test]
    fn a_full_lane_makes_the_reader_sleep_until_the_core_took_all() {
        let lane = Arc::new(Lane::default());
        let full: Vec<_> = (0..LINES_MAX).map(|_| "x").collect();
        lane.push(&mut batch(&full)).expect("open");
        assert_eq!(lane.try_push(&mut batch(&["y"])), Ok(false));
        let reader = thread::spawn({
            let lane = Arc::clone(&lane);
            move || lane.push(&mut batch(&["y"]))
        });
        let mut worker = Batch::default();
        assert_eq!(lane.refill(&mut worker), Refill::Lines);
        assert_eq!(worker.len(), LINES_MAX);
        assert_eq!(reader.join().expect("no panic"), Ok(()));
        let mut next = Batch::default();
        assert_eq!(lane.refill(&mut next), Refill::Lines);
        assert_eq!(lines(&mut next), ["y"]);
    }

    #[test]
    fn closing_wakes_a_sleeping_reader() {
        let lane = Arc::new(Lane::default());
        let full: Vec<_> = (0..LINES_MAX).map(|_| "x").collect();
        lane.push(&mut batch(&full)).expect("open");
        let reader = thread::spawn({
            let lane = Arc::clone(&lane);
            move || lane.push(&mut batch(&["y"]))
        });
        lane.close();
        assert_eq!(reader.join().expect("no panic"), Err(Closed));
    }
}
