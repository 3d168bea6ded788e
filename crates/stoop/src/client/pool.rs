//! Which connection a request gets: one that idles, a new one, or the next that is free.
//!
//! The pool knows nothing of HTTP versions and holds no socket code. It counts; a connection tells
//! by coming back, or not, whether it is viable. Its tables sit behind one short mutex: no connection
//! is polled, opened or closed under it.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Instant;

use stoop_io::{Liveness, Look, Transport, now};
use tokio::sync::oneshot;

use crate::conn::exchange::{Home, Http1, Lease};
use crate::limits::PoolLimits;

/// The connections of one client, all origins.
pub(crate) struct Pool {
    limits: PoolLimits,
    table: Mutex<Table>,
    /// Ourselves, for homes to find their way.
    this: Weak<Pool>,
}

#[derive(Default)]
struct Table {
    origins: HashMap<Arc<str>, Entry>,
    /// Idle connections in the order they came back, by their numbers. Numbers of those that were
    /// taken since are left to be skipped, and swept when they outnumber the rest.
    order: VecDeque<(u64, Arc<str>)>,
    /// Origins with somebody who waits because there are too many connections in all.
    starved: VecDeque<Arc<str>>,
    idle: usize,
    open: usize,
    number: u64,
    /// A task closes what idles too long.
    reaping: bool,
}

struct Entry {
    home: Arc<OriginHome>,
    /// The one that came back last is taken first.
    idle: Vec<(u64, Box<Http1>)>,
    /// Idle, on loan, and being made.
    open: usize,
    waiters: VecDeque<oneshot::Sender<Grant>>,
}

impl Entry {
    /// Where the idle connection of that number is: they lie in the order of their numbers.
    fn idle_at(&self, number: u64) -> Option<usize> {
        self.idle.binary_search_by_key(&number, |(of, _)| *of).ok()
    }
}

/// What a request was given.
pub(crate) enum Grant {
    /// A connection that has served before.
    Reuse(Lease),
    /// The right to make one.
    Connect(Permit),
}

enum Given {
    Now(Grant),
    Wait(oneshot::Receiver<Grant>),
}

/// The right to one connection of an origin. Dropped unused, it passes to whoever waits.
pub(crate) struct Permit(Option<Arc<OriginHome>>);

impl Permit {
    /// The connection was made.
    pub(crate) fn fill(mut self, connection: Box<Http1>) -> Lease {
        let home = self.0.take().expect("a permit is used once");
        Lease::new(connection, home)
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        if let Some(home) = self.0.take() {
            home.gone();
        }
    }
}

/// Where the connections of one origin come back to.
struct OriginHome {
    pool: Weak<Pool>,
    origin: Arc<str>,
}

impl Home for OriginHome {
    fn give_back(&self, connection: Box<Http1>) {
        if let Some(pool) = self.pool.upgrade() {
            pool.give_back(&self.origin, connection);
        }
    }
    fn gone(&self) {
        if let Some(pool) = self.pool.upgrade() {
            pool.gone(&self.origin);
        }
    }
}

