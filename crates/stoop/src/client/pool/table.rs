//! The pool's bookkeeping, without sockets, tasks or locks: connections open and idle, and requests that
//! wait for one, by origin.
//!
//! What has to be done beyond the table (close a connection, serve a waiter) is returned as
//! [`Effects`], to be done when the lock on the table is released.

mod idle;
mod origin;
mod shared;
mod stats;

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;

use slab::Slab;

use crate::limits::PoolLimits;

pub(super) use origin::Speaks;
use origin::{ConnectionCounters, OriginEntry};

/// The number of an origin, while it has a connection or a waiter.
pub(super) type Key = usize;

/// Connections that serve one exchange at a time `C`, connections that serve many `S`, and waiters `W`,
/// by origin.
///
/// Three rules hold between calls, and `check` in the tests says them in code:
/// - a waiter waits only if its origin, or the pool, has as many connections as it may or needs;
/// - no waiter waits that could have a stream of a connection;
/// - no connection idles while a waiter could use its place.
pub(super) struct Table<C, S, W> {
    limits: PoolLimits,
    /// Whether a waiter can use a connection that many share.
    fits: fn(&S, &W) -> bool,
    keys: HashMap<Arc<str>, Key>,
    /// The origin that was asked for last: many requests in a row go to one, and need no hash of its name.
    recent: Key,
    origins: Slab<OriginEntry<C, S, W>>,
    /// Idle connections in the order they came to rest, by their numbers. Numbers of those that were
    /// taken since are left to be skipped, and swept when they outnumber the rest.
    order: VecDeque<(u64, Key)>,
    /// The first waiter of each origin that could use a free place, the longest-waiting first.
    starved: BTreeMap<u64, Key>,
    idle: usize,
    open: usize,
    number: u64,
    /// Of all origins, those that were forgotten too.
    counters: ConnectionCounters,
    /// No connection is kept any more.
    pub(super) is_closed: bool,
}

/// What a request asks of the pool.
#[derive(Clone, Copy)]
pub(super) struct Demand<'a> {
    pub(super) origin: &'a str,
    /// No connection that idled will do: it is closed instead, if its place is needed.
    pub(super) new_only: bool,
    /// What is known of the origin before it was asked.
    pub(super) speaks: Speaks,
}

/// What a request is given.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Allotment<C, S> {
    /// A connection that idled.
    Idle(C),
    /// A stream of the connection of that number.
    Stream(u64, S),
    /// The right to make a connection.
    NewConnection,
    /// A place in the queue, by its number.
    Queued(u64),
}

/// What is to be done once the lock on the table is released.
pub(super) struct Effects<C, S, W> {
    /// Connections to close.
    pub(super) closed: Vec<C>,
    /// Shared connections without exchanges, to end.
    pub(super) ended: Vec<S>,
    /// Waiters with what they get.
    pub(super) served: Vec<(W, Key, Allotment<C, S>)>,
}

impl<C, S, W> Default for Effects<C, S, W> {
    fn default() -> Self {
        Self { closed: Vec::new(), ended: Vec::new(), served: Vec::new() }
    }
}

impl<C, S: Clone, W> Table<C, S, W> {
    pub(super) fn new(limits: PoolLimits, fits: fn(&S, &W) -> bool) -> Self {
        // Without any connection no request could ever be served.
        let limits = PoolLimits {
            per_origin_max: limits.per_origin_max.max(1),
            http2_per_origin_max: limits.http2_per_origin_max.max(1),
            total_max: limits.total_max.max(1),
            ..limits
        };
        Self {
            limits,
            fits,
            keys: HashMap::new(),
            recent: 0,
            origins: Slab::new(),
            order: VecDeque::new(),
            starved: BTreeMap::new(),
            idle: 0,
            open: 0,
            number: 0,
            counters: ConnectionCounters::default(),
            is_closed: false,
        }
    }

    /// A connection to an origin, a stream of one that `fits`, the right to make one, or a turn to
    /// wait for.
    pub(super) fn acquire(
        &mut self,
        demand: Demand<'_>,
        fits: impl Fn(&S) -> bool,
        waiter: impl FnOnce() -> W,
        effects: &mut Effects<C, S, W>,
    ) -> (Key, Allotment<C, S>) {
        let key = self.key(demand.origin, demand.speaks);
        if !demand.new_only
            && let Some((_, connection)) = self.origins[key].idle.pop()
        {
            self.idle -= 1;
            self.count(key, |counters| counters.reused += 1);
            return (key, Allotment::Idle(connection));
        }
        if let Some((number, connection)) = self.reserve(key, fits) {
            self.count(key, |counters| counters.reused += 1);
            return (key, Allotment::Stream(number, connection));
        }
        if self.origins[key].may_open(1, &self.limits) {
            if self.open >= self.limits.total_max {
                self.evict_oldest(Some(key), effects);
            }
            if self.open < self.limits.total_max {
                self.count_connecting(key);
                self.serve(effects);
                return (key, Allotment::NewConnection);
            }
        } else if let Some((_, connection)) = self.origins[key].idle.pop() {
            self.idle -= 1;
            effects.closed.push(connection);
            self.reconnecting(key);
            return (key, Allotment::NewConnection);
        }
        let number = self.next_number();
        self.origins[key].waiters.insert(number, waiter());
        self.update_starved(key);
        (key, Allotment::Queued(number))
    }

    /// The number of an origin, which gets one if it has none.
    fn key(&mut self, origin: &str, speaks: Speaks) -> Key {
        if self.origins.get(self.recent).is_none_or(|recent| *recent.name != *origin) {
            self.recent = match self.keys.get(origin) {
                Some(key) => *key,
                None => self.remember(origin, speaks),
            };
        }
        self.recent
    }

