//! The table as numbers.

use super::origin::{ConnectionCounters, OriginEntry};
use super::{Effects, Key, Table};
use crate::client::stats::{ClientStats, ConnectionStats, OriginStats};

impl<C, S, W> OriginEntry<C, S, W> {
    fn stats(&self) -> ConnectionStats {
        let alone = self.open - self.connecting - self.idle.len() - self.shared.len();
        let streams: usize = self.shared.iter().map(|member| member.used).sum();
        ConnectionStats {
            open: self.open,
            connecting: self.connecting,
            idle: self.idle_count(),
            in_flight: alone + streams,
            waiting: self.waiters.len(),
            connected: self.counters.connected,
            failed: self.counters.failed,
            reused: self.counters.reused,
        }
    }
}

impl<C, S: Clone, W> Table<C, S, W> {
    /// Counts an event of an origin, and of all.
    pub(super) fn count(&mut self, key: Key, count: impl Fn(&mut ConnectionCounters)) {
        count(&mut self.counters);
        if let Some(origin) = self.origins.get_mut(key) {
            count(&mut origin.counters);
        }
    }

    pub(in crate::client::pool) fn stats(&self) -> ClientStats {
        let mut stats = ClientStats::default();
        for (_, origin) in &self.origins {
            let connections = origin.stats();
            let total = &mut stats.total;
            total.connecting += connections.connecting;
            total.in_flight += connections.in_flight;
            total.waiting += connections.waiting;
            stats.origins.push(OriginStats { origin: origin.name.to_string(), connections });
        }
        (stats.total.open, stats.total.idle) = (self.open, self.idle);
        let ConnectionCounters { connected, failed, reused } = self.counters;
        (stats.total.connected, stats.total.failed, stats.total.reused) =
            (connected, failed, reused);
        stats
    }

    /// Closes what idles, and has what is shared end after its exchanges. From now on no connection idles.
    /// Returns the waiters, which get none.
    pub(in crate::client::pool) fn close(&mut self, effects: &mut Effects<C, S, W>) -> Vec<W> {
        self.is_closed = true;
        self.starved.clear();
        let mut refused = Vec::new();
        for (_, origin) in &mut self.origins {
            origin.starved = None;
            refused.extend(std::mem::take(&mut origin.waiters).into_values());
        }
        while self.idle > 0 && !self.order.is_empty() {
            self.evict_oldest(None, effects);
        }
        effects.ended.extend(self.shared().cloned().collect::<Vec<_>>());
        let unused: Vec<Key> = self.origins.iter().map(|(key, _)| key).collect();
        unused.into_iter().for_each(|key| self.forget_unused(key));
        refused
    }
}
