//! The dynamic table (RFC 7541 §2.3.2 and §4), as both ends of a connection keep it.
//!
//! Names and values stand in one buffer in the order they came, name before value, so that either is
//! one slice. Entries are added behind and evicted in front; the front is given back in one move when
//! it is as large as what is left, or when the buffer is at its limit, which is twice the table's. An
//! entry therefore costs no allocation, and a byte is moved about once in its life.

use std::collections::VecDeque;
use std::ops::Range;

/// What an entry counts beside its name and value (RFC 7541 §4.1).
const OVERHEAD: usize = 32;

/// The largest table: 1 GiB. A larger limit means this one.
const CEILING: u32 = 1 << 30;

/// What the buffer begins with, unless its limit is less.
const BUFFER_MIN: usize = 256;

#[derive(Clone)]
pub(super) struct Table {
    /// The newest first, so that an index is an index.
    entries: VecDeque<Entry>,
    buffer: Vec<u8>,
    /// The position of the buffer's first byte. Positions count all bytes that there ever were, modulo
    /// 2^32, so that those of entries stay when the buffer moves.
    base: u32,
    size: usize,
    size_max: usize,
}

#[derive(Clone, Copy)]
struct Entry {
    name: Name,
    value_len: u32,
    mark: u8,
}

/// Where the name of an entry is. It stays there until something else is inserted, even if the entry
/// is evicted.
#[derive(Clone, Copy)]
pub(super) struct Name {
    at: u32,
    len: u32,
    pub(super) static_name: u8,
}

/// An entry, to be read.
#[derive(Clone, Copy)]
pub(super) struct Stored<'a> {
    pub(super) name: &'a [u8],
    pub(super) value: &'a [u8],
    pub(super) static_name: u8,
    pub(super) mark: u8,
}

/// What an entry of that name and value counts.
#[inline]
pub(super) const fn entry_size(name_len: usize, value_len: usize) -> usize {
    name_len + value_len + OVERHEAD
}

impl Table {
    pub(super) const fn new(size_max: u32) -> Self {
        Self {
            entries: VecDeque::new(),
            buffer: Vec::new(),
            base: 0,
            size: 0,
            size_max: clamp(size_max),
        }
    }

    /// How many entries there are.
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// What all entries count.
    pub(super) fn size(&self) -> usize {
        self.size
    }

    /// What all entries may count.
    #[inline]
    pub(super) fn size_max(&self) -> usize {
        self.size_max
    }

    /// The entry with that index, the newest being 0.
    #[inline]
    pub(super) fn get(&self, index: usize) -> Option<Stored<'_>> {
        let Entry { name, value_len, mark } = self.entries.get(index)?;
        let both = self.range(name.at, name.len + value_len);
        let (text, value) = self.buffer[both].split_at(name.len as usize);
        Some(Stored { name: text, value, static_name: name.static_name, mark: *mark })
    }

    /// All entries, the newest first.
    pub(super) fn iter(&self) -> impl Iterator<Item = Stored<'_>> {
        (0..self.len()).filter_map(|index| self.get(index))
    }

    /// Where the name of an entry is.
    #[inline]
    pub(super) fn name(&self, index: usize) -> Option<Name> {
        self.entries.get(index).map(|entry| entry.name)
    }

    /// The name that is there.
    #[inline]
    pub(super) fn text(&self, name: Name) -> &[u8] {
        &self.buffer[self.range(name.at, name.len)]
    }

    /// Remembers `mark` with an entry, if it is there.
    #[inline]
    pub(super) fn mark(&mut self, index: usize, mark: u8) {
        if let Some(entry) = self.entries.get_mut(index) {
            entry.mark = mark;
        }
    }

    /// Adds an entry, and evicts those that it leaves no room for. One that is larger than the table
    /// empties it and is not added, which is no error (RFC 7541 §4.4).
    pub(super) fn insert(&mut self, name: &[u8], value: &[u8], static_name: u8) -> bool {
        let fits = self.make_room(name.len(), value.len());
        if fits {
            self.buffer.extend_from_slice(name);
            self.add(name.len(), value, static_name);
        }
        fits
    }

    /// The same for an entry that has the name of another, which may be evicted for it.
    pub(super) fn insert_named(&mut self, name: Name, value: &[u8]) -> bool {
        let fits = self.make_room(name.len as usize, value.len());
        if fits {
            let range = self.range(name.at, name.len);
            self.buffer.extend_from_within(range);
            self.add(name.len as usize, value, name.static_name);
        }
        fits
    }

    /// Sets what all entries may count, evicts what is beyond it (RFC 7541 §4.3), and gives back memory
    /// that a smaller table cannot use.
    pub(super) fn set_size_max(&mut self, size_max: u32) {
        self.size_max = clamp(size_max);
        self.evict();
        if self.buffer.capacity() > self.buffer_max() {
            self.drop_front();
            self.buffer.shrink_to(self.buffer_max());
            self.entries.shrink_to(self.size_max / OVERHEAD);
        }
    }

    fn buffer_max(&self) -> usize {
        2 * self.size_max
    }

    #[inline]
    fn range(&self, at: u32, len: u32) -> Range<usize> {
        let start = at.wrapping_sub(self.base) as usize;
        start..start + len as usize
    }

    /// Adds the entry whose name is at the end of the buffer.
    fn add(&mut self, name_len: usize, value: &[u8], static_name: u8) {
        let start = (self.buffer.len() - name_len) as u32;
        self.buffer.extend_from_slice(value);
        let name = Name { at: self.base.wrapping_add(start), len: name_len as u32, static_name };
        self.entries.push_front(Entry { name, value_len: value.len() as u32, mark: 0 });
        self.size += entry_size(name_len, value.len());
        self.evict();
    }

    /// Evicts the oldest entries until the others are within the limit. Their bytes stay for a while.
    fn evict(&mut self) {
        while self.size > self.size_max
            && let Some(oldest) = self.entries.pop_back()
        {
            self.size -= entry_size(oldest.name.len as usize, oldest.value_len as usize);
        }
    }

    /// Makes room in the buffer for an entry, unless that is larger than the table, which then loses
    /// all it has.
    fn make_room(&mut self, name_len: usize, value_len: usize) -> bool {
        if entry_size(name_len, value_len) > self.size_max {
            self.entries.clear();
            self.size = 0;
            return false;
        }
        let len = name_len + value_len;
        if self.buffer.len() + len > self.buffer.capacity() {
            self.grow(len);
        }
        true
    }

    #[cold]
    fn grow(&mut self, len: usize) {
        let front = self.front();
        if 2 * front >= self.buffer.len() || self.buffer.len() + len > self.buffer_max() {
            self.drop_front();
        }
        let needed = self.buffer.len() + len;
        if needed > self.buffer.capacity() {
            // All entries of a full table and one more are never more than the limit.
            let capacity = needed.max(2 * self.buffer.capacity()).max(BUFFER_MIN);
            let capacity = capacity.min(self.buffer_max());
            self.buffer.reserve_exact(capacity - self.buffer.len());
        }
    }

    /// How many bytes of the buffer were evicted.
    fn front(&self) -> usize {
        self.entries.back().map_or(self.buffer.len(), |oldest| self.range(oldest.name.at, 0).start)
    }

    fn drop_front(&mut self) {
        let front = self.front();
        self.buffer.drain(..front);
        self.base = self.base.wrapping_add(front as u32);
    }
}

