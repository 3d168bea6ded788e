//! What the slots of a core are at. It stands in a table beside their tasks, so that a line is
//! answered whatever becomes of the task that fetches it.

use std::time::{Duration, Instant};

use tokio::task::JoinHandle;

use super::lane::Extent;
use super::recorder::unix_ms;

/// Memory a slot keeps for its lines. Longer ones are rare, and a thousand slots would each keep
/// room for the longest.
const LINE_KEPT_BYTES: usize = 2048;

/// All slots of a core, those in use and those that were.
#[derive(Debug, Default)]
pub(super) struct Slots {
    all: Vec<Slot>,
    free: Vec<usize>,
}

/// One slot: a line, from its start to its answer.
#[derive(Debug)]
pub(super) struct Slot {
    pub(super) line: Vec<u8>,
    pub(super) extent: Extent,
    pub(super) start: Instant,
    /// The same in milliseconds of Unix time.
    pub(super) start_ms: i64,
    /// The line has no answer yet.
    waits: bool,
    task: Option<JoinHandle<()>>,
}

impl Slots {
    /// A slot nobody has.
    pub(super) fn open(&mut self) -> usize {
        self.free.pop().unwrap_or_else(|| {
            self.all.push(Slot {
                line: Vec::new(),
                extent: Extent::Whole,
                start: Instant::now(),
                start_ms: 0,
                waits: false,
                task: None,
            });
            self.all.len() - 1
        })
    }

    /// Keeps the task that works for an open slot.
    pub(super) fn set_task(&mut self, index: usize, task: JoinHandle<()>) {
        self.all[index].task = Some(task);
    }

    /// Gives a slot back.
    pub(super) fn close(&mut self, index: usize) {
        self.all[index].task = None;
        self.free.push(index);
    }

    /// Slots that are open.
    pub(super) fn open_count(&self) -> usize {
        self.all.len() - self.free.len()
    }

    /// Starts the clock of a line.
    pub(super) fn begin(&mut self, index: usize, line: &[u8], extent: Extent) {
        let slot = &mut self.all[index];
        slot.line.clear();
        slot.line.shrink_to(LINE_KEPT_BYTES);
        slot.line.extend_from_slice(line);
        slot.extent = extent;
        slot.start = Instant::now();
        slot.start_ms = unix_ms();
        slot.waits = true;
    }

    pub(super) fn slot(&self, index: usize) -> &Slot {
        &self.all[index]
    }

    /// The slot, the first time its line is answered.
    pub(super) fn answer(&mut self, index: usize) -> Option<&Slot> {
        let slot = &mut self.all[index];
        std::mem::take(&mut slot.waits).then_some(&*slot)
    }

    /// All slots that ever were.
    pub(super) fn indices(&self) -> std::ops::Range<usize> {
        0..self.all.len()
    }

    /// Whether a slot's line has waited for its answer for longer than `limit`, as of `now`.
    pub(super) fn is_overdue(&self, index: usize, limit: Duration, now: Instant) -> bool {
        let slot = &self.all[index];
        slot.waits && now.saturating_duration_since(slot.start) > limit
    }

    /// Ends the task of a slot, which then gives the slot back.
    pub(super) fn abort(&mut self, index: usize) {
        if let Some(task) = self.all[index].task.take() {
            task.abort();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_answered_once() {
        let mut slots = Slots::default();
        let index = slots.open();
        assert!(slots.answer(index).is_none(), "nothing began");
        slots.begin(index, b"line", Extent::Whole);
        assert_eq!(slots.answer(index).map(|slot| &slot.line[..]), Some(&b"line"[..]));
        assert!(slots.answer(index).is_none());
        slots.begin(index, b"next", Extent::Cut);
        assert!(slots.answer(index).is_some());
    }

    #[test]
    fn only_lines_that_wait_can_be_overdue() {
        let mut slots = Slots::default();
        let index = slots.open();
        slots.begin(index, b"line", Extent::Whole);
        let limit = Duration::from_secs(60);
        let at_the_limit = slots.slot(index).start + limit;
        let later = at_the_limit + Duration::from_nanos(1);
        assert!(!slots.is_overdue(index, limit, at_the_limit));
        assert!(slots.is_overdue(index, limit, later));
        slots.answer(index);
        assert!(!slots.is_overdue(index, limit, later));
    }

    #[test]
    fn slots_are_used_again_and_long_lines_forgotten() {
        let mut slots = Slots::default();
        let (first, second) = (slots.open(), slots.open());
        assert_eq!((first, second, slots.open_count()), (0, 1, 2));
        slots.begin(first, &[b'x'; 60_000], Extent::Whole);
        slots.begin(first, b"short", Extent::Whole);
        assert!(slots.slot(first).line.capacity() <= LINE_KEPT_BYTES);
        slots.close(first);
        assert_eq!(slots.open(), first);
        assert_eq!(slots.indices(), 0..2);
    }
}
