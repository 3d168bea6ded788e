//! Which connection a request gets: one that idles, a new one, or the next that is free.
//!
//! The pool knows nothing of HTTP versions. It counts; a connection tells by coming back, or not,
//! whether it is viable. Its [`Table`] sits behind one short mutex: no connection is opened or
//! closed, and nobody is woken, under it.

mod table;

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use stoop_io::{Look, now};
use tokio::sync::oneshot;

use crate::conn::http1::{Home, Http1, Lease, Permit};
use crate::limits::PoolLimits;

use table::{Given, Key, Table};

/// How often idle connections are looked at: closed ones should not linger much longer.
const REAP_EVERY: Duration = Duration::from_secs(1);

type Due = table::Due<Box<Http1>, oneshot::Sender<Grant>>;

/// The connections of one client, all origins.
pub(crate) struct Pool {
    state: Mutex<State>,
    idle: Duration,
    /// Ourselves, for homes to find their way.
    this: Weak<Pool>,
}

struct State {
    table: Table<Box<Http1>, oneshot::Sender<Grant>>,
    /// A task closes what idles too long.
    reaping: bool,
}

/// What came of asking.
pub(crate) enum Asked {
    Now(Grant),
    Later(Turn),
}

/// What a request was given.
pub(crate) enum Grant {
    /// A connection that has served before.
    Reuse(Lease),
    /// The right to make one.
    Connect(Permit),
}

impl Home for Pool {
    fn give_back(&self, key: Key, mut connection: Box<Http1>) {
        connection.idle_since = now();
        let mut due = Due::default();
        let mut state = self.state();
        state.table.give_back(key, connection, &mut due);
        let reap = !state.reaping && state.table.counts().1 > 0;
        state.reaping |= reap;
        drop(state);
        self.settle(due);
        if reap {
            self.start_reaper();
        }
    }

    fn gone(&self, key: Key) {
        let mut due = Due::default();
        self.state().table.gone(key, &mut due);
        self.settle(due);
    }
}

impl Pool {
    pub(crate) fn new(limits: PoolLimits) -> Arc<Self> {
        let idle = limits.idle;
        let state = Mutex::new(State { table: Table::new(limits), reaping: false });
        Arc::new_cyclic(|this| Self { state, idle, this: this.clone() })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A connection to `origin`, or the right to make one; a turn to wait for if there are too many.
    ///
    /// `fresh` is for a request that must not meet another stale connection: of one that was given
    /// it can use no more than the place.
    pub(crate) fn ask(self: &Arc<Self>, origin: &str, fresh: bool) -> Asked {
        let (mut due, mut receiver) = (Due::default(), None);
        let waiter = || {
            let (sender, turn) = oneshot::channel();
            receiver = Some(turn);
            sender
        };
        let (key, given) = self.state().table.ask(origin, fresh, waiter, &mut due);
        self.settle(due);
        match (given, receiver) {
            (Given::Idle(connection), _) => {
                Asked::Now(Grant::Reuse(Lease::new(connection, self.clone(), key)))
            }
            (Given::Turn(number), Some(receiver)) => {
                Asked::Later(Turn { pool: self.clone(), key, number, receiver })
            }
            (Given::Place | Given::Turn(_), _) => {
                Asked::Now(Grant::Connect(Permit::new(self.clone(), key)))
            }
        }
    }

    /// Closes and serves what the table decided to. A waiter who has just left gives back what it
    /// gets by dropping it, and so it comes here again.
    fn settle(&self, due: Due) {
        drop(due.closed);
        for (waiter, key, connection) in due.served {
            // Gone only if nobody can be waiting: who waits holds it.
            let Some(home) = self.this.upgrade() else { return };
            let permit = Permit::new(home, key);
            let _ = waiter.send(match connection {
                Some(connection) => Grant::Reuse(permit.fill(connection)),
                None => Grant::Connect(permit),
            });
        }
    }

    /// Closes what has idled too long, was closed by its server, or was sent what nobody asked for.
    /// Returns whether anything is left to look after.
    fn reap(&self, now: Instant) -> bool {
        let mut due = Due::default();
        let mut state = self.state();
        let unfit = |connection: &mut Box<Http1>| {
            let rested = now.saturating_duration_since(connection.idle_since);
            rested >= self.idle || !connection.is_quiet(Look::Cached)
        };
        state.table.reap(unfit, &mut due);
        let more = state.table.counts().1 > 0;
        state.reaping = more;
        drop(state);
        self.settle(due);
        more
    }

    /// Closes the connection that has idled longest, because this process is out of descriptors.
    /// Returns whether there was one.
    pub(crate) fn shed(&self) -> bool {
        let mut due = Due::default();
        self.state().table.shed(&mut due);
        let shed = !due.closed.is_empty();
        self.settle(due);
        shed
    }

    /// One task a client, there only while something idles; it does not keep the client alive.
    fn start_reaper(&self) {
        // Without a runtime nothing can be timed; the next return tries again.
        let reaper = Reaper { pool: self.this.clone(), rests: false };
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        runtime.spawn(reaper.run(self.idle.min(REAP_EVERY)));
    }

    /// Connections open, and idle among them.
    pub(crate) fn counts(&self) -> (usize, usize) {
        self.state().table.counts()
    }
}

/// A place in the queue. Dropped, it is given up.
pub(crate) struct Turn {
    pool: Arc<Pool>,
    key: Key,
    number: u64,
    receiver: oneshot::Receiver<Grant>,
}

impl Future for Turn {
    type Output = Grant;
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Grant> {
        // The sender goes with the table, which we hold, or by serving us.
        let served = ready!(Pin::new(&mut self.receiver).poll(cx));
        Poll::Ready(served.expect("nobody else drops a waiter"))
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        // Served already, as a rule; then the number is not there any more.
        let waiter = self.pool.state().table.cancel(self.key, self.number);
        drop(waiter);
    }
}

/// The task that looks after idle connections. If its runtime ends, another one takes over.
struct Reaper {
    pool: Weak<Pool>,
    /// There is nothing to look after.
    rests: bool,
}

impl Reaper {
    async fn run(mut self, every: Duration) {
        while !self.rests {
            tokio::time::sleep(every).await;
            let Some(pool) = self.pool.upgrade() else { return };
            self.rests = !pool.reap(now());
        }
    }
}

impl Drop for Reaper {
    fn drop(&mut self) {
        if !self.rests
            && let Some(pool) = self.pool.upgrade()
        {
            pool.state().reaping = false;
        }
    }
}
