//! [`Encoder`]: field lines to header blocks (RFC 7541 §2.5 and §6).

use std::fmt;

use super::huffman;
use super::index::{LineIndex, LookupName, RecentLines};
use super::integer;
use super::static_table::{self, ENTRIES, LEN};
use super::table::{DynamicTable, entry_size};
use crate::hpack::DEFAULT_TABLE_BYTES_MAX;

/// Writes the header blocks of one direction of one connection.
///
/// A new encoder has no heap memory; later it holds the dynamic table, in at most four times its size.
/// Names must be in lower case: they are written as they are.
///
/// ```
/// use stoop_proto::hpack::{DEFAULT_TABLE_BYTES_MAX, Encoder, Indexing};
///
/// let (mut encoder, mut out) = (Encoder::new(DEFAULT_TABLE_BYTES_MAX), Vec::new());
/// for _ in 0..2 {
///     encoder.begin(&mut out);
///     encoder.static_line(8, &mut out);
///     encoder.line(b"server", b"a", Indexing::Insert, &mut out);
/// }
/// assert_eq!(out, b"\x88\x76\x01a\x88\xbe");
/// ```
#[derive(Clone)]
pub struct Encoder {
    table: DynamicTable,
    index: LineIndex,
    recent: RecentLines,
    local_bytes_max: u32,
    /// The table size that was announced to the peer last, and the least size since.
    size_announced: u32,
    size_least: u32,
    huffman: bool,
}

/// How a field line that is not in the tables is indexed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Indexing {
    /// It is inserted into the dynamic table, so that the next time it takes one byte or two. For lines
    /// that many blocks of a connection have in common.
    Insert,
    /// It is not inserted, and not looked up in the dynamic table. For values that differ each time.
    Without,
    /// It is not inserted, and an intermediary must not index it either (RFC 7541 §7.1.3). For secrets
    /// short enough to be guessed.
    Never,
}

impl Encoder {
    /// `table_bytes_max` is the largest size of the dynamic table, whatever the peer allows. More than 1
    /// GiB is taken for 1 GiB.
    ///
    /// The peer starts with a table of 4,096 bytes; if it is less here, the first block begins with a size
    /// update.
    pub const fn new(table_bytes_max: u32) -> Self {
        let size_announced = DEFAULT_TABLE_BYTES_MAX;
        let size = if table_bytes_max < size_announced { table_bytes_max } else { size_announced };
        Self {
            table: DynamicTable::new(size),
            index: LineIndex::new(),
            recent: RecentLines::new(),
            local_bytes_max: table_bytes_max,
            size_announced,
            size_least: size,
            huffman: false,
        }
    }

    /// Sets the peer's SETTINGS_HEADER_TABLE_SIZE. The smaller of this and the encoder's own limit is the
    /// size of the table from the next block on.
    pub fn set_peer_table_bytes_max(&mut self, bytes: u32) {
        self.table.set_size_max(bytes.min(self.local_bytes_max));
        self.index.truncate(self.table.len());
        self.size_least = self.size_least.min(self.size_max());
    }

    /// Sets whether strings are written in Huffman code where that is shorter. Off by default: it saves a
    /// quarter of the bytes of a literal, for two and a half times the processor time here and more at
    /// the other end. That pays over slow links, and seldom on a server.
    pub fn set_huffman(&mut self, on: bool) {
        self.huffman = on;
    }

    /// Begins a header block, with size updates if the table's size has changed since the last: the least
    /// in between and the current one (RFC 7541 §4.2). Usually writes nothing.
    #[inline]
    pub fn begin(&mut self, out: &mut Vec<u8>) {
        if self.size_least != self.size_announced || self.size_max() != self.size_announced {
            self.write_size_updates(out);
        }
    }

    /// Writes a field line as briefly as the tables allow.
    ///
    /// With [`Indexing::Never`] the value is always written out. A line larger than the table is not
    /// inserted, since that would only empty the table.
    pub fn line(&mut self, name: &[u8], value: &[u8], indexing: Indexing, out: &mut Vec<u8>) {
        match static_table::static_name(name) {
            0 => self.other_line(LookupName::new(name), value, indexing, out),
            first => match static_table::with_value(first, value) {
                Some(index) if indexing != Indexing::Never => self.static_line(index, out),
                _ => self.line_with_static_name(first, value, indexing, out),
            },
        }
    }

