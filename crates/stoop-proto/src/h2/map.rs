//! [`StreamMap`]: an open-addressing table from stream identifiers to the places of streams.
//!
//! Identifiers of live streams are mostly consecutive, so that half of each is nearly a perfect hash: a
//! lookup is one comparison. Nothing is allocated before the first stream.

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
        let mut at = self.first_slot(id);
        while self.entries[at].0 != 0 {
            at = (at + 1) & (self.entries.len() - 1);
        }
        self.entries[at] = (id, place);
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
        // Entries that this one displaced move up, so that no lookup stops before them.
        let mut at = hole;
        loop {
            at = (at + 1) & mask;
            let (moved, _) = self.entries[at];
            if moved == 0 {
                break;
            }
            let from_first = at.wrapping_sub(self.first_slot(moved)) & mask;
            if from_first >= at.wrapping_sub(hole) & mask {
                self.entries[hole] = self.entries[at];
                hole = at;
            }
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