    fn remember(&mut self, origin: &str, speaks: Speaks) -> Key {
        let name: Arc<str> = origin.into();
        let key = self.origins.insert(OriginEntry::new(name.clone(), speaks));
        self.keys.insert(name, key);
        key
    }

    fn next_number(&mut self) -> u64 {
        self.number += 1;
        self.number
    }

    /// One more connection is being made.
    fn count_connecting(&mut self, key: Key) {
        let origin = &mut self.origins[key];
        origin.open += 1;
        origin.connecting += 1;
        self.open += 1;
        self.update_starved(key);
    }

    /// A connection that serves one exchange at a time was made.
    pub(super) fn connected(&mut self, key: Key, effects: &mut Effects<C, S, W>) {
        self.count(key, |counters| counters.connected += 1);
        let Some(origin) = self.origins.get_mut(key) else { return };
        origin.connecting -= 1;
        if origin.speaks.is_doubtful() || origin.shared.is_empty() {
            origin.speaks = Speaks::Http1;
        }
        // Others may have waited to learn it.
        if !origin.waiters.is_empty() {
            self.update_starved(key);
            self.serve(effects);
        }
    }

    /// A connection was closed, and another is being made in its place.
    pub(super) fn reconnecting(&mut self, key: Key) {
        if let Some(origin) = self.origins.get_mut(key) {
            origin.connecting += 1;
            self.update_starved(key);
        }
    }

    /// A viable connection came back: it, or its place, goes to the waiter that has waited longest.
    pub(super) fn returned(&mut self, key: Key, connection: C, effects: &mut Effects<C, S, W>) {
        if self.is_closed {
            effects.closed.push(connection);
            return self.closed(key, effects);
        }
        let Some(origin) = self.origins.get_mut(key) else {
            return effects.closed.push(connection);
        };
        let own = origin.waiters.first_key_value().map(|(number, _)| *number);
        let starved = self.starved.first_key_value().map(|(number, _)| *number);
        match (own, starved) {
            (Some(own), starved) if starved.is_none_or(|starved| own <= starved) => {
                let waiter = origin.waiters.remove(&own);
                effects
                    .served
                    .extend(waiter.map(|waiter| (waiter, key, Allotment::Idle(connection))));
                self.update_starved(key);
                self.count(key, |counters| counters.reused += 1);
            }
            (_, Some(_)) => {
                effects.closed.push(connection);
                self.closed(key, effects);
            }
            (_, None) => {
                let number = self.mark_idle(key);
                self.origins[key].idle.push((number, connection));
                self.bound_idle(key, effects);
            }
        }
    }

    /// A connection was not made: its place goes to the waiter that has waited longest.
    pub(super) fn connect_failed(&mut self, key: Key, effects: &mut Effects<C, S, W>) {
        self.count(key, |counters| counters.failed += 1);
        if let Some(origin) = self.origins.get_mut(key) {
            origin.connecting -= 1;
            // An origin that cannot be reached is not tried by one waiter after the other.
            if origin.speaks == Speaks::Unknown {
                origin.speaks = Speaks::Unsure;
            }
        }
        self.closed(key, effects);
    }

    /// A connection was closed: its place goes to the waiter that has waited longest.
    pub(super) fn closed(&mut self, key: Key, effects: &mut Effects<C, S, W>) {
        self.leave(key);
        self.update_starved(key);
        self.serve(effects);
        self.forget_unused(key);
    }

    /// The waiter with that number waits no more.
    pub(super) fn cancel(&mut self, key: Key, number: u64) -> Option<W> {
        let waiter = self.origins.get_mut(key)?.waiters.remove(&number);
        if waiter.is_some() {
            self.update_starved(key);
            self.forget_unused(key);
        }
        waiter
    }

    /// Connections open, and idle among them.
    pub(super) fn counts(&self) -> (usize, usize) {
        (self.open, self.idle)
    }

    /// Gives free places, and those of idle connections, to waiters that can use them.
    fn serve(&mut self, effects: &mut Effects<C, S, W>) {
        while let Some((number, key)) = self.starved.first_key_value().map(|(n, k)| (*n, *k)) {
            if self.open >= self.limits.total_max {
                self.evict_oldest(Some(key), effects);
            }
            if self.open >= self.limits.total_max {
                return;
            }
            let Some(waiter) = self.origins[key].waiters.remove(&number) else { return };
            self.count_connecting(key);
            effects.served.push((waiter, key, Allotment::NewConnection));
        }
    }

    /// Brings an origin's entry among the starved up to date.
    fn update_starved(&mut self, key: Key) {
        let Some(origin) = self.origins.get_mut(key) else { return };
        let first = origin.waiters.first_key_value().map(|(number, _)| *number);
        let first = first.filter(|_| origin.may_open(0, &self.limits));
        if first == origin.starved {
            return;
        }
        if let Some(number) = std::mem::replace(&mut origin.starved, first) {
            self.starved.remove(&number);
        }
        self.starved.extend(first.map(|number| (number, key)));
    }

    fn leave(&mut self, key: Key) {
        if let Some(origin) = self.origins.get_mut(key) {
            origin.open -= 1;
            self.open -= 1;
        }
    }

    /// Forgets an origin that is not used: a million hosts must not leave a million entries.
    fn forget_unused(&mut self, key: Key) {
        if let Some(origin) = self.origins.get(key)
            && origin.open == 0
            && origin.waiters.is_empty()
        {
            let origin = self.origins.remove(key);
            self.keys.remove(&origin.name);
        }
    }
}

#[cfg(test)]
mod tests;
