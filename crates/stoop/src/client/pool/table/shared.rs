//! Connections that serve many exchanges at a time.

use std::time::Instant;

use super::origin::{Member, Speaks};
use super::{Allotment, Effects, Key, Table};

impl<C, S: Clone, W> Table<C, S, W> {
    /// A connection was made that so many exchanges may share, one of which is there. Returns its
    /// number.
    pub(in crate::client::pool) fn shared_connected(
        &mut self,
        key: Key,
        connection: S,
        streams_max: usize,
        effects: &mut Effects<C, S, W>,
    ) -> u64 {
        let number = self.next_number();
        self.count(key, |counters| counters.connected += 1);
        if self.is_closed {
            effects.ended.push(connection.clone());
        }
        let Some(origin) = self.origins.get_mut(key) else { return number };
        origin.connecting -= 1;
        origin.speaks = Speaks::Http2;
        // Before it has told, it allows no more than others did.
        let streams_max = origin.streams_each.map_or(streams_max, |each| each.min(streams_max));
        let (used, is_retired, idle) = (1, false, None);
        origin.shared.push(Member { number, connection, used, streams_max, is_retired, idle });
        self.share(key, number, effects);
        number
    }

    /// The server has said how many exchanges may share the connection of that number.
    pub(in crate::client::pool) fn streams_allowed(
        &mut self,
        key: Key,
        number: u64,
        streams_max: usize,
        effects: &mut Effects<C, S, W>,
    ) {
        let Some(origin) = self.origins.get_mut(key) else { return };
        let Some(member) = origin.member(number) else { return };
        if !member.is_retired {
            member.streams_max = streams_max;
            origin.streams_each = Some(streams_max);
        }
        self.share(key, number, effects);
    }

    /// So many exchanges of the connection of that number are over, at the time `now`.
    pub(in crate::client::pool) fn streams_ended(
        &mut self,
        key: Key,
        number: u64,
        streams: usize,
        now: Instant,
        effects: &mut Effects<C, S, W>,
    ) {
        let Some(origin) = self.origins.get_mut(key) else { return };
        let Some(member) = origin.member(number) else { return };
        member.used -= streams;
        self.share(key, number, effects);
        let member = self.origins.get_mut(key).and_then(|origin| origin.member(number));
        if !member.is_some_and(|member| member.used == 0 && !member.is_retired) {
            return;
        }
        let idle_number = self.mark_idle(key);
        if let Some(member) = self.origins[key].member(number) {
            member.idle = Some((idle_number, now));
        }
        // Its place may be wanted for another origin.
        if self.starved.is_empty() {
            return self.bound_idle(key, effects);
        }
        self.close_idle(key, idle_number, effects);
        self.serve(effects);
        self.forget_unused(key);
    }

    /// The connection of that number takes no more.
    pub(in crate::client::pool) fn retired(
        &mut self,
        key: Key,
        number: u64,
        effects: &mut Effects<C, S, W>,
    ) {
        let Some(origin) = self.origins.get_mut(key) else { return };
        let Some(member) = origin.member(number) else { return };
        (member.is_retired, member.streams_max) = (true, 0);
        if member.idle.take().is_some() {
            self.idle -= 1;
        }
        self.update_starved(key);
        self.serve(effects);
    }

    /// The connection of that number was closed.
    pub(in crate::client::pool) fn shared_closed(
        &mut self,
        key: Key,
        number: u64,
        effects: &mut Effects<C, S, W>,
    ) {
        let Some(origin) = self.origins.get_mut(key) else { return };
        let Some(at) = origin.shared.iter().position(|member| member.number == number) else {
            return;
        };
        if origin.shared.swap_remove(at).idle.is_some() {
            self.idle -= 1;
        }
        self.closed(key, effects);
    }

    /// All connections that are shared.
    pub(in crate::client::pool) fn shared(&self) -> impl Iterator<Item = &S> {
        let members = self.origins.iter().flat_map(|(_, origin)| &origin.shared);
        members.map(|member| &member.connection)
    }

    /// A stream of a connection that has one left and `fits`.
    pub(super) fn reserve(&mut self, key: Key, fits: impl Fn(&S) -> bool) -> Option<(u64, S)> {
        let mut shared = self.origins[key].shared.iter_mut();
        let member = shared.find(|m| m.used < m.streams_max && fits(&m.connection))?;
        member.used += 1;
        if member.idle.take().is_some() {
            self.idle -= 1;
        }
        Some((member.number, member.connection.clone()))
    }

    /// Serves waiters by the streams that a connection has left.
    fn share(&mut self, key: Key, number: u64, effects: &mut Effects<C, S, W>) {
        let fits = self.fits;
        let Some(origin) = self.origins.get_mut(key) else { return };
        let Some(member) = origin.shared.iter_mut().find(|member| member.number == number) else {
            return;
        };
        let mut served = 0;
        while member.used < member.streams_max {
            let mut waiters = origin.waiters.iter();
            let first = waiters.find(|(_, waiter)| fits(&member.connection, waiter));
            let Some(first) = first.map(|(first, _)| *first) else { break };
            let Some(waiter) = origin.waiters.remove(&first) else { break };
            member.used += 1;
            if member.idle.take().is_some() {
                self.idle -= 1;
            }
            let stream = Allotment::Stream(number, member.connection.clone());
            effects.served.push((waiter, key, stream));
            served += 1;
        }
        self.count(key, |counters| counters.reused += served);
        self.update_starved(key);
        self.serve(effects);
    }
}
