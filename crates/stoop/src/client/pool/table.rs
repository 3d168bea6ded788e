//! The pool's bookkeeping, without sockets, tasks or locks: who may open a connection, who waits,
//! what idles.
//!
//! What has to be done beyond the table (close a connection, serve a waiter) is returned as
//! [`Due`], to be done when nobody holds the table any more.

mod idle;
mod origin;
mod shared;

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;

use slab::Slab;

use crate::limits::PoolLimits;

use origin::Origin;
pub(super) use origin::Speaks;

/// Names an origin while it has a connection or somebody waiting.
pub(super) type Key = usize;

/// Connections that serve one exchange at a time `C`, those that serve many `S`, and those who wait
/// for them `W`, by origin.
///
/// Three rules hold between calls, and `check` in the tests says them in code:
/// - somebody waits only if their origin, or the pool, has as many connections as it may or needs;
/// - nobody waits who could have a stream of a connection;
/// - nothing idles while somebody waits for its place.
pub(super) struct Table<C, S, W> {
    limits: PoolLimits,
    /// Whether a waiter can use a connection that many share.
    fits: fn(&S, &W) -> bool,
    keys: HashMap<Arc<str>, Key>,
    origins: Slab<Origin<C, S, W>>,
    /// Idle connections in the order they came to rest, by their numbers. Numbers of those that were
    /// taken since are left to be skipped, and swept when they outnumber the rest.
    order: VecDeque<(u64, Key)>,
    /// The first waiter of each origin that could use a free place: who waited longest is first.
    starved: BTreeMap<u64, Key>,
    idle: usize,
    open: usize,
    number: u64,
}

/// What a request would have.
#[derive(Clone, Copy)]
pub(super) struct Wish<'a> {
    pub(super) origin: &'a str,
    /// Never one that idled: it is closed instead, if its place is needed.
    pub(super) fresh: bool,
    /// What is known of the origin before anybody asked it.
    pub(super) speaks: Speaks,
}

/// What a request is given.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Given<C, S> {
    /// A connection that idled.
    Idle(C),
    /// A stream of the connection of that number.
    Stream(u64, S),
    /// The right to make a connection.
    Place,
    /// A number to wait with.
    Turn(u64),
}

/// What is to be done once the table is let go.
pub(super) struct Due<C, S, W> {
    /// Connections to close.
    pub(super) closed: Vec<C>,
    /// Connections to end that many share, and that nobody uses.
    pub(super) ended: Vec<S>,
    /// Waiters with what they get.
    pub(super) served: Vec<(W, Key, Given<C, S>)>,
}

impl<C, S, W> Default for Due<C, S, W> {
    fn default() -> Self {
        Self { closed: Vec::new(), ended: Vec::new(), served: Vec::new() }
    }
}

