//! [`DynamicTable`]: the dynamic table (RFC 7541 §2.3.2 and §4), as both ends of a connection keep it.
//!
//! Its entries are a ring; their names and values are in one buffer, name before value, so that
//! either is one slice. An entry needs no allocation.

use std::collections::VecDeque;

use super::buffer::{Buffer, BufferSpan};

/// The bytes that an entry counts beside its name and value (RFC 7541 §4.1).
const ENTRY_OVERHEAD_BYTES: usize = 32;

/// The largest table: 1 GiB. A larger limit means this one.
const TABLE_BYTES_CEILING: u32 = 1 << 30;

/// The number of entries for which the first one allocates room, unless the limit is less.
const ENTRIES_MIN: usize = 16;

/// The dynamic table of one end.
#[derive(Clone)]
pub(super) struct DynamicTable {
    /// The newest first, so that the position in the ring is the index.
    entries: VecDeque<TableEntry>,
    buffer: Buffer,
    /// In bytes, as `size_max`: at most twice the ceiling while an entry is added.
    size: u32,
    size_max: u32,
}

/// An entry, in sixteen bytes.
#[derive(Clone, Copy)]
struct TableEntry {
    at: u32,
    name_len: u32,
    value_len: u32,
    static_name: u8,
    mark: u8,
}

impl TableEntry {
    #[inline]
    fn size(&self) -> u32 {
        entry_size(self.name_len as usize, self.value_len as usize) as u32
    }
}

/// The position of an entry's name. It is valid until the next insertion, even if the entry is evicted.
#[derive(Clone, Copy)]
pub(super) struct StoredName {
    span: BufferSpan,
    pub(super) static_name: u8,
}

/// A view of an entry.
#[derive(Clone, Copy)]
pub(super) struct StoredEntry<'a> {
    pub(super) name: &'a [u8],
    pub(super) value: &'a [u8],
    pub(super) static_name: u8,
    pub(super) mark: u8,
}

/// The size of an entry of that name and value.
#[inline]
pub(super) const fn entry_size(name_len: usize, value_len: usize) -> usize {
    name_len + value_len + ENTRY_OVERHEAD_BYTES
}

impl DynamicTable {
    pub(super) const fn new(size_max: u32) -> Self {
        let size_max = clamp(size_max);
        Self { entries: VecDeque::new(), buffer: Buffer::new(), size: 0, size_max }
    }

    /// The number of entries.
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// The size of all entries.
    pub(super) fn size(&self) -> usize {
        self.size as usize
    }

    /// The largest size of all entries.
    #[inline]
    pub(super) fn size_max(&self) -> usize {
        self.size_max as usize
    }