impl Pool {
    pub(crate) fn new(limits: PoolLimits) -> Arc<Self> {
        Arc::new_cyclic(|this| Self { limits, table: Mutex::default(), this: this.clone() })
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn entry(&self, origin: &Arc<str>) -> Entry {
        let home = Arc::new(OriginHome { pool: self.this.clone(), origin: origin.clone() });
        Entry { home, idle: Vec::new(), open: 0, waiters: VecDeque::new() }
    }

    /// A connection to `origin`, or the right to make one; waits its turn if there are too many.
    pub(crate) async fn ask(&self, origin: &str) -> Grant {
        loop {
            match self.give(origin) {
                Given::Now(grant) => return grant,
                // The sender is only ever dropped with the whole pool, which we hold.
                Given::Wait(turn) => {
                    if let Ok(grant) = turn.await {
                        return grant;
                    }
                }
            }
        }
    }

    /// The right to make a connection of one's own, for a request that must not meet another stale
    /// one. An idle connection of the origin makes room for it if there is none.
    pub(crate) async fn ask_fresh(&self, origin: &str) -> Permit {
        loop {
            match self.ask(origin).await {
                Grant::Connect(permit) => return permit,
                Grant::Reuse(lease) => lease.close(),
            }
        }
    }

    fn give(&self, origin: &str) -> Given {
        let mut evicted = None;
        let mut guard = self.table();
        let table = &mut *guard;
        let key = match table.origins.get_mut(origin) {
            Some(entry) => {
                if let Some((_, connection)) = entry.idle.pop() {
                    table.idle -= 1;
                    return Given::Now(Grant::Reuse(Lease::new(connection, entry.home.clone())));
                }
                entry.home.origin.clone()
            }
            None => origin.into(),
        };
        let entry = table.origins.entry(key.clone()).or_insert_with(|| self.entry(&key));
        let (open, home) = (entry.open, entry.home.clone());
        if open < self.limits.per_origin_max {
            if table.open >= self.limits.total_max {
                evicted = table.evict_oldest();
            }
            if table.open < self.limits.total_max {
                table.open += 1;
                // Making room may have removed the entry: it had nothing open until now.
                let entry = table.origins.entry(key.clone()).or_insert_with(|| self.entry(&key));
                entry.open += 1;
                drop(guard);
                drop(evicted);
                return Given::Now(Grant::Connect(Permit(Some(home))));
            }
            table.starved.push_back(key.clone());
        }
        let (sender, receiver) = oneshot::channel();
        let entry = table.origins.entry(key.clone()).or_insert_with(|| self.entry(&key));
        // Those who gave up waiting leave their places; sweep them when they are many.
        if entry.waiters.len() == entry.waiters.capacity() {
            entry.waiters.retain(|waiter| !waiter.is_closed());
        }
        entry.waiters.push_back(sender);
        Given::Wait(receiver)
    }

    fn give_back(&self, origin: &Arc<str>, mut connection: Box<Http1>) {
        let mut closed = Vec::new();
        let mut table = self.table();
        let Some(entry) = table.origins.get_mut(origin) else { return };
        while let Some(waiter) = entry.waiters.pop_front() {
            let lease = Lease::new(connection, entry.home.clone());
            match waiter.send(Grant::Reuse(lease)) {
                Ok(()) | Err(Grant::Connect(_)) => return,
                Err(Grant::Reuse(lease)) => match lease.take() {
                    Some(back) => connection = back,
                    None => return,
                },
            }
        }
        connection.idle_since = now();
        table.number += 1;
        let number = table.number;
        if let Some(entry) = table.origins.get_mut(origin) {
            entry.idle.push((number, connection));
            table.idle += 1;
            table.order.push_back((number, origin.clone()));
        }
        let of_origin = |table: &Table| table.origins.get(origin).map_or(0, |e| e.idle.len());
        if of_origin(&table) > self.limits.idle_per_origin_max {
            closed.extend(table.evict_from(origin));
        }
        while table.idle > self.limits.idle_max {
            closed.extend(table.evict_oldest());
        }
        // An idle connection is a place that somebody starved for.
        if table.open >= self.limits.total_max && !table.starved.is_empty() {
            closed.extend(table.evict_oldest());
        }
        table.sweep_order();
        self.serve_starved(&mut table);
        let reap = !table.reaping && table.idle > 0;
        table.reaping |= reap;
        drop(table);
        drop(closed);
        if reap {
            self.start_reaper();
        }
    }

    fn gone(&self, origin: &Arc<str>) {
        let mut table = self.table();
        table.forget(origin);
        // Its own origin's waiters come first: they are the ones it made wait.
        if self.pass_on(&mut table, origin) {
            return;
        }
        self.serve_starved(&mut table);
        table.tidy(origin);
    }

    /// Gives the place that just became free to a waiter of `origin`.
    fn pass_on(&self, table: &mut Table, origin: &Arc<str>) -> bool {
        if table.open >= self.limits.total_max {
            return false;
        }
        let Some(entry) = table.origins.get_mut(origin) else { return false };
        if entry.open >= self.limits.per_origin_max {
            return false;
        }
        while let Some(waiter) = entry.waiters.pop_front() {
            match waiter.send(Grant::Connect(Permit(Some(entry.home.clone())))) {
                Ok(()) => {
                    entry.open += 1;
                    table.open += 1;
                    return true;
                }
                // Its drop must not come back to us while we hold the table.
                Err(Grant::Connect(mut permit)) => drop(permit.0.take()),
                Err(Grant::Reuse(_)) => {}
            }
        }
        false
    }

    fn serve_starved(&self, table: &mut Table) {
        while table.open < self.limits.total_max
            && let Some(origin) = table.starved.pop_front()
        {
            self.pass_on(table, &origin);
        }
    }

    /// Takes out what has idled too long or was closed by its server. Returns when to look again.
    fn reap(&self, now: Instant) -> Option<Instant> {
        let mut closed = Vec::new();
        let mut table = self.table();
        let mut numbers: Vec<(u64, Arc<str>)> = Vec::new();
        for (key, entry) in &mut table.origins {
            for (number, connection) in &mut entry.idle {
                let old = now.saturating_duration_since(connection.idle_since) >= self.limits.idle;
                if old || connection.io.liveness(Look::Cached) == Liveness::Dead {
                    numbers.push((*number, key.clone()));
                }
            }
        }
        for (number, key) in numbers {
            closed.extend(table.take_idle(number, &key));
            table.tidy(&key);
        }
        self.serve_starved(&mut table);
        table.sweep_order();
        table.reaping = table.idle > 0;
        let again = table.reaping.then(|| now + self.limits.idle.min(REAP_EVERY));
        drop(table);
        drop(closed);
        again
    }

    /// One task a client, there only while something idles; it does not keep the client alive.
    fn start_reaper(&self) {
        let this = self.this.clone();
        let Ok(runtime) = tokio::runtime::Handle::try_current() else {
            // Without a runtime nothing can be timed; the next return tries again.
            self.table().reaping = false;
            return;
        };
        runtime.spawn(async move {
            let mut again = now();
            loop {
                tokio::time::sleep_until(again.into()).await;
                let Some(pool) = this.upgrade() else { return };
                match pool.reap(now()) {
                    Some(next) => again = next,
                    None => return,
                }
            }
        });
    }

    /// Connections open, and idle among them.
    pub(crate) fn counts(&self) -> (usize, usize) {
        let table = self.table();
        (table.open, table.idle)
    }

    /// Origins that are remembered: those with a connection or somebody waiting.
    #[cfg(test)]
    fn origins(&self) -> usize {
        self.table().origins.len()
    }
}

/// How often idle connections are looked at: closed ones should not linger much longer.
const REAP_EVERY: std::time::Duration = std::time::Duration::from_secs(1);

impl Table {
    fn evict_oldest(&mut self) -> Option<Box<Http1>> {
        while let Some((number, origin)) = self.order.pop_front() {
            if let Some(connection) = self.take_idle(number, &origin) {
                self.tidy(&origin);
                return Some(connection);
            }
        }
        None
    }

