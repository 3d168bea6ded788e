//! Tests of the queue, by times that are given.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::task::Wake;

use super::*;

const MS: Duration = Duration::from_millis(1);
/// One byte a microsecond, and 1,000 a millisecond.
const RATE: u64 = 1_000_000;

#[derive(Default)]
struct Woken(AtomicUsize);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Relaxed);
    }
}

/// One that reads pieces of 1,000 bytes, and what it has read.
#[derive(Default)]
struct Reader {
    ticket: Ticket,
    woken: Arc<Woken>,
    read: u64,
}

impl Reader {
    fn ask(&mut self, queue: &mut Queue, now: Instant) -> Turn {
        queue.ask(&mut self.ticket, 1_000, now, &Waker::from(Arc::clone(&self.woken)))
    }

    /// Reads as much as it may by `now`.
    fn read(&mut self, queue: &mut Queue, now: Instant) {
        while self.ask(queue, now) == Turn::Now {
            self.read += 1_000;
        }
    }

    fn woken(&self) -> usize {
        self.woken.0.load(Relaxed)
    }
}

#[test]
fn one_that_reads_alone_keeps_the_rate() {
    let begun = Instant::now();
    let (mut queue, mut reader) = (Queue::new(RATE, begun), Reader::default());
    assert_eq!(reader.ask(&mut queue, begun), Turn::Now);
    assert!(!queue.is_short());
    assert_eq!(reader.ask(&mut queue, begun), Turn::At(begun + MS));
    assert!(queue.is_short());
    assert_eq!(reader.ask(&mut queue, begun + MS / 2), Turn::At(begun + MS));
    reader.read = 1_000;
    // Timers that come late are made up for.
    for at in (0..5_000).step_by(7) {
        reader.read(&mut queue, begun + at * MS);
    }
    assert_eq!(reader.read, 4_999_000);
}

#[test]
fn a_pause_is_followed_by_a_tenth_of_a_second_and_a_piece() {
    let begun = Instant::now();
    let (mut queue, mut reader) = (Queue::new(RATE, begun), Reader::default());
    reader.read(&mut queue, begun);
    assert_eq!(reader.read, 1_000);
    queue.leave(&mut reader.ticket);
    reader.read(&mut queue, begun + 60_000 * MS);
    assert_eq!(reader.read, 1_000 + 101_000);
}

#[test]
fn all_that_read_have_as_much() {
    let begun = Instant::now();
    let mut queue = Queue::new(RATE, begun);
    let mut readers: Vec<_> = (0..10).map(|_| Reader::default()).collect();
    for at in 0..=1_000 {
        // The last asks first, and is none the better for it.
        for reader in readers.iter_mut().rev() {
            reader.read(&mut queue, begun + at * MS);
        }
    }
    let read: Vec<_> = readers.iter().map(|reader| reader.read).collect();
    assert_eq!(read.iter().sum::<u64>(), 1_001_000, "{read:?}");
    assert!(read.iter().all(|bytes| (99_000..=102_000).contains(bytes)), "{read:?}");
}

#[test]
fn the_next_is_woken_when_it_is_the_first() {
    let begun = Instant::now();
    let mut queue = Queue::new(RATE, begun);
    let (mut a, mut b, mut c) = (Reader::default(), Reader::default(), Reader::default());
    assert_eq!(a.ask(&mut queue, begun), Turn::Now);
    assert_eq!(a.ask(&mut queue, begun), Turn::At(begun + MS));
    assert_eq!(b.ask(&mut queue, begun), Turn::Behind);
    assert_eq!(c.ask(&mut queue, begun), Turn::Behind);
    assert_eq!(a.ask(&mut queue, begun + MS), Turn::Now);
    assert_eq!((a.woken(), b.woken(), c.woken()), (0, 1, 0));
    assert_eq!(b.ask(&mut queue, begun + MS), Turn::At(begun + 2 * MS));
    // One that does not wait any more holds up no other.
    queue.leave(&mut b.ticket);
    assert_eq!((b.woken(), c.woken()), (1, 1));
    assert_eq!(c.ask(&mut queue, begun + 2 * MS), Turn::Now);
    queue.leave(&mut b.ticket);
    assert!(!queue.is_short());
}

#[test]
fn what_was_read_counts_and_not_what_was_expected() {
    let begun = Instant::now();
    let mut queue = Queue::new(RATE, begun);
    let (mut a, mut b) = (Reader::default(), Reader::default());
    assert_eq!(a.ask(&mut queue, begun), Turn::Now);
    assert_eq!(b.ask(&mut queue, begun), Turn::At(begun + MS));
    queue.correct(1_000, 250);
    assert_eq!(b.woken(), 1, "its time is earlier");
    assert_eq!(b.ask(&mut queue, begun), Turn::At(begun + MS / 4));
    queue.correct(0, 4_000);
    assert_eq!(b.ask(&mut queue, begun + MS), Turn::At(begun + 4 * MS + MS / 4));
    queue.add(1_000, begun + MS);
    assert_eq!(b.ask(&mut queue, begun + 2 * MS), Turn::At(begun + 5 * MS + MS / 4));
}

#[test]
fn a_rate_of_next_to_nothing_or_of_all_has_times_too() {
    let begun = Instant::now();
    for (rate, bytes) in [(0, u64::MAX), (1, 1 << 40), (u64::MAX, u64::MAX)] {
        let mut queue = Queue::new(rate, begun);
        queue.add(bytes, begun);
        queue.correct(bytes, 0);
        queue.correct(0, bytes);
        let _ = Reader::default().ask(&mut queue, begun);
    }
}
