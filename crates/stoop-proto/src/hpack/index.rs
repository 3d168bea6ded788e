//! [`LineIndex`]: by which the encoder finds a line in the dynamic table, with hashes in the table's order.
//!
//! Equal hashes are always followed by a comparison. An attacker that can predict them can only cost
//! time, which the table's size bounds.

use std::collections::VecDeque;

use super::table::DynamicTable;

/// A name to be looked up, with its hash.
#[derive(Clone, Copy)]
pub(super) struct LookupName<'a> {
    pub(super) text: &'a [u8],
    /// Its index in the static table, or 0.
    pub(super) static_name: u8,
    hash: u64,
}

impl<'a> LookupName<'a> {
    #[inline]
    pub(super) fn new(text: &'a [u8]) -> Self {
        Self { text, static_name: 0, hash: hash(0, text) }
    }

    /// A name of the static table.
    #[inline]
    pub(super) fn of_static(text: &'a [u8], static_name: u8) -> Self {
        // The index in the high bits, where no length reaches.
        Self { text, static_name, hash: u64::from(static_name) << 32 }
    }

    /// The hash of a line with this name.
    #[inline]
    pub(super) fn hash_with(&self, value: &[u8]) -> u32 {
        short(hash(self.hash, value))
    }
}

/// For each entry of the table, a hash of the line and one of its name; the latter is not used for names
/// in the static table.
#[derive(Clone)]
pub(super) struct LineIndex {
    lines: VecDeque<u32>,
    names: VecDeque<u32>,
}

impl LineIndex {
    pub(super) const fn new() -> Self {
        Self { lines: VecDeque::new(), names: VecDeque::new() }
    }

    /// Adds the newest entry.
    pub(super) fn push(&mut self, line_hash: u32, name: &LookupName<'_>) {
        self.lines.push_front(line_hash);
        self.names.push_front(short(name.hash));
    }

    /// Removes all entries but the `len` newest.
    pub(super) fn truncate(&mut self, len: usize) {
        self.lines.truncate(len);
        self.names.truncate(len);
    }

    #[cfg(test)]
    pub(super) fn capacity(&self) -> usize {
        self.lines.capacity() + self.names.capacity()
    }

    /// The entry that has this line, whose hash is `line_hash`.
    #[inline]
    pub(super) fn line(
        &self,
        table: &DynamicTable,
        line_hash: u32,
        name: &LookupName<'_>,
        value: &[u8],
    ) -> Option<usize> {
        let is = |index| {
            table.get(index).is_some_and(|entry| {
                entry.static_name == name.static_name
                    && (name.static_name != 0 || entry.name == name.text)
                    && entry.value == value
            })
        };
        find(&self.lines, line_hash, is)
    }

    /// An entry that has this name.
    #[inline]
    pub(super) fn name(&self, table: &DynamicTable, name: &LookupName<'_>) -> Option<usize> {
        let is = |index| table.get(index).is_some_and(|entry| entry.name == name.text);
        find(&self.names, short(name.hash), is)
    }
}

/// Where the lines are that were written last, for names of the static table: responses repeat the values
/// of content-type, content-length and date, which are then compared without being hashed.
#[derive(Clone)]
pub(super) struct RecentLines {
    /// The number of insertions, of which the low bits suffice: what is found is compared.
    insertions: u8,
    /// The number of the insertion of a line, by the low bits of its name's index in the static table.
    lines: [u8; 4],
}

impl RecentLines {
    pub(super) const fn new() -> Self {
        Self { insertions: 0, lines: [0; 4] }
    }

    /// The entry that has this line, if it is the last with its name that was written.
    #[inline]
    pub(super) fn get(
        &self,
        table: &DynamicTable,
        name: &LookupName<'_>,
        value: &[u8],
    ) -> Option<usize> {
        if name.static_name == 0 {
            return None;
        }
        let insertion = self.lines[Self::slot(name)];
        let entry = usize::from(self.insertions.wrapping_sub(insertion));
        table.is_line(entry, name.static_name, value).then_some(entry)
    }

    /// A line was written as that entry of the table.
    pub(super) fn used(&mut self, name: &LookupName<'_>, entry: usize) {
        self.lines[Self::slot(name)] = self.insertions.wrapping_sub(entry as u8);
    }

    /// A line was inserted.
    pub(super) fn inserted(&mut self, name: &LookupName<'_>) {
        self.insertions = self.insertions.wrapping_add(1);
        self.used(name, 0);
    }

    #[inline]
    fn slot(name: &LookupName<'_>) -> usize {
        usize::from(name.static_name % 4)
    }
}

/// The first entry with that hash for which `is` is true.
#[inline]
fn find(hashes: &VecDeque<u32>, hash: u32, is: impl Fn(usize) -> bool) -> Option<usize> {
    let (newer, older) = hashes.as_slices();
    let found = find_in(newer, hash, &is);
    found.or_else(|| find_in(older, hash, |at| is(newer.len() + at)).map(|at| newer.len() + at))
}

#[inline]
fn find_in(hashes: &[u32], hash: u32, is: impl Fn(usize) -> bool) -> Option<usize> {
    let (eights, _) = hashes.as_chunks::<8>();
    let mut at = 0;
    // Skips groups without the hash: eight comparisons are two or four vector instructions.
    for eight in eights {
        if eight.iter().fold(false, |any, &one| any | (one == hash)) {
            break;
        }
        at += 8;
    }
    while at < hashes.len() {
        if hashes[at] == hash && is(at) {
            return Some(at);
        }
        at += 1;
    }
    None
}

