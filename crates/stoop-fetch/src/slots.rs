//! The table of a worker's slots: the line that each fetches, and since when. It is kept beside the tasks,
//! so that a line is answered whatever becomes of the task that fetches it.

use std::time::{Duration, Instant};

use tokio::task::JoinHandle;

use crate::record::{Outcome, Record, unix_ms, whole_ms};
use crate::schedule::{HostId, Started};
use crate::settings::Settings;

/// How many jobs may wait for turns, each with some 10 KiB of memory, and how many bytes of jobs, before no more are started:
/// over all workers, and for each at least.
const WAITING_MAX: usize = 2048;
const WAITING_MAX_EACH: usize = 128;
const WAITING_BYTES_MAX: usize = 16 << 20;
const WAITING_BYTES_MAX_EACH: usize = 1 << 20;

/// All slots of a worker, the open and the closed ones.
#[derive(Debug)]
pub(crate) struct SlotTable {
    all: Vec<UrlSlot>,
    free: Vec<usize>,
    /// How many slots have a permit.
    permits: usize,
    /// How many slots wait for turns, and may wait before no more jobs are started.
    waiting: usize,
    waiting_max: usize,
    /// The same in bytes of their jobs.
    waiting_bytes: usize,
    waiting_bytes_max: usize,
}

/// A slot: one line from its start to its answer, then the next. It is opened with a permit for one job in flight, and may
/// lose that.
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
    pub(crate) has_permit: bool,
    /// The job is not in flight: a request of it waits for the turn of its host, or for the delay of a retry.
    wait: Option<SlotWait>,
    /// Since when the clock of the job stands still because its content waits for memory, or is written.
    stopped: Option<Instant>,
    task: Option<JoinHandle<()>>,
}

/// A wait for a turn, or for a delay before that.
#[derive(Clone, Copy, Debug)]
struct SlotWait {
    /// Since when the clock of the job stands still; none while it goes on.
    since: Option<Instant>,
    /// What the job holds.
    bytes: usize,
}

impl UrlSlot {
    /// When the clock of the job stopped, if it stands still.
    fn clock_until(&self) -> Option<Instant> {
        self.wait.and_then(|wait| wait.since).or(self.stopped)
    }
}

/// A job that has its outcome, and gets its record now.
#[derive(Debug)]
pub(crate) struct Answered {
    pub(crate) job: Started,
    pub(crate) start_ms: i64,
    pub(crate) duration: Duration,
    /// It was in flight, and did not wait for a turn.
    pub(crate) was_in_flight: bool,
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
    /// A table of one of so many workers, without slots.
    pub(crate) fn new(workers: usize) -> Self {
        Self {
            all: Vec::new(),
            free: Vec::new(),
            permits: 0,
            waiting: 0,
            waiting_max: (WAITING_MAX / workers).max(WAITING_MAX_EACH),
            waiting_bytes: 0,
            waiting_bytes_max: (WAITING_BYTES_MAX / workers).max(WAITING_BYTES_MAX_EACH),
        }
    }

    /// Opens a slot, a closed one if there is any, which has a permit.
    pub(crate) fn open(&mut self) -> usize {
        let index = self.free.pop().unwrap_or_else(|| {
            self.all.push(UrlSlot {
                job: Started::default(),
                start: Instant::now(),
                sent: Instant::now(),
                start_ms: 0,
                is_pending: false,
                has_permit: false,
                wait: None,
                stopped: None,
                task: None,
            });
            self.all.len() - 1
        });
        self.set_permit(index, true);
        index
    }

    /// Stores the task of an open slot.
    pub(crate) fn set_task(&mut self, index: usize, task: JoinHandle<()>) {
        self.all[index].task = Some(task);
    }

    /// Closes a slot, to be opened again. Returns whether it had a permit.
    #[must_use]
    pub(crate) fn close(&mut self, index: usize) -> bool {
        self.all[index].task = None;
        self.end_wait(index);
        self.free.push(index);
        self.take_permit(index)
    }

    /// How many permits the slots have.
    pub(crate) fn permits(&self) -> usize {
        self.permits
    }

    /// How many slots wait for turns.
    pub(crate) fn waiting(&self) -> usize {
        self.waiting
    }

    /// Whether so many slots wait for turns that no more jobs should start.
    pub(crate) fn is_crowded(&self) -> bool {
        self.waiting >= self.waiting_max || self.waiting_bytes >= self.waiting_bytes_max
    }

