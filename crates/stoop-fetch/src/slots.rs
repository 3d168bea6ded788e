//! The table of a worker's slots: the line that each fetches, and since when. It is kept beside the tasks,
//! so that a line is answered whatever becomes of the task that fetches it.

use std::time::{Duration, Instant};

use tokio::task::JoinHandle;

use crate::record::{Outcome, Record, unix_ms, whole_ms};
use crate::schedule::{HostId, Started};
use crate::settings::Settings;

/// All slots of a worker, the open and the closed ones.
#[derive(Debug, Default)]
pub(crate) struct SlotTable {
    all: Vec<UrlSlot>,
    free: Vec<usize>,
}

/// A slot: one line from its start to its answer, then the next.
#[derive(Debug)]
pub(crate) struct UrlSlot {
    pub(crate) job: Started,
    pub(crate) start: Instant,
    /// When its last request was sent, which follows from others or not.
    pub(crate) sent: Instant,
    /// `start` in milliseconds of Unix time.
    pub(crate) start_ms: i64,
    /// The line has no answer yet.
    is_pending: bool,
    /// A request of the job waits for the turn of its host: its clock stands still.
    is_waiting: bool,
    task: Option<JoinHandle<()>>,
}

/// A job that has its outcome, and gets its record now.
#[derive(Debug)]
pub(crate) struct Answered {
    pub(crate) job: Started,
    pub(crate) start_ms: i64,
    pub(crate) duration: Duration,
}

impl Answered {
    /// How long the job took, in whole milliseconds.
    pub(crate) fn duration_ms(&self) -> u64 {
        whole_ms(self.duration)
    }

    /// The record of the job.
    pub(crate) fn record<'a>(&'a self, settings: &'a Settings, outcome: &'a Outcome) -> Record<'a> {
        let options = self.job.options.as_deref();
        let method = options.and_then(|options| options.method.as_ref());
        Record {
            url: &self.job.url,
            extent: self.job.extent,
            id: options.and_then(|options| options.id.as_deref()),
            metadata: options.and_then(|options| options.metadata.as_deref()),
            method: method.unwrap_or(&settings.template.method).as_str(),
            start_ms: self.start_ms,
            duration: self.duration,
            outcome,
            number: settings.round.map(|_| self.job.number),
            round: settings.round.unwrap_or(0),
        }
    }
}

impl SlotTable {
    /// Opens a slot, a closed one if there is any.
    pub(crate) fn open(&mut self) -> usize {
        self.free.pop().unwrap_or_else(|| {
            self.all.push(UrlSlot {
                job: Started::default(),
                start: Instant::now(),
                sent: Instant::now(),
                start_ms: 0,
                is_pending: false,
                is_waiting: false,
                task: None,
            });
            self.all.len() - 1
        })
    }

    /// Stores the task of an open slot.
    pub(crate) fn set_task(&mut self, index: usize, task: JoinHandle<()>) {
        self.all[index].task = Some(task);
    }

    /// Closes a slot, to be opened again.
    pub(crate) fn close(&mut self, index: usize) {
        self.all[index].task = None;
        self.free.push(index);
    }

    /// The number of open slots.
    pub(crate) fn open_count(&self) -> usize {
        self.all.len() - self.free.len()
    }

    /// Has `start` put a job into a slot, and starts its clock. False if there was none.
    pub(crate) fn begin(&mut self, index: usize, start: impl FnOnce(&mut Started) -> bool) -> bool {
        let slot = &mut self.all[index];
        if !start(&mut slot.job) {
            return false;
        }
        slot.start = Instant::now();
        (slot.sent, slot.start_ms) = (slot.start, unix_ms());
        (slot.is_pending, slot.is_waiting) = (true, false);
        true
    }

    /// Starts the clock of a slot's job anew.
    pub(crate) fn restart(&mut self, index: usize) {
        let slot = &mut self.all[index];
        (slot.start, slot.start_ms) = (Instant::now(), unix_ms());
        slot.sent = slot.start;
    }