    /// The entry with that index, the newest being 0.
    #[inline]
    pub(super) fn get(&self, index: usize) -> Option<StoredEntry<'_>> {
        let TableEntry { at, name_len, value_len, static_name, mark } = *self.entries.get(index)?;
        let both = self.buffer.text(BufferSpan { at, len: name_len + value_len });
        let (name, value) = both.split_at(name_len as usize);
        Some(StoredEntry { name, value, static_name, mark })
    }

    /// Whether the entry with that index has this value, and a name that is in the static table.
    #[inline]
    pub(super) fn is_line(&self, index: usize, static_name: u8, value: &[u8]) -> bool {
        let Some(entry) = self.entries.get(index) else { return false };
        let TableEntry { at, name_len, value_len, .. } = *entry;
        entry.static_name == static_name
            && self.buffer.text(BufferSpan { at: at.wrapping_add(name_len), len: value_len })
                == value
    }

    /// All entries, the newest first.
    pub(super) fn iter(&self) -> impl Iterator<Item = StoredEntry<'_>> {
        (0..self.len()).filter_map(|index| self.get(index))
    }

    /// The position of an entry's name.
    #[inline]
    pub(super) fn name(&self, index: usize) -> Option<StoredName> {
        let TableEntry { at, name_len: len, static_name, .. } = *self.entries.get(index)?;
        Some(StoredName { span: BufferSpan { at, len }, static_name })
    }

    /// The name at that position.
    #[inline]
    pub(super) fn text(&self, name: StoredName) -> &[u8] {
        self.buffer.text(name.span)
    }

    /// Stores `mark` with an entry, if it exists.
    #[inline]
    pub(super) fn mark(&mut self, index: usize, mark: u8) {
        if let Some(entry) = self.entries.get_mut(index) {
            entry.mark = mark;
        }
    }

    /// Adds an entry, and evicts the oldest to make room. One that is larger than the table empties it and
    /// is not added, which is no error (RFC 7541 §4.4).
    pub(super) fn insert(&mut self, name: &[u8], value: &[u8], static_name: u8) -> bool {
        let fits = self.make_room(name.len(), value.len());
        if fits {
            let at = self.buffer.end();
            self.buffer.push(name);
            self.add(at, name.len(), value, static_name);
        }
        fits
    }

    /// As [`insert`](Self::insert), for an entry with the name of another, which may be evicted for it.
    pub(super) fn insert_named(&mut self, name: StoredName, value: &[u8]) -> bool {
        let name_len = name.span.len as usize;
        let fits = self.make_room(name_len, value.len());
        if fits {
            let at = self.buffer.end();
            self.buffer.push_copy(name.span);
            self.add(at, name_len, value, name.static_name);
        }
        fits
    }

    /// Sets the largest size of all entries, evicts those beyond it (RFC 7541 §4.3), and frees memory that
    /// a smaller table cannot use.
    pub(super) fn set_size_max(&mut self, size_max: u32) {
        self.size_max = clamp(size_max);
        self.evict();
        self.buffer.shrink(self.front(), self.buffer_max());
        self.entries.shrink_to(self.size_max() / ENTRY_OVERHEAD_BYTES);
    }

    /// The capacity of buffer and ring, added up: 0 if nothing is allocated.
    #[cfg(test)]
    pub(super) fn capacity(&self) -> usize {
        self.buffer.capacity() + self.entries.capacity()
    }

    /// The limit of the buffer: for a full table and one more entry, which is added before others are
    /// evicted.
    fn buffer_max(&self) -> usize {
        2 * self.size_max()
    }

    /// The position of the first byte of the oldest entry.
    fn front(&self) -> u32 {
        self.entries.back().map_or(self.buffer.end(), |oldest| oldest.at)
    }

    /// Makes room in the buffer for an entry. If that is larger than the table, empties the table instead.
    fn make_room(&mut self, name_len: usize, value_len: usize) -> bool {
        if entry_size(name_len, value_len) > self.size_max() {
            self.entries.clear();
            self.size = 0;
            return false;
        }
        if !self.buffer.has_room(name_len + value_len) {
            self.buffer.make_room(name_len + value_len, self.front(), self.buffer_max());
        }
        if self.entries.capacity() == 0 {
            self.entries.reserve_exact(ENTRIES_MIN.min(self.size_max() / ENTRY_OVERHEAD_BYTES));
        }
        true
    }

    /// Adds the entry whose name is in the buffer at `at`.
    fn add(&mut self, at: u32, name_len: usize, value: &[u8], static_name: u8) {
        self.buffer.push(value);
        let (name_len, value_len) = (name_len as u32, value.len() as u32);
        let entry = TableEntry { at, name_len, value_len, static_name, mark: 0 };
        self.size += entry.size();
        self.entries.push_front(entry);
        self.evict();
    }

    /// Evicts the oldest entries until the others are within the limit. Their bytes are dropped later.
    fn evict(&mut self) {
        while self.size > self.size_max
            && let Some(oldest) = self.entries.pop_back()
        {
            self.size -= oldest.size();
        }
    }
}

const fn clamp(size_max: u32) -> u32 {
    if size_max < TABLE_BYTES_CEILING { size_max } else { TABLE_BYTES_CEILING }
}

#[cfg(test)]
mod tests;
