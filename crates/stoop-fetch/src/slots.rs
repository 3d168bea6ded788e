//! The table of a worker's slots: the line that each fetches, and since when. It is kept beside the tasks,
//! so that a line is answered whatever becomes of the task that fetches it.

mod answered;

use std::time::{Duration, Instant};

use tokio::task::JoinHandle;

pub(crate) use self::answered::Answered;
use crate::schedule::{HostId, Started};
use crate::wall_clock::WallClock;

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
    clock: WallClock,
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
    /// When its clock was started, which `start` is later than by as long as it stood still.
    begun: Instant,
    /// `begun` in milliseconds of Unix time.
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

impl SlotTable {
    /// A table of one of so many workers, without slots.
    pub(crate) fn new(workers: usize) -> Self {
        Self {
            all: Vec::new(),
            free: Vec::new(),
            clock: WallClock::new(),
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
                begun: Instant::now(),
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
        (slot.is_pending, slot.stopped) = (true, None);
        self.restart(index);
        true
    }

    /// Starts the clock of a slot's job anew.
    pub(crate) fn restart(&mut self, index: usize) {
        let (slot, now) = (&mut self.all[index], Instant::now());
        (slot.start, slot.sent, slot.begun) = (now, now, now);
        slot.start_ms = self.clock.unix_ms(now);
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

    /// The request of a slot's job is sent now.
    pub(crate) fn sends(&mut self, index: usize) {
        self.all[index].sent = Instant::now();
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
            stood_still: slot.start.saturating_duration_since(slot.begun)
                + slot.clock_until().map_or(Duration::ZERO, |since| since.elapsed()),
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
mod tests;