    /// Stops the clock of a slot's job, whose next request waits for a turn.
    pub(crate) fn wait(&mut self, index: usize) {
        self.all[index].is_waiting = true;
    }

    /// The clock of a slot's job goes on, after this time.
    pub(crate) fn go_on(&mut self, index: usize, waited: Duration) {
        let slot = &mut self.all[index];
        slot.is_waiting = false;
        slot.start += waited;
        slot.sent = Instant::now();
    }

    /// Takes the host that counts the job of a slot.
    pub(crate) fn take_host(&mut self, index: usize) -> Option<HostId> {
        self.all[index].job.host.take()
    }

    pub(crate) fn slot(&self, index: usize) -> &UrlSlot {
        &self.all[index]
    }

    /// Marks the line of a slot as answered, and takes it. None after the first time.
    pub(crate) fn answer(&mut self, index: usize) -> Option<Answered> {
        let slot = &mut self.all[index];
        std::mem::take(&mut slot.is_pending).then(|| Answered {
            job: std::mem::take(&mut slot.job),
            start_ms: slot.start_ms,
            duration: slot.start.elapsed(),
        })
    }

    /// Gives the memory of an answered line back to its slot.
    pub(crate) fn keep(&mut self, index: usize, answered: Answered) {
        self.all[index].job = answered.job;
    }

    /// The indices of all slots, open or closed.
    pub(crate) fn indices(&self) -> std::ops::Range<usize> {
        0..self.all.len()
    }

    /// Whether a slot's line has been without an answer for longer than `limit` at `now`.
    pub(crate) fn is_overdue(&self, index: usize, limit: Duration, now: Instant) -> bool {
        let slot = &self.all[index];
        slot.is_pending && !slot.is_waiting && now.saturating_duration_since(slot.start) > limit
    }

    /// Aborts the task of a slot, which then closes the slot.
    pub(crate) fn abort(&mut self, index: usize) {
        if let Some(task) = self.all[index].task.take() {
            task.abort();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::{Extent, Job};

    fn begin(slots: &mut SlotTable, index: usize, line: &[u8], extent: Extent) {
        let begun = slots.begin(index, |into| {
            into.put(Job::new(line).with_extent(extent), None);
            true
        });
        assert!(begun);
    }

    #[test]
    fn a_line_is_answered_once() {
        let mut slots = SlotTable::default();
        let index = slots.open();
        assert!(slots.answer(index).is_none(), "nothing began");
        begin(&mut slots, index, b"line", Extent::Whole);
        let answered = slots.answer(index).expect("pending");
        assert_eq!(answered.job.url, b"line");
        slots.keep(index, answered);
        assert!(slots.answer(index).is_none());
        begin(&mut slots, index, b"next", Extent::Overlong);
        assert!(slots.answer(index).is_some());
    }

    #[test]
    fn only_lines_without_an_answer_can_be_overdue() {
        let mut slots = SlotTable::default();
        let index = slots.open();
        begin(&mut slots, index, b"line", Extent::Whole);
        let limit = Duration::from_secs(60);
        let at_the_limit = slots.slot(index).start + limit;
        let later = at_the_limit + Duration::from_nanos(1);
        assert!(!slots.is_overdue(index, limit, at_the_limit));
        assert!(slots.is_overdue(index, limit, later));
        slots.answer(index);
        assert!(!slots.is_overdue(index, limit, later));
    }

    #[test]
    fn slots_are_reused_and_the_memory_of_long_lines_is_freed() {
        let mut slots = SlotTable::default();
        let (first, second) = (slots.open(), slots.open());
        assert_eq!((first, second, slots.open_count()), (0, 1, 2));
        begin(&mut slots, first, &[b'x'; 60_000], Extent::Whole);
        begin(&mut slots, first, b"short", Extent::Whole);
        assert!(slots.slot(first).job.url.capacity() <= 2048);
        slots.close(first);
        assert_eq!(slots.open(), first);
        assert_eq!(slots.indices(), 0..2);
    }
}