    fn evict_from(&mut self, origin: &Arc<str>) -> Option<Box<Http1>> {
        let (number, _) = self.origins.get(origin)?.idle.first()?;
        let number = *number;
        self.take_idle(number, origin)
    }

    /// Takes an idle connection out for good.
    fn take_idle(&mut self, number: u64, origin: &Arc<str>) -> Option<Box<Http1>> {
        let entry = self.origins.get_mut(origin)?;
        let (_, connection) = entry.idle.remove(entry.idle_at(number)?);
        self.idle -= 1;
        self.forget(origin);
        Some(connection)
    }

    fn forget(&mut self, origin: &Arc<str>) {
        if let Some(entry) = self.origins.get_mut(origin) {
            entry.open = entry.open.saturating_sub(1);
            self.open = self.open.saturating_sub(1);
        }
    }

    /// Forgets an origin that nobody uses: a million hosts must not leave a million entries.
    fn tidy(&mut self, origin: &Arc<str>) {
        if let Some(entry) = self.origins.get(origin)
            && entry.open == 0
            && entry.waiters.iter().all(oneshot::Sender::is_closed)
        {
            self.origins.remove(origin);
        }
    }

    fn sweep_order(&mut self) {
        if self.order.len() > 2 * self.idle + 64 {
            let origins = &self.origins;
            self.order.retain(|(number, origin)| {
                origins.get(origin).is_some_and(|entry| entry.idle_at(*number).is_some())
            });
        }
    }
}
