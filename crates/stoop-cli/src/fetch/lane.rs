//! The way from the reader to one core: lines go over in batches, and either side sleeps when the
//! other is behind.
//!
//! A batch is one run of bytes and the places where its lines end, so a line costs a copy and no
//! allocation. Three batches go round for each core (the reader fills one, one waits here, the
//! core empties one), and all keep their memory.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

/// A lane takes no more while this many lines wait in it: a hundredth of a second of work, and
/// memory that does not depend on the length of the list.
const LINES_MAX: usize = 2048;
const BYTES_MAX: usize = 256 << 10;

/// Whether a line is all of what stood in the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Extent {
    Whole,
    /// The first bytes of an overlong line.
    Cut,
    /// What was read of a line when the run ended.
    Torn,
    /// What was read of a line before the input failed.
    Broken,
}

/// Lines on their way, first in, first out.
#[derive(Debug, Default)]
pub(super) struct Batch {
    text: Vec<u8>,
    lines: Vec<(usize, Extent)>,
    taken: usize,
}

impl Batch {
    pub(super) fn push(&mut self, line: &[u8], extent: Extent) {
        self.text.extend_from_slice(line);
        self.lines.push((self.text.len(), extent));
    }

    /// The next line.
    pub(super) fn pop(&mut self) -> Option<(&[u8], Extent)> {
        let &(end, extent) = self.lines.get(self.taken)?;
        let start = self.taken.checked_sub(1).map_or(0, |before| self.lines[before].0);
        self.taken += 1;
        Some((&self.text[start..end], extent))
    }

    /// Lines left.
    pub(super) fn len(&self) -> usize {
        self.lines.len() - self.taken
    }

    pub(super) fn is_empty(&self) -> bool {
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
        self.lines.extend(other.lines.drain(..).map(|(end, extent)| (base + end, extent)));
        other.clear();
    }

    /// Forgets all lines, and memory that only an unusual batch needed.
    fn clear(&mut self) {
        self.text.clear();
        self.text.shrink_to(2 * BYTES_MAX);
        self.lines.clear();
        self.lines.shrink_to(2 * LINES_MAX);
        self.taken = 0;
    }
}

/// What a core found in its lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    Lines,
    /// Nothing now; the core is woken when there is something.
    Nothing,
    /// Nothing, for ever.
    End,
}

/// The lane's end is gone: its core failed, or did not wait any longer.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Closed;

#[derive(Debug, Default)]
pub(super) struct Lane {
    state: Mutex<State>,
    room: Condvar,
    bell: Notify,
}

#[derive(Debug, Default)]
struct State {
    waiting: Batch,
    closed: bool,
    reader_sleeps: bool,
    core_sleeps: bool,
}

impl Lane {
    /// Wakes the core, for whatever reason; a bell rung while it is awake is not lost.
    pub(super) fn ring(&self) {
        self.bell.notify_one();
    }

    /// Waits for the bell.
    pub(super) async fn rung(&self) {
        self.bell.notified().await;
    }

    /// The reader's side: hands `lines` over if there is room, and says if it did.
    pub(super) fn offer(&self, lines: &mut Batch) -> Result<bool, Closed> {
        if lines.is_empty() {
            return Ok(true);
        }
        let state = self.lock();
        if state.closed {
            return Err(Closed);
        }
        if state.is_full() {
            return Ok(false);
        }
        self.take_over(state, lines);
        Ok(true)
    }

