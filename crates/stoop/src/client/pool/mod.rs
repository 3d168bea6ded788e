//! The pool: a request gets a connection that idles, a stream of a shared one, the right to make a new
//! one, or the next that is free.
//!
//! The pool knows nothing of what versions of HTTP say. It counts; a connection that is one exchange's
//! tells by coming back, or not, whether it is viable, and one that many share tells how many may. Its
//! [`Table`] sits behind one short mutex: no connection is opened or closed, and no task is woken,
//! under it.

mod events;
mod lease;
mod table;

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use stoop_io::{LivenessCheck, now};
use tokio::runtime::{Handle, Id};
use tokio::sync::oneshot;

use crate::client::http1::Http1;
use crate::client::http2::SharedConnection;
use crate::client::stats::ClientStats;
use crate::limits::PoolLimits;
use crate::versions::Versions;

use events::PoolEvents;
pub(crate) use lease::{ConnectPermit, Lease, Membership, StreamPermit};
use table::{Allotment, Demand, Key, Speaks, Table};

/// How often idle connections are looked at: closed ones should not linger much longer.
const REAP_EVERY: Duration = Duration::from_secs(1);

type Connections = Table<Box<Http1>, Arc<SharedConnection>, Waiter>;
type PoolEffects = table::Effects<Box<Http1>, Arc<SharedConnection>, Waiter>;

/// The connections of one client, all origins.
pub(crate) struct Pool {
    state: Mutex<PoolState>,
    idle: Duration,
    /// Itself, for connections to report to.
    this: Weak<Pool>,
}

struct PoolState {
    table: Connections,
    /// A task closes what idles too long.
    reaping: bool,
    /// Tasks that wait until no connection is left.
    drained: Vec<Waker>,
}

/// A request that waits, and its runtime.
struct Waiter {
    sender: oneshot::Sender<Grant>,
    runtime: Id,
}

/// What a request for a connection comes to.
pub(crate) enum Acquire {
    Granted(Grant),
    Queued(Ticket),
    /// The client was closed.
    Closed,
}

/// What a request was given.
pub(crate) enum Grant {
    /// A connection that has served before.
    Reuse(Lease),
    /// A stream of a connection.
    Stream(StreamPermit),
    /// The right to make a connection.
    Connect(ConnectPermit),
}

impl PoolEvents for Pool {
    fn connected(&self, key: Key) {
        self.change(|table, effects| table.connected(key, effects));
    }

    fn reconnecting(&self, key: Key) {
        self.state().table.reconnecting(key);
    }

    fn has_idle(&self, key: Key) -> bool {
        self.state().table.has_idle(key)
    }

    fn connect_failed(&self, key: Key) {
        self.change(|table, effects| table.connect_failed(key, effects));
    }

    fn returned(&self, key: Key, mut connection: Box<Http1>) {
        connection.since = now();
        if connection.is_expired(connection.since) {
            drop(connection);
            return self.closed(key);
        }
        self.change(|table, effects| table.returned(key, connection, effects));
    }

    fn closed(&self, key: Key) {
        self.change(|table, effects| table.closed(key, effects));
    }

    fn shared_connected(
        &self,
        key: Key,
        connection: Arc<SharedConnection>,
        streams_max: usize,
    ) -> u64 {
        self.change(|table, effects| table.shared_connected(key, connection, streams_max, effects))
    }

    fn streams_allowed(&self, key: Key, number: u64, streams_max: usize) {
        self.change(|table, effects| table.streams_allowed(key, number, streams_max, effects));
    }

    fn streams_ended(&self, key: Key, number: u64, streams: usize, now: Instant) {
        self.change(|table, effects| table.streams_ended(key, number, streams, now, effects));
    }

    fn retired(&self, key: Key, number: u64) {
        self.change(|table, effects| table.retired(key, number, effects));
    }

    fn shared_closed(&self, key: Key, number: u64) {
        self.change(|table, effects| table.shared_closed(key, number, effects));
    }
}

impl Pool {
    pub(crate) fn new(limits: PoolLimits) -> Arc<Self> {
        let idle = limits.idle;
        let table = Table::new(limits, |connection: &Arc<SharedConnection>, waiter: &Waiter| {
            connection.is_of(waiter.runtime)
        });
        let state = Mutex::new(PoolState { table, reaping: false, drained: Vec::new() });
        Arc::new_cyclic(|this| Self { state, idle, this: this.clone() })
    }

    fn state(&self) -> MutexGuard<'_, PoolState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the table, and does what it decided to.
    fn change<R>(&self, change: impl FnOnce(&mut Connections, &mut PoolEffects) -> R) -> R {
        let mut effects = PoolEffects::default();
        let mut state = self.state();
        let changed = change(&mut state.table, &mut effects);
        let reap = !state.reaping && state.table.counts().1 > 0;
        state.reaping |= reap;
        let drained = (!state.drained.is_empty() && state.table.counts().0 == 0)
            .then(|| std::mem::take(&mut state.drained));
        drop(state);
        self.settle(effects);
        if let Some(drained) = drained {
            drained.into_iter().for_each(Waker::wake);
        }
        if reap {
            self.start_reaper();
        }
        changed
    }

