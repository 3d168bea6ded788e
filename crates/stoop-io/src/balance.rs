//! Spreading connections evenly over workers, before any runtime knows them.
//!
//! The kernel spreads connections over the listeners of a port by a hash, so that of 64 on two
//! workers one easily gets 40. A worker that has more than its share therefore hands what it accepts
//! to the one that has least. Whoever is within bounds keeps it: no message between threads.
//!
//! A connection stays where it was placed. What ends unevenly is made up for by what comes next.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use crate::listener::{Accepted, descriptors_freed};

/// Connections that may wait for one worker to pick them up. Beyond that they stay where they are: a
/// worker that far behind would not serve them sooner.
const HANDED_MAX: usize = 1024;

/// By how much of the mean, in percent, a worker may have more connections than the one with fewest
/// before it hands over what it accepts: about the standard deviation of what the kernel's hash makes
/// of 64 connections on two workers. At least one connection.
const SLACK_PERCENT: usize = 12;

/// How many connections each worker of a server has, and the connections on their way between them.
///
/// `T` is what is handed over: an accepted socket.
pub struct Balance<T = Accepted> {
    shared: Arc<Shared<T>>,
}

struct Shared<T> {
    desks: Box<[Desk<T>]>,
    loads: Arc<Loads>,
    handed: AtomicU64,
    lost: AtomicU64,
}

/// What a worker is handed.
struct Desk<T> {
    queue: Mutex<Queue<T>>,
    /// Whether anybody is at it, readable without the lock.
    open: AtomicBool,
}

struct Queue<T> {
    waiting: VecDeque<Placed<T>>,
    waker: Option<Waker>,
    open: bool,
}

/// Connections of each worker.
struct Loads(Box<[Load]>);

/// Alone in its cache lines: each worker writes its own, and all read all.
#[repr(align(128))]
struct Load(AtomicUsize);

/// A connection with its place on a worker.
pub struct Placed<T = Accepted> {
    /// The connection.
    pub connection: T,
    /// To be kept as long as the connection.
    pub seat: Seat,
}

/// A connection's place on a worker: counted from when it is placed until this is dropped.
///
/// Keep it beside the connection, declared behind it so that it is dropped after it: dropping it
/// tells listeners that are out of descriptors to try again.
pub struct Seat {
    loads: Arc<Loads>,
    worker: usize,
}

/// A worker's part in a [`Balance`]: it places what it accepted and picks up what it is handed.
///
/// Dropped, as by a panic, it closes what nobody picked up, and counts it: see [`Balance::lost`].
pub struct Post<T = Accepted> {
    shared: Arc<Shared<T>>,
    worker: usize,
}

impl<T> Balance<T> {
    /// For `workers` workers, none of which is at work yet.
    pub fn new(workers: usize) -> Self {
        let desk = |_| Desk {
            queue: Mutex::new(Queue { waiting: VecDeque::new(), waker: None, open: false }),
            open: AtomicBool::new(false),
        };
        let shared = Shared {
            desks: (0..workers).map(desk).collect(),
            loads: Arc::new(Loads((0..workers).map(|_| Load(AtomicUsize::new(0))).collect())),
            handed: AtomicU64::new(0),
            lost: AtomicU64::new(0),
        };
        Self { shared: Arc::new(shared) }
    }

    /// Takes the post of a worker: from now on it is handed connections.
    ///
    /// # Panics
    /// If there is no such worker, or its post is taken.
    pub fn post(&self, worker: usize) -> Post<T> {
        let desk = &self.shared.desks[worker];
        let mut queue = desk.lock();
        assert!(!queue.open, "the post is taken");
        queue.open = true;
        desk.open.store(true, Ordering::Relaxed);
        drop(queue);
        Post { shared: Arc::clone(&self.shared), worker }
    }

    /// How many connections each worker has.
    pub fn connections(&self) -> Vec<usize> {
        self.shared.loads.0.iter().map(|load| load.0.load(Ordering::Relaxed)).collect()
    }

    /// How many connections were handed from one worker to another.
    pub fn handed_over(&self) -> u64 {
        self.shared.handed.load(Ordering::Relaxed)
    }

    /// How many connections were closed because the worker that they were handed to ended before
    /// it picked them up. None, as long as workers end by [`Post::close`].
    pub fn lost(&self) -> u64 {
        self.shared.lost.load(Ordering::Relaxed)
    }
}