    /// Another job has the permit of a slot now.
    pub(crate) fn give_permit_away(&mut self, index: usize) {
        self.set_permit(index, false);
    }

    /// Takes the permit of a slot. Returns whether it had one.
    fn take_permit(&mut self, index: usize) -> bool {
        let had = self.all[index].has_permit;
        self.set_permit(index, false);
        had
    }

    fn set_permit(&mut self, index: usize, has_permit: bool) {
        let had = std::mem::replace(&mut self.all[index].has_permit, has_permit);
        self.permits = self.permits + usize::from(has_permit) - usize::from(had);
    }

    fn end_wait(&mut self, index: usize) -> Option<SlotWait> {
        let wait = self.all[index].wait.take()?;
        self.waiting -= 1;
        self.waiting_bytes -= wait.bytes;
        Some(wait)
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
        (slot.is_pending, slot.stopped) = (true, None);
        true
    }

    /// Starts the clock of a slot's job anew.
    pub(crate) fn restart(&mut self, index: usize) {
        let slot = &mut self.all[index];
        (slot.start, slot.start_ms) = (Instant::now(), unix_ms());
        slot.sent = slot.start;
    }

    /// The clock of a slot's job stands still while its content waits for memory, or is written. It stays in flight.
    pub(crate) fn stop_clock(&mut self, index: usize) {
        self.all[index].stopped.get_or_insert_with(Instant::now);
    }

    /// The clock of a slot's job goes on after that.
    pub(crate) fn start_clock(&mut self, index: usize) {
        let slot = &mut self.all[index];
        if let Some(since) = slot.stopped.take() {
            slot.start += since.elapsed();
        }
    }

    /// A slot's job is not in flight, until it goes on: its next request waits for a turn since then, and its clock stands
    /// still, or waits for a delay before that, and its clock goes on. Returns whether the slot had a permit, which it loses,
    /// and whether its job was in flight.
    #[must_use]
    pub(crate) fn leave_flight(&mut self, index: usize, since: Option<Instant>) -> (bool, bool) {
        let slot = &mut self.all[index];
        if let Some(wait) = &mut slot.wait {
            wait.since = wait.since.or(since);
            return (false, false);
        }
        let (bytes, was_in_flight) = (slot.job.held_bytes(), slot.is_pending);
        slot.wait = Some(SlotWait { since, bytes });
        self.waiting += 1;
        self.waiting_bytes += bytes;
        (self.take_permit(index), was_in_flight)
    }

    /// The clock of a slot's job goes on, which has a permit again if `has_permit`. Returns whether the job is in flight now:
    /// its line may have been answered meanwhile.
    #[must_use]
    pub(crate) fn go_on(&mut self, index: usize, has_permit: bool) -> bool {
        let now = Instant::now();
        let since = self.end_wait(index).and_then(|wait| wait.since).unwrap_or(now);
        self.set_permit(index, has_permit);
        let slot = &mut self.all[index];
        slot.start += now.saturating_duration_since(since);
        slot.sent = now;
        slot.is_pending
    }

    /// Takes the host that counts the job of a slot.
    pub(crate) fn take_host(&mut self, index: usize) -> Option<HostId> {
        self.all[index].job.host.take()
    }

    /// The further requests of a slot's job wait for the turns of their hosts, which count them.
    pub(crate) fn count(&mut self, index: usize) {
        self.all[index].job.is_uncounted = false;
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
            duration: match slot.clock_until() {
                Some(then) => then.saturating_duration_since(slot.start),
                None => slot.start.elapsed(),
            },
            was_in_flight: slot.wait.is_none(),
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
        slot.is_pending
            && slot.clock_until().is_none()
            && now.saturating_duration_since(slot.start) > limit
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
        let mut slots = SlotTable::new(1);
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
        let mut slots = SlotTable::new(1);
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
        let mut slots = SlotTable::new(1);
        let (first, second) = (slots.open(), slots.open());
        assert_eq!((first, second, slots.open_count()), (0, 1, 2));
        begin(&mut slots, first, &[b'x'; 60_000], Extent::Whole);
        begin(&mut slots, first, b"short", Extent::Whole);
        assert!(slots.slot(first).job.url.capacity() <= 2048);
        assert!(slots.close(first), "it had a permit");
        assert_eq!(slots.open(), first);
        assert_eq!(slots.indices(), 0..2);
    }