    /// The reader's side: hands `lines` over, sleeping until there is room.
    pub(super) fn push(&self, lines: &mut Batch) -> Result<(), Closed> {
        if lines.is_empty() {
            return Ok(());
        }
        let mut state = self.lock();
        while state.is_full() && !state.closed {
            state.reader_sleeps = true;
            state = self.room.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        if state.closed {
            return Err(Closed);
        }
        self.take_over(state, lines);
        Ok(())
    }

    fn take_over(&self, mut state: MutexGuard<'_, State>, lines: &mut Batch) {
        state.waiting.append(lines);
        let sleeps = std::mem::take(&mut state.core_sleeps);
        drop(state);
        if sleeps {
            self.ring();
        }
    }

    /// Nothing more comes, from the reader's side; or nobody is left to take it, from the core's.
    pub(super) fn close(&self) {
        let mut state = self.lock();
        state.closed = true;
        drop(state);
        self.room.notify_one();
        self.ring();
    }

    /// The core's side: changes `empty`, a batch without lines, for the lines that wait.
    pub(super) fn refill(&self, empty: &mut Batch) -> Found {
        debug_assert!(empty.is_empty());
        let mut state = self.lock();
        if state.waiting.is_empty() {
            state.core_sleeps = true;
            return if state.closed { Found::End } else { Found::Nothing };
        }
        empty.clear();
        std::mem::swap(&mut state.waiting, empty);
        if std::mem::take(&mut state.reader_sleeps) {
            self.room.notify_one();
        }
        Found::Lines
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing in here can panic half-way, so a poisoned lock guards sound state.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn is_full(&self) -> bool {
        self.waiting.len() >= LINES_MAX || self.waiting.text.len() >= BYTES_MAX
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
            batch.push(line.as_bytes(), Extent::Whole);
        }
        batch
    }

    fn lines(batch: &mut Batch) -> Vec<String> {
        let mut lines = Vec::new();
        while let Some((line, _)) = batch.pop() {
            lines.push(String::from_utf8_lossy(line).into_owned());
        }
        lines
    }

    #[test]
    fn a_batch_gives_its_lines_back_in_order() {
        let mut first = batch(&["a", "", "ccc"]);
        first.append(&mut batch(&["dd", "e"]));
        assert_eq!(first.len(), 5);
        assert_eq!(lines(&mut first), ["a", "", "ccc", "dd", "e"]);
        first.append(&mut batch(&["f"]));
        assert_eq!(lines(&mut first), ["f"]);
    }

    #[test]
    fn appending_to_a_batch_half_taken_keeps_the_rest() {
        let mut first = batch(&["a", "b"]);
        first.pop();
        first.append(&mut batch(&["c"]));
        assert_eq!(lines(&mut first), ["b", "c"]);
    }

    #[test]
    fn what_was_pushed_before_the_close_still_arrives() {
        let lane = Lane::default();
        let mut core = Batch::default();
        assert_eq!(lane.refill(&mut core), Found::Nothing);
        lane.push(&mut batch(&["a"])).expect("open");
        lane.close();
        assert_eq!(lane.push(&mut batch(&["b"])), Err(Closed));
        assert_eq!(lane.offer(&mut batch(&["b"])), Err(Closed));
        assert_eq!(lane.refill(&mut core), Found::Lines);
        assert_eq!(lines(&mut core), ["a"]);
        assert_eq!(lane.refill(&mut core), Found::End);
    }

    #[test]
    fn a_full_lane_makes_the_reader_sleep_until_the_core_took_all() {
        let lane = Arc::new(Lane::default());
        let full: Vec<_> = (0..LINES_MAX).map(|_| "x").collect();
        lane.push(&mut batch(&full)).expect("open");
        assert_eq!(lane.offer(&mut batch(&["y"])), Ok(false));
        let reader = thread::spawn({
            let lane = Arc::clone(&lane);
            move || lane.push(&mut batch(&["y"]))
        });
        let mut core = Batch::default();
        assert_eq!(lane.refill(&mut core), Found::Lines);
        assert_eq!(core.len(), LINES_MAX);
        assert_eq!(reader.join().expect("no panic"), Ok(()));
        let mut next = Batch::default();
        assert_eq!(lane.refill(&mut next), Found::Lines);
        assert_eq!(lines(&mut next), ["y"]);
    }

    #[test]
    fn closing_frees_a_sleeping_reader() {
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
