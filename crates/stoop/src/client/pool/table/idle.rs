//! Idle connections: how many there may be, and which of them are closed.

use std::time::Instant;

use super::{Effects, Key, Table};

impl<C, S: Clone, W> Table<C, S, W> {
    /// Whether a connection that serves one exchange at a time idles.
    pub(in crate::client::pool) fn has_idle(&self, key: Key) -> bool {
        self.origins.get(key).is_some_and(|origin| !origin.idle.is_empty())
    }

    /// Counts one more idle connection and returns its number.
    pub(super) fn mark_idle(&mut self, key: Key) -> u64 {
        let number = self.next_number();
        self.idle += 1;
        self.order.push_back((number, key));
        number
    }

    /// Closes what idles beyond the limits.
    pub(super) fn bound_idle(&mut self, key: Key, effects: &mut Effects<C, S, W>) {
        if self.origins[key].idle_count() > self.limits.idle_per_origin_max
            && let Some(oldest) = self.origins[key].oldest()
        {
            self.close_idle(key, oldest, effects);
            self.forget_unused(key);
        }
        while self.idle > self.limits.idle_max {
            self.evict_oldest(None, effects);
        }
        self.serve(effects);
        self.sweep_order();
    }

    /// Closes what idles and is `unfit`, and of what many share what has idled `since` or longer.
    pub(in crate::client::pool) fn reap(
        &mut self,
        mut unfit: impl FnMut(&mut C) -> bool,
        since: Option<Instant>,
        effects: &mut Effects<C, S, W>,
    ) {
        let mut found = Vec::new();
        for (key, origin) in &mut self.origins {
            let unfit = origin
                .idle
                .iter_mut()
                .filter_map(|(number, connection)| unfit(connection).then_some((key, *number)));
            found.extend(unfit);
            let idled = origin.shared.iter().filter_map(|member| member.idle);
            let too_long = idled.filter(|(_, from)| since.is_some_and(|since| *from <= since));
            found.extend(too_long.map(|(number, _)| (key, number)));
        }
        for (key, number) in found {
            self.close_idle(key, number, effects);
            self.forget_unused(key);
        }
        self.serve(effects);
        self.sweep_order();
    }

    /// Closes what has idled longest, if anything idles.
    pub(in crate::client::pool) fn shed(&mut self, effects: &mut Effects<C, S, W>) {
        self.evict_oldest(None, effects);
        self.serve(effects);
    }

    /// Closes the connection that idled longest, if any does; the origin `kept` stays known.
    pub(super) fn evict_oldest(&mut self, kept: Option<Key>, effects: &mut Effects<C, S, W>) {
        while let Some((number, key)) = self.order.pop_front() {
            if self.close_idle(key, number, effects) {
                if kept != Some(key) {
                    self.forget_unused(key);
                }
                return;
            }
        }
    }

    /// Closes an idle connection, if it still idles.
    pub(super) fn close_idle(
        &mut self,
        key: Key,
        number: u64,
        effects: &mut Effects<C, S, W>,
    ) -> bool {
        let Some(origin) = self.origins.get_mut(key) else { return false };
        if let Ok(at) = origin.idle.binary_search_by_key(&number, |(of, _)| *of) {
            effects.closed.push(origin.idle.remove(at).1);
        } else if let Some(at) = origin.idle_position(number) {
            effects.ended.push(origin.shared.swap_remove(at).connection);
        } else {
            return false;
        }
        self.idle -= 1;
        self.leave(key);
        self.update_starved(key);
        true
    }

    fn sweep_order(&mut self) {
        if self.order.len() > 2 * self.idle + 64 {
            let origins = &self.origins;
            self.order.retain(|(number, key)| {
                origins.get(*key).is_some_and(|origin| origin.is_idle(*number))
            });
        }
    }
}
