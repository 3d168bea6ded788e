//! [`EarlyPriorities`]: priorities of streams that are not opened yet: RFC 9218 §7.

use crate::h2::priority::Priority;

/// The priorities that came before their streams, by identifier.
#[derive(Debug, Default)]
pub(super) struct EarlyPriorities(Vec<(u32, Priority)>);

impl EarlyPriorities {
    pub(super) fn heap_bytes(&self) -> usize {
        self.0.capacity() * size_of::<(u32, Priority)>()
    }

    /// Keeps the priority of a stream, in place of an earlier one. False if there are `max` of others.
    pub(super) fn keep(&mut self, id: u32, priority: Priority, max: usize) -> bool {
        self.0.retain(|(other, _)| *other != id);
        let has_room = self.0.len() < max;
        if has_room {
            self.0.push((id, priority));
        }
        has_room
    }

    /// The priority of a stream that is opened. Streams with lower identifiers cannot be any more: theirs
    /// are dropped.
    #[inline]
    pub(super) fn take(&mut self, id: u32) -> Option<Priority> {
        if self.0.is_empty() {
            return None;
        }
        let kept = self.0.iter().find(|(other, _)| *other == id).map(|(_, kept)| *kept);
        self.0.retain(|(other, _)| *other > id);
        kept
    }

    /// Frees the memory.
    pub(super) fn clear(&mut self) {
        self.0 = Vec::new();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_priority_of_a_stream_counts_and_those_of_lower_ones_are_dropped() {
        let [low, high] = ["u=7", "u=0"].map(|field| Priority::parse(field.as_bytes()));
        let mut early = EarlyPriorities::default();
        assert!(early.keep(5, low, 2) && early.keep(5, high, 2) && early.keep(9, low, 2));
        assert!(!early.keep(11, low, 2));
        assert_eq!((early.take(7), early.take(5)), (None, None));
        assert_eq!((early.take(9), early.take(9)), (Some(low), None));
        assert!(early.keep(13, high, 1) && early.heap_bytes() > 0);
        assert_eq!(early.take(13), Some(high));
        early.clear();
        assert_eq!(early.heap_bytes(), 0);
    }
}
