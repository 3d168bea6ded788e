//! The queue of all that read content of a run, and when the first of them may. It has neither a clock nor a thread.

use std::collections::VecDeque;
use std::task::Waker;
use std::time::{Duration, Instant};

/// What is read at once: a buffer of the client, a record of TLS, or a frame of HTTP/2.
pub(super) const PIECE_BYTES: u64 = 16 << 10;

/// What was not read of so much time may be read later, at once: timers count milliseconds, and a busy event loop comes
/// to them some later.
const BURST: Duration = Duration::from_millis(100);

/// Those that wait, and what was read before.
#[derive(Debug)]
pub(super) struct Queue {
    bytes_per_second: u64,
    /// When the bytes that were read have taken the time that they may take, and the next may be read.
    next: Instant,
    /// Until then unused time has let jobs start.
    spent: Instant,
    /// All bytes that were read.
    read: u64,
    waiting: VecDeque<Waiting>,
    numbers: u64,
}

/// One that waits.
#[derive(Debug)]
struct Waiting {
    number: u64,
    waker: Waker,
}

/// The number of one that waits, if it does yet.
pub(super) type Ticket = Option<u64>;

/// Whether one may read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    Now,
    /// It is the first, and may then.
    At(Instant),
    /// Others come before it. It is woken when it is the first.
    Behind,
}

impl Queue {
    /// A queue in which none waits, and nothing was read.
    pub(super) fn new(bytes_per_second: u64, now: Instant) -> Self {
        let waiting = VecDeque::new();
        let bytes_per_second = bytes_per_second.max(1);
        Self { bytes_per_second, next: now, spent: now, read: 0, waiting, numbers: 0 }
    }

    /// Whether some wait.
    pub(super) fn is_short(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// All bytes that were read.
    pub(super) fn read(&self) -> u64 {
        self.read
    }

    /// Whether so many bytes could have been read, and none came.
    pub(super) fn is_idle(&self, bytes: u64, now: Instant) -> bool {
        !self.is_short() && self.idle_for(bytes) <= now
    }

    /// A job starts that may come with so many bytes, because they could have been read and none came.
    pub(super) fn spend(&mut self, bytes: u64, now: Instant) {
        self.spent = self.idle_for(bytes).max(before(now));
    }

    /// When nothing was read for as long as so many bytes take.
    fn idle_for(&self, bytes: u64) -> Instant {
        self.later(self.next.max(self.spent), bytes)
    }

    /// Whether the one with this ticket may read. It waits from now on where it may not, and otherwise so many bytes count
    /// as read: [`correct`](Self::correct) says how many they were.
    pub(super) fn ask(
        &mut self,
        ticket: &mut Ticket,
        bytes: u64,
        now: Instant,
        waker: &Waker,
    ) -> Turn {
        let first = self.waiting.front().map(|first| first.number);
        let is_first = first.is_none() || first == *ticket;
        if is_first && self.next <= now {
            self.leave(ticket);
            self.add(bytes, now);
            return Turn::Now;
        }
        match *ticket {
            None => {
                self.numbers += 1;
                *ticket = Some(self.numbers);
                self.waiting.push_back(Waiting { number: self.numbers, waker: waker.clone() });
            }
            Some(number) => {
                if let Ok(at) = self.place(number) {
                    self.waiting[at].waker.clone_from(waker);
                }
            }
        }
        if is_first { Turn::At(self.next) } else { Turn::Behind }
    }

    /// The one with this ticket waits no longer.
    pub(super) fn leave(&mut self, ticket: &mut Ticket) {
        let Some(Ok(at)) = ticket.take().map(|number| self.place(number)) else { return };
        self.waiting.remove(at);
        if at == 0 {
            self.wake_first();
        }
    }

    /// So many bytes are read.
    pub(super) fn add(&mut self, bytes: u64, now: Instant) {
        self.read = self.read.saturating_add(bytes);
        self.next = self.later(self.next.max(before(now)), bytes);
    }

    /// So many bytes counted as read, and others were.
    pub(super) fn correct(&mut self, counted: u64, read: u64) {
        self.read = self.read.saturating_sub(counted).saturating_add(read);
        match read.checked_sub(counted) {
            Some(more) => self.next = self.later(self.next, more),
            None => {
                let less = self.time(counted - read);
                self.next = self.next.checked_sub(less).unwrap_or(self.next);
                self.wake_first();
            }
        }
    }

    fn later(&self, then: Instant, bytes: u64) -> Instant {
        then.checked_add(self.time(bytes)).unwrap_or(then)
    }

    /// The time that so many bytes take.
    fn time(&self, bytes: u64) -> Duration {
        let nanoseconds = u128::from(bytes) * 1_000_000_000 / u128::from(self.bytes_per_second);
        Duration::from_nanos(u64::try_from(nanoseconds).unwrap_or(u64::MAX))
    }

    fn place(&self, number: u64) -> Result<usize, usize> {
        self.waiting.binary_search_by_key(&number, |waiting| waiting.number)
    }

    fn wake_first(&self) {
        if let Some(first) = self.waiting.front() {
            first.waker.wake_by_ref();
        }
    }
}

/// The earliest time that is made up for.
fn before(now: Instant) -> Instant {
    now.checked_sub(BURST).unwrap_or(now)
}

#[cfg(test)]
mod tests;