impl<C, S: Clone, W> Table<C, S, W> {
    pub(super) fn new(limits: PoolLimits, fits: fn(&S, &W) -> bool) -> Self {
        // Without any connection nobody could ever be served.
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
            origins: Slab::new(),
            order: VecDeque::new(),
            starved: BTreeMap::new(),
            idle: 0,
            open: 0,
            number: 0,
        }
    }

    /// A connection to an origin, a stream of one that `fits`, the right to make one, or a turn to
    /// wait for.
    pub(super) fn ask(
        &mut self,
        wish: Wish<'_>,
        fits: impl Fn(&S) -> bool,
        waiter: impl FnOnce() -> W,
        due: &mut Due<C, S, W>,
    ) -> (Key, Given<C, S>) {
        let key = match self.keys.get(wish.origin) {
            Some(key) => *key,
            None => self.remember(wish.origin, wish.speaks),
        };
        if !wish.fresh
            && let Some((_, connection)) = self.origins[key].idle.pop()
        {
            self.idle -= 1;
            return (key, Given::Idle(connection));
        }
        if let Some((number, connection)) = self.reserve(key, fits) {
            return (key, Given::Stream(number, connection));
        }
        if self.origins[key].may_open(1, &self.limits) {
            if self.open >= self.limits.total_max {
                self.evict_oldest(Some(key), due);
            }
            if self.open < self.limits.total_max {
                self.place(key);
                self.serve(due);
                return (key, Given::Place);
            }
        } else if let Some((_, connection)) = self.origins[key].idle.pop() {
            self.idle -= 1;
            due.closed.push(connection);
            self.remade(key);
            return (key, Given::Place);
        }
        let number = self.next_number();
        self.origins[key].waiters.insert(number, waiter());
        self.list(key);
        (key, Given::Turn(number))
    }

    fn remember(&mut self, origin: &str, speaks: Speaks) -> Key {
        let name: Arc<str> = origin.into();
        let key = self.origins.insert(Origin::new(name.clone(), speaks));
        self.keys.insert(name, key);
        key
    }

    fn next_number(&mut self) -> u64 {
        self.number += 1;
        self.number
    }

    /// One more connection is being made.
    fn place(&mut self, key: Key) {
        let origin = &mut self.origins[key];
        origin.open += 1;
        origin.making += 1;
        self.open += 1;
        self.list(key);
    }

    /// A connection that serves one exchange at a time was made.
    pub(super) fn made(&mut self, key: Key, due: &mut Due<C, S, W>) {
        let Some(origin) = self.origins.get_mut(key) else { return };
        origin.making -= 1;
        if origin.speaks.is_doubtful() || origin.shared.is_empty() {
            origin.speaks = Speaks::Http1;
        }
        // Others may have waited to learn it.
        if !origin.waiters.is_empty() {
            self.list(key);
            self.serve(due);
        }
    }

    /// A connection was closed, and another is being made in its place.
    pub(super) fn remade(&mut self, key: Key) {
        if let Some(origin) = self.origins.get_mut(key) {
            origin.making += 1;
            self.list(key);
        }
    }

    /// A viable connection came back: to whoever waited longest for it or for its place.
    pub(super) fn give_back(&mut self, key: Key, connection: C, due: &mut Due<C, S, W>) {
        let Some(origin) = self.origins.get_mut(key) else { return due.closed.push(connection) };
        let own = origin.waiters.first_key_value().map(|(number, _)| *number);
        let starved = self.starved.first_key_value().map(|(number, _)| *number);
        match (own, starved) {
            (Some(own), starved) if starved.is_none_or(|starved| own <= starved) => {
                let waiter = origin.waiters.remove(&own);
                due.served.extend(waiter.map(|waiter| (waiter, key, Given::Idle(connection))));
                self.list(key);
            }
            (_, Some(_)) => {
                due.closed.push(connection);
                self.gone(key, due);
            }
            (_, None) => {
                let number = self.rest(key);
                self.origins[key].idle.push((number, connection));
                self.bound_idle(key, due);
            }
        }
    }

    /// A connection was not made: its place goes to whoever waited longest.
    pub(super) fn unmade(&mut self, key: Key, due: &mut Due<C, S, W>) {
        if let Some(origin) = self.origins.get_mut(key) {
            origin.making -= 1;
            // One that cannot be reached is not tried by one after the other.
            if origin.speaks == Speaks::Unknown {
                origin.speaks = Speaks::Unsure;
            }
        }
        self.gone(key, due);
    }

    /// A connection is gone: its place goes to whoever waited longest.
    pub(super) fn gone(&mut self, key: Key, due: &mut Due<C, S, W>) {
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

    /// Connections open, and idle among them.
    pub(super) fn counts(&self) -> (usize, usize) {
        (self.open, self.idle)
    }

    /// Gives free places to those who could use them, and those of what idles.
    fn serve(&mut self, due: &mut Due<C, S, W>) {
        while let Some((number, key)) = self.starved.first_key_value().map(|(n, k)| (*n, *k)) {
            if self.open >= self.limits.total_max {
                self.evict_oldest(Some(key), due);
            }
            if self.open >= self.limits.total_max {
                return;
            }
            let Some(waiter) = self.origins[key].waiters.remove(&number) else { return };
            self.place(key);
            due.served.push((waiter, key, Given::Place));
        }
    }

    /// Brings an origin's entry among the starved up to date.
    fn list(&mut self, key: Key) {
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
}

#[cfg(test)]
mod tests;
