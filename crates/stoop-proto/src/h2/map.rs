//! [`StreamMap`]: an open-addressing table from stream identifiers to the places of streams.
//!
//! Identifiers of live streams are mostly consecutive, so that half of each is nearly a perfect hash: a
//! lookup is one comparison. Entries stand in the order of the slots that they begin at (Robin Hood
//! hashing), so that those which move up when one is removed end with the first that is in its own slot.
//! Nothing is allocated before the first stream.

/// The map of a connection.
#[derive(Debug, Default)]
pub(super) struct StreamMap {
    /// Identifier and place; identifier 0 is an empty entry. The length is a power of two, and at most half
    /// is used.
    entries: Vec<(u32, u32)>,
    len: usize,
}

const CAPACITY_MIN: usize = 8;

impl StreamMap {
    /// The slot at which the search for an identifier begins.
    #[inline]
    fn first_slot(&self, id: u32) -> usize {
        (id >> 1) as usize & (self.entries.len() - 1)
    }

    /// How many slots behind its first one an entry stands.
    #[inline]
    fn distance(&self, id: u32, at: usize) -> usize {
        at.wrapping_sub(self.first_slot(id)) & (self.entries.len() - 1)
    }

    #[inline]
    pub(super) fn get(&self, id: u32) -> Option<u32> {
        if self.entries.is_empty() {
            return None;
        }
        let mut at = self.first_slot(id);
        loop {
            match self.entries[at] {
                (found, place) if found == id => return Some(place),
                (0, _) => return None,
                _ => at = (at + 1) & (self.entries.len() - 1),
            }
        }
    }

    /// Adds an identifier that is not in the map.
    #[inline]
    pub(super) fn insert(&mut self, id: u32, place: u32) {
        if self.len * 2 >= self.entries.len() {
            self.grow();
        }
        self.len += 1;
        self.put(id, place);
    }

    #[inline]
    fn put(&mut self, id: u32, place: u32) {
        let mut entry = (id, place);
        let mut at = self.first_slot(id);
        let mut distance = 0;
        while self.entries[at].0 != 0 {
            let own = self.distance(self.entries[at].0, at);
            if own < distance {
                std::mem::swap(&mut self.entries[at], &mut entry);
                distance = own;
            }
            at = (at + 1) & (self.entries.len() - 1);
            distance += 1;
        }
        self.entries[at] = entry;
    }

    #[cold]
    fn grow(&mut self) {
        let capacity = (self.entries.len() * 2).max(CAPACITY_MIN);
        let old = std::mem::replace(&mut self.entries, vec![(0, 0); capacity]);
        old.into_iter().filter(|(id, _)| *id != 0).for_each(|(id, place)| self.put(id, place));
    }

    #[inline]
    pub(super) fn remove(&mut self, id: u32) {
        if self.entries.is_empty() {
            return;
        }
        let mask = self.entries.len() - 1;
        let mut hole = self.first_slot(id);
        while self.entries[hole].0 != id {
            if self.entries[hole].0 == 0 {
                return;
            }
            hole = (hole + 1) & mask;
        }
        self.len -= 1;
        // Entries that are behind their first slot move up, so that no lookup stops before them.
        loop {
            let at = (hole + 1) & mask;
            let (moved, _) = self.entries[at];
            if moved == 0 || self.distance(moved, at) == 0 {
                break;
            }
            self.entries[hole] = self.entries[at];
            hole = at;
        }
        self.entries[hole] = (0, 0);
    }

    pub(super) fn heap_bytes(&self) -> usize {
        self.entries.capacity() * size_of::<(u32, u32)>()
    }

    /// Frees the memory if the map is empty.
    pub(super) fn shrink(&mut self) {
        if self.len == 0 {
            self.entries = Vec::new();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    #[test]
    fn the_map_agrees_with_a_hash_map_after_any_inserts_and_removes() {
        let (mut map, mut model) = (StreamMap::default(), HashMap::new());
        let mut state = 1u32;
        for step in 0..5_000u32 {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            // Neighbours, and some that collide.
            let id = 1 + 2 * ((state >> 8) % 64) + 1024 * ((state >> 20) % 3);
            if model.remove(&id).is_some() {
                map.remove(id);
            } else {
                map.insert(id, step);
                model.insert(id, step);
            }
            assert_eq!(map.len, model.len());
            for id in (1..4_000).step_by(2).filter(|id| step % 97 == 0 || id % 128 == 1) {
                assert_eq!(map.get(id), model.get(&id).copied());
            }
        }
    }

    /// What makes a removal cheap whatever the number of streams.
    #[test]
    fn entries_stand_in_the_order_of_their_first_slots_without_gaps() {
        let mut map = StreamMap::default();
        let ids = [1, 3, 17, 5, 33, 7, 35, 19, 255, 257, 511, 65_535];
        let check = |map: &StreamMap| {
            for (at, (id, _)) in map.entries.iter().enumerate().filter(|(_, (id, _))| *id != 0) {
                let before = (at + map.entries.len() - 1) % map.entries.len();
                let most = match map.entries[before].0 {
                    0 => 0,
                    id => map.distance(id, before) + 1,
                };
                assert!(map.distance(*id, at) <= most, "{id} at {at}");
            }
        };
        for id in ids {
            map.insert(id, id);
            check(&map);
        }
        for id in ids {
            map.remove(id);
            check(&map);
        }
    }

    #[test]
    fn an_empty_map_has_no_memory_and_finds_nothing() {
        let mut map = StreamMap::default();
        map.remove(1);
        assert_eq!((map.get(1), map.entries.capacity()), (None, 0));
        map.insert(1, 7);
        map.remove(1);
        map.shrink();
        assert_eq!((map.get(1), map.entries.capacity()), (None, 0));
    }
}