    /// A connection to `origin`, or the right to make one; a place in the queue if there are too many.
    ///
    /// `new_only` is for a request that must not meet another stale connection: an idle one that it gets is
    /// closed, and replaced. `versions` is what may be spoken there.
    pub(crate) fn acquire(
        self: &Arc<Self>,
        origin: &str,
        versions: Versions,
        new_only: bool,
    ) -> Acquire {
        let (mut effects, mut receiver) = (PoolEffects::default(), None);
        let speaks = match versions {
            Versions::All => Speaks::Unknown,
            Versions::Http1 => Speaks::Http1,
            Versions::Http2 => Speaks::Http2,
        };
        let fits = |shared: &Arc<SharedConnection>| shared.is_of(Handle::current().id());
        let waiter = || {
            let (sender, turn) = oneshot::channel();
            receiver = Some(turn);
            Waiter { sender, runtime: Handle::current().id() }
        };
        let demand = Demand { origin, new_only, speaks };
        let mut state = self.state();
        if state.table.is_closed {
            return Acquire::Closed;
        }
        let (key, given) = state.table.acquire(demand, fits, waiter, &mut effects);
        drop(state);
        self.settle(effects);
        match (given, receiver) {
            (Allotment::Queued(number), Some(receiver)) => {
                Acquire::Queued(Ticket { pool: self.clone(), key, number, receiver })
            }
            (given, _) => Acquire::Granted(self.clone().grant(key, given)),
        }
    }

    fn grant(
        self: Arc<Self>,
        key: Key,
        given: Allotment<Box<Http1>, Arc<SharedConnection>>,
    ) -> Grant {
        match given {
            Allotment::Idle(connection) => Grant::Reuse(Lease::new(connection, self, key)),
            Allotment::Stream(number, connection) => {
                Grant::Stream(StreamPermit::new(self, key, number, connection))
            }
            Allotment::NewConnection | Allotment::Queued(_) => {
                Grant::Connect(ConnectPermit::new(self, key))
            }
        }
    }

    /// Closes connections and serves waiters as the table decided. A waiter that was cancelled meanwhile
    /// drops what it gets, which returns it here.
    fn settle(&self, effects: PoolEffects) {
        drop(effects.closed);
        effects.ended.iter().for_each(|connection| connection.close());
        for (waiter, key, given) in effects.served {
            // Gone only if no request can be waiting: each that waits holds it.
            let Some(this) = self.this.upgrade() else { return };
            let _ = waiter.sender.send(this.grant(key, given));
        }
    }

    /// Closes connections that have idled too long, were closed by the server, or brought bytes unasked.
    /// Returns whether anything is left to look after.
    fn reap(&self, now: Instant) -> bool {
        let mut effects = PoolEffects::default();
        let mut state = self.state();
        let unfit = |connection: &mut Box<Http1>| {
            now.saturating_duration_since(connection.since) >= self.idle
                || connection.is_expired(now)
                || !connection.is_quiet(LivenessCheck::Cached)
        };
        state.table.reap(unfit, now.checked_sub(self.idle), &mut effects);
        let more = state.table.counts().1 > 0;
        state.reaping = more;
        drop(state);
        self.settle(effects);
        more
    }

    /// Closes the connection that has idled longest, because this process is out of descriptors.
    /// Returns whether there was one.
    pub(crate) fn shed(&self) -> bool {
        let mut effects = PoolEffects::default();
        self.state().table.shed(&mut effects);
        let shed = !(effects.closed.is_empty() && effects.ended.is_empty());
        self.settle(effects);
        shed
    }

    /// One task a client, there only while something idles; it does not keep the client alive.
    fn start_reaper(&self) {
        // Without a runtime nothing can be timed; the next return tries again.
        let reaper = Reaper { pool: self.this.clone(), is_done: false };
        let Ok(runtime) = Handle::try_current() else { return };
        runtime.spawn(reaper.run(self.idle.min(REAP_EVERY)));
    }

    /// Connections and requests, by origin.
    pub(crate) fn stats(&self) -> ClientStats {
        self.state().table.stats()
    }

    /// Refuses requests from now on, those that wait included. Connections are closed as their exchanges
    /// end, those that idle at once.
    pub(crate) fn close(&self) {
        // Dropped when the lock is released: that wakes their tasks.
        drop(self.change(Table::close));
    }

    /// Ends the connections that are shared, with their exchanges.
    pub(crate) fn abort_shared(&self) {
        let shared: Vec<_> = self.state().table.shared().cloned().collect();
        shared.iter().for_each(|connection| connection.abort());
    }

    /// Ready once no connection is left.
    pub(crate) fn poll_drained(&self, cx: &mut Context<'_>) -> Poll<()> {
        let mut state = self.state();
        if state.table.counts().0 == 0 {
            return Poll::Ready(());
        }
        if !state.drained.iter().any(|waker| waker.will_wake(cx.waker())) {
            state.drained.push(cx.waker().clone());
        }
        Poll::Pending
    }

    /// Connections open, and idle among them.
    pub(crate) fn counts(&self) -> (usize, usize) {
        self.state().table.counts()
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        // Connections that are shared have tasks of their own, which nothing else would end.
        self.state().table.shared().for_each(|connection| connection.close());
    }
}

/// A place in the queue. Dropped, it is given up.
pub(crate) struct Ticket {
    pool: Arc<Pool>,
    key: Key,
    number: u64,
    receiver: oneshot::Receiver<Grant>,
}

impl Future for Ticket {
    /// None if the client was closed.
    type Output = Option<Grant>;
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Grant>> {
        Pin::new(&mut self.receiver).poll(cx).map(Result::ok)
    }
}

impl Drop for Ticket {
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
    is_done: bool,
}

impl Reaper {
    async fn run(mut self, every: Duration) {
        while !self.is_done {
            tokio::time::sleep(every).await;
            let Some(pool) = self.pool.upgrade() else { return };
            self.is_done = !pool.reap(now());
        }
    }
}

impl Drop for Reaper {
    fn drop(&mut self) {
        if !self.is_done
            && let Some(pool) = self.pool.upgrade()
        {
            pool.state().reaping = false;
        }
    }
}