const fn clamp(size_max: u32) -> usize {
    (if size_max < CEILING { size_max } else { CEILING }) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The same without any thought for memory.
    #[derive(Default)]
    struct Model(VecDeque<(Vec<u8>, Vec<u8>)>);

    impl Model {
        fn size(&self) -> usize {
            self.0.iter().map(|(name, value)| name.len() + value.len() + 32).sum()
        }

        fn insert(&mut self, name: Vec<u8>, value: Vec<u8>, size_max: usize) {
            self.0.push_front((name, value));
            while self.size() > size_max {
                self.0.pop_back();
            }
        }
    }

    /// Numbers that are the same in every run.
    fn next(state: &mut u32, below: usize) -> usize {
        *state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (*state >> 8) as usize % below
    }

    #[test]
    fn it_holds_what_a_simple_one_holds_in_bounded_memory() {
        for seed in 0..200_u32 {
            let mut state = seed;
            let mut size_max = [0, 31, 32, 40, 100, 512, 4096][seed as usize % 7];
            let (mut table, mut model) = (Table::new(size_max), Model::default());
            // Positions wrap.
            table.base = u32::MAX - 1_000;
            for _ in 0..300 {
                let longest = [2, 20, 200, 5_000][next(&mut state, 4)];
                let value = vec![next(&mut state, 256) as u8; next(&mut state, longest)];
                let index = next(&mut state, 8);
                let name = match table.name(index) {
                    Some(name) if next(&mut state, 3) == 0 => {
                        let text = table.text(name).to_vec();
                        let fits = table.insert_named(name, &value);
                        assert!(fits || table.text(name) == text, "it is still there");
                        text
                    }
                    _ => {
                        let name = vec![b'a' + index as u8; next(&mut state, longest)];
                        table.insert(&name, &value, 0);
                        name
                    }
                };
                model.insert(name, value, size_max as usize);
                if next(&mut state, 40) == 0 {
                    size_max = next(&mut state, 5_000) as u32;
                    table.set_size_max(size_max);
                    while model.size() > size_max as usize {
                        model.0.pop_back();
                    }
                }
                assert_eq!(table.size(), model.size());
                assert!(table.buffer.capacity() <= 2 * size_max as usize);
                let stored = table.iter().map(|entry| (entry.name.to_vec(), entry.value.to_vec()));
                assert!(stored.eq(model.0.iter().cloned()), "seed {seed}");
            }
        }
    }

    #[test]
    fn a_table_that_holds_nothing_has_no_memory() {
        let mut table = Table::new(4096);
        assert_eq!((table.buffer.capacity(), table.entries.capacity()), (0, 0));
        for n in 0..=255 {
            table.insert(b"name", &[n; 60], 0);
        }
        assert_eq!(table.size(), 4096 / 96 * 96);
        table.set_size_max(0);
        assert_eq!((table.len(), table.size()), (0, 0));
        assert_eq!((table.buffer.capacity(), table.entries.capacity()), (0, 0));
        assert!(!table.insert(b"", b"", 0));
    }

    #[test]
    fn marks_stay_with_their_entries() {
        let mut table = Table::new(200);
        table.insert(b"a", b"1", 0);
        table.mark(0, 7);
        table.mark(1, 9);
        table.insert(b"b", b"2", 5);
        let read = |table: &Table| {
            let all = table.iter().map(|entry| (entry.name[0], entry.static_name, entry.mark));
            all.collect::<Vec<_>>()
        };
        assert_eq!(read(&table), [(b'b', 5, 0), (b'a', 0, 7)]);
        let name = table.name(0).unwrap();
        table.insert_named(name, b"3");
        assert_eq!(read(&table), [(b'b', 5, 0), (b'b', 5, 0), (b'a', 0, 7)]);
    }

    #[test]
    fn a_limit_beyond_the_ceiling_is_the_ceiling() {
        assert_eq!(Table::new(u32::MAX).size_max(), 1 << 30);
    }
}