/// The golden ratio, as in most such hashes: odd, and without a pattern.
const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;

/// Continues the hash `seed` with `bytes`.
#[inline]
fn hash(seed: u64, bytes: &[u8]) -> u64 {
    let hash = mix(seed, bytes.len() as u64);
    let (eights, rest) = bytes.as_chunks::<8>();
    let hash = eights.iter().fold(hash, |hash, eight| mix(hash, u64::from_le_bytes(*eight)));
    // The last bytes, with some before them a second time if they are few, which does no harm.
    match (bytes.last_chunk::<8>(), rest.first_chunk::<4>(), rest.last_chunk::<4>()) {
        (_, _, _) if rest.is_empty() => hash,
        (Some(last), _, _) => mix(hash, u64::from_le_bytes(*last)),
        (None, Some(first), Some(last)) => {
            let (first, last) = (u32::from_le_bytes(*first), u32::from_le_bytes(*last));
            mix(hash, u64::from(first) << 32 | u64::from(last))
        }
        _ => mix(hash, rest.iter().fold(0, |word, &byte| word << 8 | u64::from(byte))),
    }
}

#[inline]
const fn mix(hash: u64, word: u64) -> u64 {
    let mixed = (hash ^ word).wrapping_mul(MULTIPLIER);
    mixed ^ mixed >> 32
}

/// The part of a hash that is kept.
#[inline]
const fn short(hash: u64) -> u32 {
    hash as u32
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn the_last_line_of_a_name_is_found_until_it_is_evicted_whatever_comes_between() {
        let (mut table, mut recent) = (DynamicTable::new(32 * 400), RecentLines::new());
        let [date, length, other] = [33, 28, 29].map(|name| LookupName::of_static(b"", name));
        let mut insert = |name: &LookupName<'_>, value: &[u8], recent: &mut RecentLines| {
            table.insert(name.text, value, name.static_name);
            recent.inserted(name);
            table.clone()
        };
        let table = insert(&date, b"now", &mut recent);
        assert_eq!(recent.get(&table, &date, b"now"), Some(0));
        assert_eq!(recent.get(&table, &date, b"then"), None);
        assert_eq!(recent.get(&table, &other, b"now"), None);
        let table = insert(&length, b"12", &mut recent);
        let table_of_two = table.clone();
        assert_eq!(recent.get(&table, &date, b"now"), Some(1));
        assert_eq!(recent.get(&table, &length, b"12"), Some(0));
        // 28 and 29 do not share a place, 29 and 33 do.
        let table = insert(&other, b"en", &mut recent);
        assert_eq!(recent.get(&table, &length, b"12"), Some(1));
        assert_eq!(recent.get(&table, &date, b"now"), None);
        recent.used(&date, 2);
        assert_eq!(recent.get(&table, &date, b"now"), Some(2));
        assert_eq!(recent.get(&table_of_two, &date, b"now"), None);
        // The counter wraps: another line is at that place, which is compared.
        let mut last = table;
        for n in 0..254_u32 {
            last = insert(&length, &n.to_be_bytes(), &mut recent);
        }
        assert_eq!(recent.get(&last, &date, b"now"), None);
        assert_eq!(recent.get(&last, &length, &253_u32.to_be_bytes()), Some(0));
        let mut empty = last;
        empty.set_size_max(0);
        assert_eq!(recent.get(&empty, &length, &253_u32.to_be_bytes()), None);
        let unnamed = LookupName::new(b"x");
        assert_eq!(recent.get(&last_of(&unnamed), &unnamed, b""), None);
    }

    /// A table with one line of that name, and no value.
    fn last_of(name: &LookupName<'_>) -> DynamicTable {
        let mut table = DynamicTable::new(100);
        table.insert(name.text, b"", name.static_name);
        table
    }

    #[test]
    fn a_hash_is_found_at_every_position() {
        // In a ring that begins in the middle, and with others that only have the same hash.
        for len in 0..40 {
            for front in 0..=len {
                let mut hashes: VecDeque<u32> = (0..front).rev().collect();
                let mut back: VecDeque<u32> = VecDeque::with_capacity(64);
                back.extend(front..len);
                while let Some(hash) = hashes.pop_front() {
                    back.push_front(hash);
                }
                for hash in 0..len {
                    assert_eq!(find(&back, hash, |_| true), Some(hash as usize));
                    assert_eq!(find(&back, hash, |_| false), None);
                }
                assert_eq!(find(&back, len, |_| true), None);
            }
        }
        let same: VecDeque<u32> = [7; 30].into();
        for at in 0..30 {
            assert_eq!(find(&same, 7, |index| index == at), Some(at));
        }
    }

    /// Equal hashes only cost time. Still, those of similar strings must differ.
    #[test]
    fn strings_that_differ_in_a_bit_have_different_hashes() {
        let (mut seen, mut count) = (HashSet::new(), 0);
        for len in 0..40 {
            for byte in 0..len {
                for bit in 0..8 {
                    let mut bytes = vec![b'a'; len];
                    bytes[byte] ^= 1 << bit;
                    seen.insert(short(hash(0, &bytes)));
                    seen.insert(short(hash(1 << 32, &bytes)));
                    count += 2;
                }
            }
        }
        assert!(100 * seen.len() > 99 * count, "{} of {count}", seen.len());
    }
}