impl<T> Clone for Balance<T> {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared) }
    }
}

impl<T> Post<T> {
    /// Which worker this is.
    pub fn worker(&self) -> usize {
        self.worker
    }

    /// Decides who serves a connection that this worker accepted. Returns it if that is this
    /// worker: as long as it has at most max(1, 12 % of the mean) more than the one with fewest.
    pub fn place(&self, connection: T) -> Option<Placed<T>> {
        let shared = &*self.shared;
        let target = shared.target(self.worker);
        let placed = Placed { connection, seat: Seat::take(&shared.loads, target) };
        if target == self.worker {
            return Some(placed);
        }
        match shared.desks[target].push(placed) {
            Ok(()) => {
                shared.handed.fetch_add(1, Ordering::Relaxed);
                None
            }
            // It has just ended, or does not keep up: better served here than not.
            Err(Placed { connection, .. }) => {
                Some(Placed { connection, seat: Seat::take(&shared.loads, self.worker) })
            }
        }
    }

    /// Waits for a connection that another worker placed here.
    pub fn poll_handed(&mut self, cx: &mut Context<'_>) -> Poll<Placed<T>> {
        let mut queue = self.desk().lock();
        if let Some(placed) = queue.waiting.pop_front() {
            return Poll::Ready(placed);
        }
        // Dropped without the lock, as is every waker here: that may run anyone's code.
        let old = queue.waker.replace(cx.waker().clone());
        drop(queue);
        drop(old);
        Poll::Pending
    }

    /// Leaves the post: nothing more is placed here. Returns what was handed over and not picked
    /// up, which is this worker's to serve still.
    pub fn close(self) -> Vec<Placed<T>> {
        self.desk().close()
    }

    fn desk(&self) -> &Desk<T> {
        &self.shared.desks[self.worker]
    }
}

impl<T> Drop for Post<T> {
    fn drop(&mut self) {
        let lost = self.desk().close().len();
        self.shared.lost.fetch_add(lost as u64, Ordering::Relaxed);
    }
}

impl<T> Shared<T> {
    /// The worker that should serve what `own` accepted.
    fn target(&self, own: usize) -> usize {
        let loads = &self.loads.0;
        let mine = loads[own].0.load(Ordering::Relaxed);
        let (mut least, mut fewest, mut total, mut open) = (own, mine, 0, 0);
        for (worker, (load, desk)) in loads.iter().zip(&self.desks).enumerate() {
            if worker != own && !desk.open.load(Ordering::Relaxed) {
                continue;
            }
            let load = load.0.load(Ordering::Relaxed);
            (total, open) = (total + load, open + 1);
            if load < fewest {
                (least, fewest) = (worker, load);
            }
        }
        let slack = (total * SLACK_PERCENT / (open * 100)).max(1);
        if mine <= fewest + slack { own } else { least }
    }
}

impl<T> Desk<T> {
    fn lock(&self) -> MutexGuard<'_, Queue<T>> {
        // Nothing is done under this lock that could panic half-way.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn push(&self, placed: Placed<T>) -> Result<(), Placed<T>> {
        let mut queue = self.lock();
        if !queue.open || queue.waiting.len() >= HANDED_MAX {
            return Err(placed);
        }
        queue.waiting.push_back(placed);
        let waker = queue.waker.take();
        drop(queue);
        if let Some(waker) = waker {
            waker.wake();
        }
        Ok(())
    }

    fn close(&self) -> Vec<Placed<T>> {
        let mut queue = self.lock();
        queue.open = false;
        self.open.store(false, Ordering::Relaxed);
        let (waiting, waker) = (std::mem::take(&mut queue.waiting), queue.waker.take());
        drop(queue);
        drop(waker);
        waiting.into()
    }
}

impl Seat {
    fn take(loads: &Arc<Loads>, worker: usize) -> Self {
        loads.0[worker].0.fetch_add(1, Ordering::Relaxed);
        Self { loads: Arc::clone(loads), worker }
    }

    /// Which worker it is on.
    pub fn worker(&self) -> usize {
        self.worker
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.loads.0[self.worker].0.fetch_sub(1, Ordering::Relaxed);
        descriptors_freed();
    }
}