    #[test]
    fn a_job_that_waits_has_no_permit_and_its_clock_stands_still() {
        let mut slots = SlotTable::new(1);
        let index = slots.open();
        begin(&mut slots, index, b"line", Extent::Whole);
        let (start, limit) = (slots.slot(index).start, Duration::from_secs(60));
        let later = start + Duration::from_secs(1);
        let left = slots.leave_flight(index, Some(later));
        assert_eq!(left, (true, true), "it had a permit, and was in flight");
        let left = slots.leave_flight(index, Some(later + limit));
        assert_eq!(left, (false, false), "it waits already");
        assert_eq!((slots.permits(), slots.waiting(), slots.open_count()), (0, 1, 1));
        assert!(!slots.is_overdue(index, limit, start + 2 * limit));
        let answered = slots.answer(index).expect("pending");
        assert_eq!((answered.duration, answered.was_in_flight), (Duration::from_secs(1), false));
        slots.keep(index, answered);
        assert!(!slots.is_crowded());
        slots.waiting_max = 1;
        assert!(slots.is_crowded());
        (slots.waiting_max, slots.waiting_bytes_max) = (2, 4);
        assert!(slots.is_crowded(), "by the bytes of the line");
        slots.waiting_bytes_max = 5;
        assert!(!slots.is_crowded());
        assert!(!slots.close(index), "it has no permit");
        assert_eq!((slots.permits(), slots.waiting(), slots.open_count()), (0, 0, 0));

        assert_eq!(slots.open(), index);
        begin(&mut slots, index, b"line", Extent::Whole);
        let start = slots.slot(index).start;
        // It waited for a minute, by now.
        assert_eq!(slots.leave_flight(index, Some(start - limit)), (true, true));
        assert!(slots.go_on(index, true), "it is in flight");
        assert!(slots.slot(index).start >= start + limit && slots.slot(index).sent >= start);
        assert_eq!((slots.permits(), slots.waiting(), slots.waiting_bytes), (1, 0, 0));
        assert!(slots.answer(index).expect("pending").was_in_flight);
        slots.give_permit_away(index);
        assert!(!slots.close(index), "it has no permit any more");
    }

    #[test]
    fn a_job_whose_content_waits_for_memory_is_in_flight_and_not_overdue() {
        let mut slots = SlotTable::new(1);
        let index = slots.open();
        begin(&mut slots, index, b"line", Extent::Whole);
        let (start, limit) = (slots.slot(index).start, Duration::from_secs(60));
        slots.stop_clock(index);
        assert!(!slots.is_overdue(index, limit, start + 2 * limit));
        // It waited for a minute, by now.
        slots.all[index].stopped = start.checked_sub(limit);
        slots.start_clock(index);
        assert!(slots.slot(index).start >= start + limit);
        assert!(slots.is_overdue(index, limit, start + 3 * limit), "its clock goes on");
        slots.stop_clock(index);
        slots.all[index].stopped = Some(slots.slot(index).start);
        let answered = slots.answer(index).expect("pending");
        assert_eq!((answered.duration, answered.was_in_flight), (Duration::ZERO, true));
        begin(&mut slots, index, b"next", Extent::Whole);
        assert!(slots.is_overdue(index, Duration::ZERO, Instant::now() + limit));
        assert!(slots.close(index), "it has its permit");
    }

    #[test]
    fn the_clock_of_a_job_goes_on_during_the_delay_of_a_retry() {
        let mut slots = SlotTable::new(1);
        let index = slots.open();
        begin(&mut slots, index, b"line", Extent::Whole);
        let (start, limit) = (slots.slot(index).start, Duration::from_secs(60));
        assert_eq!(slots.leave_flight(index, None), (true, true));
        assert_eq!((slots.permits(), slots.waiting()), (0, 1));
        assert!(slots.is_overdue(index, limit, start + 2 * limit));
        // Then it waits for its turn.
        let later = start + Duration::from_secs(1);
        assert_eq!(slots.leave_flight(index, Some(later)), (false, false));
        assert!(!slots.is_overdue(index, limit, start + 2 * limit));
        let answered = slots.answer(index).expect("pending");
        assert_eq!((answered.duration, answered.was_in_flight), (Duration::from_secs(1), false));

        begin(&mut slots, index, b"line", Extent::Whole);
        assert!(slots.go_on(index, true));
        assert_eq!(slots.leave_flight(index, None), (true, true));
        let start = slots.slot(index).start;
        assert!(slots.go_on(index, true), "at once");
        assert_eq!((slots.slot(index).start, slots.waiting()), (start, 0));
    }
}
