//! The pool's bookkeeping, without sockets, tasks or locks: who may open a connection, who waits,
//! what idles.
//!
//! What has to be done beyond the table (close a connection, serve a waiter) is returned as
//! [`Due`], to be done when nobody holds the table any more.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;

use slab::Slab;

use crate::limits::PoolLimits;

/// Names an origin while it has a connection or somebody waiting.
pub(super) type Key = usize;

/// Connections `C` and those who wait for them `W`, by origin.
///
/// Two rules hold between calls, and `check` in the tests says them in code:
/// - somebody waits only if their origin, or the pool, has as many connections as it may;
/// - nothing idles while somebody waits for its place.
pub(super) struct Table<C, W> {
    limits: PoolLimits,
    keys: HashMap<Arc<str>, Key>,
    origins: Slab<Origin<C, W>>,
    /// Idle connections in the order they came back, by their numbers. Numbers of those that were
    /// taken since are left to be skipped, and swept when they outnumber the rest.
    order: VecDeque<(u64, Key)>,
    /// The first waiter of each origin that could use a free place: who waited longest is first.
    starved: BTreeMap<u64, Key>,
    idle: usize,
    open: usize,
    number: u64,
}

struct Origin<C, W> {
    name: Arc<str>,
    /// The one that came back last is taken first.
    idle: Vec<(u64, C)>,
    /// Idle, on loan, and being made.
    open: usize,
    waiters: BTreeMap<u64, W>,
    /// Its number in `starved`.
    starved: Option<u64>,
}

/// What a request is given at once.
pub(super) enum Given<C> {
    /// A connection that idled.
    Idle(C),
    /// The right to make one.
    Place,
    /// A number to wait with.
    Turn(u64),
}

/// What is to be done once the table is let go.
pub(super) struct Due<C, W> {
    /// Connections to close.
    pub(super) closed: Vec<C>,
    /// Waiters with what they get: a connection, or the right to make one.
    pub(super) served: Vec<(W, Key, Option<C>)>,
}

impl<C, W> Default for Due<C, W> {
    fn default() -> Self {
        Self { closed: Vec::new(), served: Vec::new() }
    }
}

impl<C, W> Table<C, W> {
    pub(super) fn new(limits: PoolLimits) -> Self {
        // Without any connection nobody could ever be served.
        let (per_origin_max, total_max) = (limits.per_origin_max.max(1), limits.total_max.max(1));
        Self {
            limits: PoolLimits { per_origin_max, total_max, ..limits },
            keys: HashMap::new(),
            origins: Slab::new(),
            order: VecDeque::new(),
            starved: BTreeMap::new(),
            idle: 0,
            open: 0,
            number: 0,
        }
    }

    /// A connection to `origin`, the right to make one, or a turn to wait for. With `fresh` never
    /// one that idled: it is closed instead, if its place is needed.
    pub(super) fn ask(
        &mut self,
        origin: &str,
        fresh: bool,
        waiter: impl FnOnce() -> W,
        due: &mut Due<C, W>,
    ) -> (Key, Given<C>) {
        let key = match self.keys.get(origin) {
            Some(key) => *key,
            None => self.remember(origin),
        };
        if !fresh && let Some((_, connection)) = self.origins[key].idle.pop() {
            self.idle -= 1;
            return (key, Given::Idle(connection));
        }
        if self.origins[key].open < self.limits.per_origin_max {
            if self.open >= self.limits.total_max {
                due.closed.extend(self.evict_oldest(Some(key)));
            }
            if self.open < self.limits.total_max {
                self.origins[key].open += 1;
                self.open += 1;
                return (key, Given::Place);
            }
        } else if let Some((_, connection)) = self.origins[key].idle.pop() {
            self.idle -= 1;
            due.closed.push(connection);
            return (key, Given::Place);
        }
        let number = self.next_number();
        self.origins[key].waiters.insert(number, waiter());
        self.list(key);
        (key, Given::Turn(number))
    }

    fn remember(&mut self, origin: &str) -> Key {
        let name: Arc<str> = origin.into();
        let (idle, waiters) = (Vec::new(), BTreeMap::new());
        let origin = Origin { name: name.clone(), idle, open: 0, waiters, starved: None };
        let key = self.origins.insert(origin);
        self.keys.insert(name, key);
        key
    }

    fn next_number(&mut self) -> u64 {
        self.number += 1;
        self.number
    }

    /// A viable connection came back: to whoever waited longest for it or for its place.
    pub(super) fn give_back(&mut self, key: Key, connection: C, due: &mut Due<C, W>) {
        let Some(origin) = self.origins.get_mut(key) else { return due.closed.push(connection) };
        let own = origin.waiters.first_key_value().map(|(number, _)| *number);
        let starved = self.starved.first_key_value().map(|(number, _)| *number);
        match (own, starved) {
            (Some(own), starved) if starved.is_none_or(|starved| own <= starved) => {
                let waiter = origin.waiters.remove(&own);
                due.served.extend(waiter.map(|waiter| (waiter, key, Some(connection))));
                self.list(key);
            }
            (_, Some(_)) => {
                due.closed.push(connection);
                self.gone(key, due);
            }
            (_, None) => self.keep(key, connection, due),
        }
    }

