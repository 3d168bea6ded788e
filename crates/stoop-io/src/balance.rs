//! Spreads connections evenly over workers, before they are registered with a runtime.
//!
//! The kernel spreads connections over the listeners of a port by a hash, so that of 64 on two
//! workers one easily gets 40. A worker that has more than its share therefore hands what it accepts
//! to the one that has least. A worker within bounds keeps it: no message between threads.
//!
//! A connection stays where it was placed. Where connections end unevenly, new ones make up for it.

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

/// The number of connections of each worker of a server, and the connections that are being handed
/// from one to another.
///
/// `T` is the type of a connection: an accepted socket.
pub struct Balance<T = Accepted> {
    shared: Arc<BalanceShared<T>>,
}

struct BalanceShared<T> {
    mailboxes: Box<[Mailbox<T>]>,
    loads: Arc<WorkerLoads>,
    lost: AtomicU64,
}

/// The connections that were handed to a worker and that it has not picked up.
struct Mailbox<T> {
    state: Mutex<MailboxState<T>>,
    /// Whether a worker picks up from it, readable without the lock.
    open: AtomicBool,
}

struct MailboxState<T> {
    waiting: VecDeque<PlacedConnection<T>>,
    waker: Option<Waker>,
    open: bool,
}

/// The number of connections of each worker.
struct WorkerLoads(Box<[WorkerLoad]>);

/// A number of connections, alone in its cache lines: each worker writes its own, and all read all.
#[repr(align(128))]
struct WorkerLoad(AtomicUsize);

/// A connection with its place on a worker.
pub struct PlacedConnection<T = Accepted> {
    /// The connection.
    pub connection: T,
    /// To be kept as long as the connection.
    pub slot: ConnectionSlot,
}

/// A connection's place on a worker: counted from when it is placed until this is dropped.
///
/// Keep it beside the connection, declared behind it so that it is dropped after it: dropping it
/// tells listeners that are out of descriptors to try again.
pub struct ConnectionSlot {
    loads: Arc<WorkerLoads>,
    worker: usize,
}

/// A worker's part in a [`Balance`]: it places what it accepted and picks up what it is handed.
///
/// Dropped, as by a panic, it closes what was not picked up, and counts it: see [`Balance::lost`].
pub struct WorkerHandle<T = Accepted> {
    shared: Arc<BalanceShared<T>>,
    worker: usize,
}

impl<T> Balance<T> {
    /// A balance for `workers` workers, none of which has taken its handle yet.
    pub fn new(workers: usize) -> Self {
        let mailbox = |_| Mailbox {
            state: Mutex::new(MailboxState { waiting: VecDeque::new(), waker: None, open: false }),
            open: AtomicBool::new(false),
        };
        let shared = BalanceShared {
            mailboxes: (0..workers).map(mailbox).collect(),
            loads: Arc::new(WorkerLoads(
                (0..workers).map(|_| WorkerLoad(AtomicUsize::new(0))).collect(),
            )),
            lost: AtomicU64::new(0),
        };
        Self { shared: Arc::new(shared) }
    }

    /// Takes the handle of a worker, which may be handed connections from now on.
    ///
    /// # Panics
    /// If there is no such worker, or its handle is taken.
    pub fn handle(&self, worker: usize) -> WorkerHandle<T> {
        let mailbox = &self.shared.mailboxes[worker];
        let mut state = mailbox.lock();
        assert!(!state.open, "the handle is taken");
        state.open = true;
        mailbox.open.store(true, Ordering::Relaxed);
        drop(state);
        WorkerHandle { shared: Arc::clone(&self.shared), worker }
    }

    /// How many connections each worker has.
    pub fn connections(&self) -> Vec<usize> {
        self.shared.loads.0.iter().map(|load| load.0.load(Ordering::Relaxed)).collect()
    }

    /// How many connections were closed because the worker that they were handed to ended before
    /// it picked them up. None, as long as workers end by [`WorkerHandle::close`].
    pub fn lost(&self) -> u64 {
        self.shared.lost.load(Ordering::Relaxed)
    }
}