    /// Writes a field line that is an entry of the static table: one byte.
    ///
    /// # Panics
    /// If there is no such entry: the index is 0 or more than 61.
    #[inline]
    pub fn static_line(&mut self, index: u8, out: &mut Vec<u8>) {
        assert!((1..=LEN).contains(&index), "no entry of the static table");
        out.push(0x80 | index);
    }

    /// Writes a field line that has the name of an entry of the static table, and another value.
    ///
    /// # Panics
    /// If there is no such entry: the index is 0 or more than 61.
    pub fn line_with_static_name(
        &mut self,
        index: u8,
        value: &[u8],
        indexing: Indexing,
        out: &mut Vec<u8>,
    ) {
        assert!((1..=LEN).contains(&index), "no entry of the static table");
        let name = LookupName::of_static(ENTRIES[usize::from(index)].0, index);
        self.other_line(name, value, indexing, out);
    }

    /// The size of the dynamic table (RFC 7541 §4.1).
    pub fn table_bytes(&self) -> usize {
        self.table.size()
    }

    /// Names and values of the entries of the dynamic table, the newest first.
    pub fn entries(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.table.iter().map(|entry| (entry.name, entry.value))
    }

    /// Writes a line that is not in the static table, though its name may be.
    fn other_line(
        &mut self,
        name: LookupName<'_>,
        value: &[u8],
        indexing: Indexing,
        out: &mut Vec<u8>,
    ) {
        if indexing == Indexing::Insert
            && let Some(entry) = self.recent.get(&self.table, &name, value)
        {
            return integer::write(0x80, 7, ENTRIES.len() + entry, out);
        }
        let inserts = indexing == Indexing::Insert
            && entry_size(name.text.len(), value.len()) <= self.table.size_max();
        let line_hash = if inserts { name.hash_with(value) } else { 0 };
        if inserts && let Some(entry) = self.index.line(&self.table, line_hash, &name, value) {
            self.recent.used(&name, entry);
            return integer::write(0x80, 7, ENTRIES.len() + entry, out);
        }
        let (flags, bits) = match indexing {
            Indexing::Insert if inserts => (0x40, 6),
            Indexing::Insert | Indexing::Without => (0, 4),
            Indexing::Never => (0x10, 4),
        };
        let index = match name.static_name {
            0 => self.index.name(&self.table, &name).map_or(0, |entry| ENTRIES.len() + entry),
            index => usize::from(index),
        };
        integer::write(flags, bits, index, out);
        if index == 0 {
            self.string(name.text, out);
        }
        self.string(value, out);
        if inserts {
            self.table.insert(name.text, value, name.static_name);
            self.index.push(line_hash, &name);
            self.recent.inserted(&name);
            self.index.truncate(self.table.len());
        }
    }

    /// Writes a string literal (RFC 7541 §5.2).
    #[inline]
    fn string(&self, text: &[u8], out: &mut Vec<u8>) {
        if self.huffman {
            let len = huffman::encoded_len(text);
            if len < text.len() {
                integer::write(0x80, 7, len, out);
                return huffman::encode(text, out);
            }
        }
        integer::write(0, 7, text.len(), out);
        out.extend_from_slice(text);
    }

    #[cold]
    fn write_size_updates(&mut self, out: &mut Vec<u8>) {
        let size = self.size_max();
        if self.size_least < size.min(self.size_announced) {
            integer::write(0x20, 5, self.size_least as usize, out);
            self.size_announced = self.size_least;
        }
        if size != self.size_announced {
            integer::write(0x20, 5, size as usize, out);
        }
        (self.size_announced, self.size_least) = (size, size);
    }

    fn size_max(&self) -> u32 {
        self.table.size_max() as u32
    }
}

/// Shows no entries, which may be secrets.
impl fmt::Debug for Encoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Encoder")
            .field("entries", &self.table.len())
            .field("table_bytes", &self.table.size())
            .field("table_bytes_max", &self.table.size_max())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_encoder_has_no_memory() {
        let mut encoder = Encoder::new(DEFAULT_TABLE_BYTES_MAX);
        let mut out = Vec::new();
        encoder.begin(&mut out);
        encoder.line(b":method", b"GET", Indexing::Insert, &mut out);
        encoder.line(b"x", b"y", Indexing::Without, &mut out);
        assert_eq!((encoder.table.capacity(), encoder.index.capacity()), (0, 0));
        assert!(size_of::<Encoder>() <= 160, "{}", size_of::<Encoder>());
    }
}
