//! What workers tell each other of the turns of hosts.

use std::sync::atomic::Ordering::{AcqRel, Acquire, Release};
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::ticket::Turn;
use crate::schedule::{Feedback, HostId};

/// What the worker of a host is told.
#[derive(Debug)]
pub(crate) enum Mail {
    /// A request waits for a turn.
    Want(Turn),
    /// A request that was sent then has left its place.
    Left { host: HostId, start: Instant, feedback: Feedback },
    /// A request that was sent then keeps its place, and its host said this.
    Told { host: HostId, start: Instant, feedback: Feedback },
    /// A request that has its place knows what robots.txt says, and is sent now, if it is.
    Learned { host: HostId, crawl_delay: Option<Duration>, is_sent: bool },
}

/// Brings mail to the worker of a host, and permits back.
pub(crate) trait Post: Send + Sync {
    /// Brings mail to a worker, and wakes it.
    fn post(&self, worker: usize, mail: Mail);

    /// Gives a permit back, of `worker` or of none.
    fn give_back_permit(&self, worker: Option<usize>);
}

/// The mailboxes of all workers.
#[derive(Debug)]
pub(crate) struct Mailboxes {
    all: Vec<Mailbox>,
    /// How many workers may still have jobs in flight.
    busy: AtomicUsize,
}

#[derive(Debug)]
struct Mailbox {
    /// None once the worker has ended.
    mail: Mutex<Option<Vec<Mail>>>,
    has_mail: AtomicBool,
    is_busy: AtomicBool,
}

impl Mailboxes {
    pub(crate) fn new(workers: usize) -> Self {
        let mailbox = || Mailbox {
            mail: Mutex::new(Some(Vec::new())),
            has_mail: AtomicBool::new(false),
            is_busy: AtomicBool::new(true),
        };
        Self { all: (0..workers).map(|_| mailbox()).collect(), busy: AtomicUsize::new(workers) }
    }

    /// Puts mail into the box of `worker`, which the caller wakes. Mail for one that has ended is dropped, so that a request
    /// goes on.
    pub(crate) fn put(&self, worker: usize, mail: Mail) {
        let mailbox = &self.all[worker];
        if let Some(all) = &mut *mailbox.lock() {
            all.push(mail);
            mailbox.has_mail.store(true, Release);
        }
    }

    /// Takes all mail of `worker`.
    pub(crate) fn take(&self, worker: usize) -> Vec<Mail> {
        let mailbox = &self.all[worker];
        if !mailbox.has_mail.swap(false, AcqRel) {
            return Vec::new();
        }
        mailbox.lock().as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Notes that `worker` has no job in flight, and will have none any more. True at the last of all workers.
    pub(crate) fn rest(&self, worker: usize) -> bool {
        self.all[worker].is_busy.swap(false, AcqRel) && self.busy.fetch_sub(1, AcqRel) == 1
    }

    /// Whether no worker will have a job in flight any more.
    pub(crate) fn is_over(&self) -> bool {
        self.busy.load(Acquire) == 0
    }

    /// Notes that `worker` has ended, and lets the requests go on that wait for it.
    pub(crate) fn close(&self, worker: usize) {
        // Dropped behind the lock.
        let mail = self.all[worker].lock().take();
        drop(mail);
    }
}

impl Mailbox {
    fn lock(&self) -> MutexGuard<'_, Option<Vec<Mail>>> {
        // No code under the lock can panic half-way, so the state behind a poisoned lock is sound.
        self.mail.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::task::{Context, Poll, Waker};

    use super::super::ticket::Answer;
    use super::*;

    #[test]
    fn mail_is_taken_once_and_what_comes_for_a_worker_that_has_ended_goes_on() {
        let boxes = Mailboxes::new(2);
        assert!(boxes.take(0).is_empty());
        boxes.put(1, Mail::Want(Turn::new(b"a", None).0));
        assert!(boxes.take(0).is_empty());
        assert_eq!(boxes.take(1).len(), 1);
        assert!(boxes.take(1).is_empty());
        boxes.close(1);
        let (turn, ticket) = Turn::new(b"a", None);
        boxes.put(1, Mail::Want(turn));
        let answer = ticket.poll(&mut Context::from_waker(Waker::noop()));
        assert_eq!(answer, Poll::Ready(Answer::Uncounted));
    }

    #[test]
    fn the_last_worker_that_rests_is_told_so() {
        let boxes = Mailboxes::new(2);
        assert!(!boxes.rest(1) && !boxes.rest(1), "once each");
        assert!(!boxes.is_over());
        assert!(boxes.rest(0) && boxes.is_over());
    }
}
