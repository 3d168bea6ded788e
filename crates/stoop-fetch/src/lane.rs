//! The queue from the reader to one worker: lines are handed over in batches, and either side sleeps when
//! the other is behind.
//!
//! A batch is one buffer and the offsets at which its lines end, so a line costs a copy and no
//! allocation. There are three batches for each worker (the reader fills one, one waits in the lane, the
//! worker empties one), and all keep their memory.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::job::{Extent, Job, JobOptions};

/// A lane is full while this many lines wait in it: a hundredth of a second of work, and memory that
/// does not depend on the length of the list.
const LINES_MAX: usize = 2048;
const BYTES_MAX: usize = 256 << 10;

/// How many popped lines a batch keeps that is pushed to and popped from in turn.
const LINES_KEPT: usize = 32;

/// A queue of jobs, their URLs in one buffer, first in, first out.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    text: Vec<u8>,
    lines: Vec<BatchLine>,
    popped: usize,
    /// What the jobs hold beside their URLs.
    options_bytes: usize,
}

/// A job of a batch.
#[derive(Debug)]
struct BatchLine {
    /// Where its URL ends in the batch's text.
    end: usize,
    extent: Extent,
    options: Option<Box<JobOptions>>,
    number: u64,
}

impl Batch {
    pub(crate) fn push(&mut self, job: Job<'_>) {
        if self.popped > LINES_KEPT && 2 * self.popped > self.lines.len() {
            self.forget_popped();
        }
        self.options_bytes += job.held_bytes() - job.url.len();
        self.text.extend_from_slice(job.url);
        let Job { extent, options, number, .. } = job;
        self.lines.push(BatchLine { end: self.text.len(), extent, options, number });
    }

    /// Takes the next job.
    pub(crate) fn pop(&mut self) -> Option<Job<'_>> {
        let start = self.popped_text();
        let line = self.lines.get_mut(self.popped)?;
        self.popped += 1;
        let (extent, options, number) = (line.extent, line.options.take(), line.number);
        let job = Job { url: &self.text[start..line.end], extent, options, number };
        self.options_bytes -= job.held_bytes() - job.url.len();
        Some(job)
    }

    /// Where the text of the popped jobs ends.
    fn popped_text(&self) -> usize {
        self.popped.checked_sub(1).map_or(0, |last| self.lines[last].end)
    }

    /// The number of lines left.
    pub(crate) fn len(&self) -> usize {
        self.lines.len() - self.popped
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Takes all lines of `other`, a batch nothing was popped from.
    fn append(&mut self, other: &mut Self) {
        if self.is_empty() {
            self.clear();
            std::mem::swap(self, other);
            return;
        }
        let base = self.text.len();
        self.text.append(&mut other.text);
        self.lines
            .extend(other.lines.drain(..).map(|line| BatchLine { end: base + line.end, ..line }));
        self.options_bytes += other.options_bytes;
        other.clear();
    }

    /// Gives the place of the popped lines to others.
    fn forget_popped(&mut self) {
        let text = self.popped_text();
        self.text.drain(..text);
        self.lines.drain(..self.popped);
        self.lines.iter_mut().for_each(|line| line.end -= text);
        self.popped = 0;
    }

    /// Forgets all lines, and memory that only an unusual batch needed.
    fn clear(&mut self) {
        self.text.clear();
        self.text.shrink_to(2 * BYTES_MAX);
        self.lines.clear();
        self.lines.shrink_to(2 * LINES_MAX);
        (self.popped, self.options_bytes) = (0, 0);
    }
}

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
        if state.is_full() {
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
        while state.is_full() && !state.is_closed {
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

impl LaneState {
    fn is_full(&self) -> bool {
        let bytes = self.waiting.text.len() + self.waiting.options_bytes;
        self.waiting.len() >= LINES_MAX || bytes >= BYTES_MAX
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::thread;

    use super::*;

    fn batch(lines: &[&str]) -> Batch {
        let mut batch = Batch::default();
        for line in lines {
            batch.push(Job::new(line.as_bytes()));
        }
        batch
    }

    fn lines(batch: &mut Batch) -> Vec<String> {
        let mut lines = Vec::new();
        while let Some(job) = batch.pop() {
            lines.push(String::from_utf8_lossy(job.url).into_owned());
        }
        lines
    }

    #[test]
    fn a_batch_returns_its_lines_in_order() {
        let mut first = batch(&["a", "", "ccc"]);
        first.append(&mut batch(&["dd", "e"]));
        assert_eq!(first.len(), 5);
        assert_eq!(lines(&mut first), ["a", "", "ccc", "dd", "e"]);
        first.append(&mut batch(&["f"]));
        assert_eq!(lines(&mut first), ["f"]);
    }

    #[test]
    fn appending_to_a_partly_popped_batch_keeps_the_rest() {
        let mut first = batch(&["a", "b"]);
        first.pop();
        first.append(&mut batch(&["c"]));
        assert_eq!(lines(&mut first), ["b", "c"]);
    }

    #[test]
    fn a_batch_that_never_runs_empty_keeps_its_size() {
        let mut queue = batch(&["first"]);
        for n in 0..10_000 {
            queue.push(Job::new(format!("line {n:04}").as_bytes()));
            let expected = n.max(1) - 1;
            let popped = queue.pop().map(|job| job.url.to_vec());
            let line = if n == 0 { "first".to_owned() } else { format!("line {expected:04}") };
            assert_eq!(popped, Some(line.into_bytes()));
        }
        assert!(queue.text.capacity() < 4096 && queue.lines.capacity() < 256, "{queue:?}");
        assert_eq!(lines(&mut queue), ["line 9999"]);
    }

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