impl<T> Clone for Balance<T> {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared) }
    }
}

impl<T> WorkerHandle<T> {
    /// Which worker this is.
    pub fn worker(&self) -> usize {
        self.worker
    }

    /// Decides which worker serves a connection that this one accepted. Returns it if that is this
    /// worker: as long as it has at most max(1, 12 % of the mean) more than the one with fewest.
    pub fn place(&self, connection: T) -> Option<PlacedConnection<T>> {
        let shared = &*self.shared;
        let target = shared.target(self.worker);
        let placed =
            PlacedConnection { connection, slot: ConnectionSlot::take(&shared.loads, target) };
        if target == self.worker {
            return Some(placed);
        }
        match shared.mailboxes[target].push(placed) {
            Ok(()) => None,
            // That worker has just ended, or does not keep up: better served here than not.
            Err(PlacedConnection { connection, .. }) => Some(PlacedConnection {
                connection,
                slot: ConnectionSlot::take(&shared.loads, self.worker),
            }),
        }
    }

    /// Waits for a connection that another worker placed here.
    pub fn poll_handed(&mut self, cx: &mut Context<'_>) -> Poll<PlacedConnection<T>> {
        let mut state = self.mailbox().lock();
        if let Some(placed) = state.waiting.pop_front() {
            return Poll::Ready(placed);
        }
        // Dropped without the lock, as is every waker here: dropping it may run any code.
        let old = state.waker.replace(cx.waker().clone());
        drop(state);
        drop(old);
        Poll::Pending
    }

    /// Ends this part: nothing more is placed here. Returns what was handed over and not picked
    /// up, which is this worker's to serve still.
    pub fn close(self) -> Vec<PlacedConnection<T>> {
        self.mailbox().close()
    }

    fn mailbox(&self) -> &Mailbox<T> {
        &self.shared.mailboxes[self.worker]
    }
}

impl<T> Drop for WorkerHandle<T> {
    fn drop(&mut self) {
        let lost = self.mailbox().close().len();
        self.shared.lost.fetch_add(lost as u64, Ordering::Relaxed);
    }
}

impl<T> BalanceShared<T> {
    /// The worker that should serve a connection that `own` accepted.
    fn target(&self, own: usize) -> usize {
        let loads = &self.loads.0;
        let mine = loads[own].0.load(Ordering::Relaxed);
        let (mut least, mut fewest, mut total, mut open) = (own, mine, 0, 0);
        for (worker, (load, mailbox)) in loads.iter().zip(&self.mailboxes).enumerate() {
            if worker != own && !mailbox.open.load(Ordering::Relaxed) {
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

impl<T> Mailbox<T> {
    fn lock(&self) -> MutexGuard<'_, MailboxState<T>> {
        // Nothing is done under this lock that could panic half-way.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn push(&self, placed: PlacedConnection<T>) -> Result<(), PlacedConnection<T>> {
        let mut state = self.lock();
        if !state.open || state.waiting.len() >= HANDED_MAX {
            return Err(placed);
        }
        state.waiting.push_back(placed);
        let waker = state.waker.take();
        drop(state);
        if let Some(waker) = waker {
            waker.wake();
        }
        Ok(())
    }

    fn close(&self) -> Vec<PlacedConnection<T>> {
        let mut state = self.lock();
        state.open = false;
        self.open.store(false, Ordering::Relaxed);
        let (waiting, waker) = (std::mem::take(&mut state.waiting), state.waker.take());
        drop(state);
        drop(waker);
        waiting.into()
    }
}

impl ConnectionSlot {
    fn take(loads: &Arc<WorkerLoads>, worker: usize) -> Self {
        loads.0[worker].0.fetch_add(1, Ordering::Relaxed);
        Self { loads: Arc::clone(loads), worker }
    }

    /// Which worker it is on.
    pub fn worker(&self) -> usize {
        self.worker
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        self.loads.0[self.worker].0.fetch_sub(1, Ordering::Relaxed);
        descriptors_freed();
    }
}