    fn keep(&mut self, key: Key, connection: C, due: &mut Due<C, W>) {
        let number = self.next_number();
        let origin = &mut self.origins[key];
        origin.idle.push((number, connection));
        self.idle += 1;
        self.order.push_back((number, key));
        if origin.idle.len() > self.limits.idle_per_origin_max {
            let oldest = origin.idle[0].0;
            due.closed.extend(self.take_idle(key, oldest));
            self.forget_unused(key);
        }
        while self.idle > self.limits.idle_max {
            due.closed.extend(self.evict_oldest(None));
        }
        self.sweep_order();
    }

    /// A connection is gone, or was never made: its place goes to whoever waited longest.
    pub(super) fn gone(&mut self, key: Key, due: &mut Due<C, W>) {
        self.leave(key);
        self.list(key);
        self.serve(due);
        self.forget_unused(key);
    }

    /// Who waited with that number does not any more.
    pub(super) fn cancel(&mut self, key: Key, number: u64) -> Option<W> {
        let waiter = self.origins.get_mut(key)?.waiters.remove(&number);
        if waiter.is_some() {
            self.list(key);
            self.forget_unused(key);
        }
        waiter
    }

    /// Closes what idles and is `unfit`.
    pub(super) fn reap(&mut self, mut unfit: impl FnMut(&mut C) -> bool, due: &mut Due<C, W>) {
        let mut found = Vec::new();
        for (key, origin) in &mut self.origins {
            let unfit = origin
                .idle
                .iter_mut()
                .filter_map(|(number, connection)| unfit(connection).then_some((key, *number)));
            found.extend(unfit);
        }
        for (key, number) in found {
            due.closed.extend(self.take_idle(key, number));
            self.list(key);
            self.forget_unused(key);
        }
        self.serve(due);
        self.sweep_order();
    }

    /// Closes what has idled longest, if anything idles.
    pub(super) fn shed(&mut self, due: &mut Due<C, W>) {
        due.closed.extend(self.evict_oldest(None));
        self.serve(due);
    }

    /// Connections open, and idle among them.
    pub(super) fn counts(&self) -> (usize, usize) {
        (self.open, self.idle)
    }

    /// Gives free places to those who could use them.
    fn serve(&mut self, due: &mut Due<C, W>) {
        while self.open < self.limits.total_max
            && let Some((number, key)) = self.starved.first_key_value().map(|(n, k)| (*n, *k))
        {
            let Some(waiter) = self.origins[key].waiters.remove(&number) else { return };
            self.origins[key].open += 1;
            self.open += 1;
            self.list(key);
            due.served.push((waiter, key, None));
        }
    }

    /// Brings an origin's entry among the starved up to date.
    fn list(&mut self, key: Key) {
        let Some(origin) = self.origins.get_mut(key) else { return };
        let first = origin.waiters.first_key_value().map(|(number, _)| *number);
        let first = first.filter(|_| origin.open < self.limits.per_origin_max);
        if first == origin.starved {
            return;
        }
        if let Some(number) = std::mem::replace(&mut origin.starved, first) {
            self.starved.remove(&number);
        }
        self.starved.extend(first.map(|number| (number, key)));
    }

    /// Takes out the connection that idled longest; the origin `kept` stays known.
    fn evict_oldest(&mut self, kept: Option<Key>) -> Option<C> {
        while let Some((number, key)) = self.order.pop_front() {
            if let Some(connection) = self.take_idle(key, number) {
                self.list(key);
                if kept != Some(key) {
                    self.forget_unused(key);
                }
                return Some(connection);
            }
        }
        None
    }

    /// Takes an idle connection out for good, if it still idles.
    fn take_idle(&mut self, key: Key, number: u64) -> Option<C> {
        let origin = self.origins.get_mut(key)?;
        let at = origin.idle.binary_search_by_key(&number, |(of, _)| *of).ok()?;
        let (_, connection) = origin.idle.remove(at);
        self.idle -= 1;
        self.leave(key);
        Some(connection)
    }

    fn leave(&mut self, key: Key) {
        if let Some(origin) = self.origins.get_mut(key) {
            origin.open -= 1;
            self.open -= 1;
        }
    }

    /// Forgets an origin that nobody uses: a million hosts must not leave a million entries.
    fn forget_unused(&mut self, key: Key) {
        if let Some(origin) = self.origins.get(key)
            && origin.open == 0
            && origin.waiters.is_empty()
        {
            let origin = self.origins.remove(key);
            self.keys.remove(&origin.name);
        }
    }

    fn sweep_order(&mut self) {
        if self.order.len() > 2 * self.idle + 64 {
            let origins = &self.origins;
            self.order.retain(|(number, key)| {
                let origin = origins.get(*key);
                origin.is_some_and(|o| o.idle.binary_search_by_key(number, |(of, _)| *of).is_ok())
            });
        }
    }
}

#[cfg(test)]
mod tests;
