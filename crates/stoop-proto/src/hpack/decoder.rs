//! [`Decoder`]: header blocks to field lines (RFC 7541 §3 and §6).

use std::fmt;

use super::huffman;
use super::integer;
use super::static_table::ENTRIES;
use super::table::{DynamicTable, StoredEntry, StoredName};
use crate::hpack::{DecodeError, Line};

/// The least size of the scratch buffer, and the most that is kept from block to block.
const SCRATCH_MIN: usize = 256;
const SCRATCH_KEPT_MAX: usize = 4 * 1024;

/// The value of `size_update_due` when no size update is due.
const NONE_DUE: u32 = u32::MAX;

/// No entry of the dynamic table.
const NO_ENTRY: usize = usize::MAX;

/// Reads the header blocks of one direction of one connection, in their order.
///
/// A new decoder has no heap memory. Later it holds the dynamic table, in at most three times its limit,
/// and up to 4 KiB for strings in Huffman code.
///
/// ```
/// use stoop_proto::hpack::{DEFAULT_TABLE_BYTES_MAX, Decoder};
///
/// let mut decoder = Decoder::new(DEFAULT_TABLE_BYTES_MAX);
/// let mut block = decoder.block(b"\x82\x41\x01a");
/// let line = block.next()?.expect("the method");
/// assert_eq!((line.name, line.value, line.static_name), (&b":method"[..], &b"GET"[..], 2));
/// let line = block.next()?.expect("the authority");
/// assert_eq!((line.name, line.value), (&b":authority"[..], &b"a"[..]));
/// assert_eq!(block.next()?, None);
/// # Ok::<(), stoop_proto::hpack::DecodeError>(())
/// ```
#[derive(Clone)]
pub struct Decoder {
    table: DynamicTable,
    /// Strings decoded from Huffman code, those of one line at a time. It grows as needed; its bytes mean
    /// nothing between lines.
    scratch: Vec<u8>,
    table_bytes_max: u32,
    /// The least limit since the last block, if lower than the size in use: the next block must begin
    /// with a size update.
    size_update_due: u32,
}

impl Decoder {
    /// `table_bytes_max` is the SETTINGS_HEADER_TABLE_SIZE in force for the peer's encoder: the value that
    /// it has acknowledged, 4,096 until then. More than 1 GiB is taken for 1 GiB.
    pub const fn new(table_bytes_max: u32) -> Self {
        let table = DynamicTable::new(table_bytes_max);
        Self { table, scratch: Vec::new(), table_bytes_max, size_update_due: NONE_DUE }
    }

    /// Sets the SETTINGS_HEADER_TABLE_SIZE that the peer has acknowledged. If it is less than the size in
    /// use, the next block must begin with a size update to at most that (RFC 7541 §4.2). If it is more,
    /// nothing changes until the peer sends a size update.
    pub fn set_table_bytes_max(&mut self, bytes: u32) {
        self.table_bytes_max = bytes;
        if (bytes as usize) < self.table.size_max() {
            self.size_update_due = self.size_update_due.min(bytes);
        }
    }

    /// Begins a header block, which must be complete, with its fragments in CONTINUATION frames joined.
    ///
    /// It must be read to its end, even if the caller needs no more lines: lines that are not read do not
    /// get into the dynamic table, and the next block is decoded wrongly.
    #[inline]
    pub fn block<'a>(&'a mut self, input: &'a [u8]) -> Block<'a> {
        Block {
            decoder: self,
            input,
            last: NO_ENTRY,
            size_updates: 0,
            inserts: false,
            is_begun: false,
        }
    }

    /// The size of the dynamic table (RFC 7541 §4.1).
    pub fn table_bytes(&self) -> usize {
        self.table.size()
    }

    /// Names and values of the entries of the dynamic table, the newest first.
    pub fn entries(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.table.iter().map(|entry| (entry.name, entry.value))
    }
}

/// Shows no entries, which may be secrets.
impl fmt::Debug for Decoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Decoder")
            .field("entries", &self.table.len())
            .field("table_bytes", &self.table.size())
            .field("table_bytes_max", &self.table_bytes_max)
            .finish_non_exhaustive()
    }
}

/// A header block that is being read, line by line.
///
/// It must be read to its end: see [`Decoder::block`].
#[derive(Debug)]
pub struct Block<'a> {
    decoder: &'a mut Decoder,
    /// The rest of the block. A representation is removed from it once it is known to be valid, so that
    /// an error is returned again.
    input: &'a [u8],
    /// The entry from which the last line came, or into which it went.
    last: usize,
    size_updates: u8,
    inserts: bool,
    is_begun: bool,
}

/// A string of a literal: in the input, or decoded into the scratch buffer.
enum LiteralText<'a> {
    Input(&'a [u8]),
    Scratch { start: usize, end: usize },
}

impl<'a> LiteralText<'a> {
    #[inline]
    fn of(&self, scratch: &'a [u8]) -> &'a [u8] {
        match *self {
            Self::Input(text) => text,
            Self::Scratch { start, end } => &scratch[start..end],
        }
    }
}

/// The name of a literal: in a table, or a literal itself.
enum LiteralName<'a> {
    Static(u8),
    Dynamic(StoredName),
    Literal(LiteralText<'a>),
}

impl<'a> Block<'a> {
    /// The next field line; `None` at the end.
    ///
    /// # Errors
    /// The error of the block. The connection must be closed, since the two ends no longer agree on the
    /// dynamic table.
    #[inline]
    #[allow(clippy::should_implement_trait, reason = "it lends what it returns")]
    pub fn next(&mut self) -> Result<Option<Line<'_>>, DecodeError> {
        if !self.is_begun {
            self.begin()?;
        }
        let Some((&first, rest)) = self.input.split_first() else {
            self.end();
            return Ok(None);
        };
        match first {
            0x80.. => self.indexed(first, rest).map(Some),
            0x20..=0x3f => Err(DecodeError::SizeUpdateLate),
            _ => self.literal(first, rest).map(Some),
        }
    }

    /// Stores `mark` with the entry of the dynamic table from which the last line came, or into which it
    /// went, for all later lines from that entry: a caller need not examine the same line again. 0 removes
    /// the mark. Nothing happens if the line has no entry.
    ///
    /// An entry that has only its name from another does not have that entry's mark.
    #[inline]
    pub fn mark(&mut self, mark: u8) {
        self.decoder.table.mark(self.last, mark);
    }

    /// Whether what was read of the block has changed the dynamic table or its size. The same bytes say the same again,
    /// ahead of any other block, if nothing of them has.
    pub(crate) fn has_changed_table(&self) -> bool {
        self.inserts || self.size_updates > 0
    }

    /// Ends the block. The scratch buffer of a large block is shrunk.
    #[inline]
    fn end(&mut self) {
        self.last = NO_ENTRY;
        let scratch = &mut self.decoder.scratch;
        if scratch.len() > SCRATCH_KEPT_MAX {
            scratch.truncate(SCRATCH_KEPT_MAX);
            scratch.shrink_to(SCRATCH_KEPT_MAX);
        }
    }

    /// Reads dynamic table size updates (RFC 7541 §6.3): at the start of a block, two at most, and one at
    /// least if the limit was lowered (§4.2).
    fn begin(&mut self) -> Result<(), DecodeError> {
        let decoder = &mut *self.decoder;
        while let Some((&first @ 0x20..=0x3f, mut rest)) = self.input.split_first() {
            if self.size_updates == 2 {
                return Err(DecodeError::TooManySizeUpdates);
            }
            let bytes = integer::read(first, 5, &mut rest)?;
            if bytes > decoder.table_bytes_max {
                return Err(DecodeError::SizeUpdateTooLarge);
            }
            // Of several limits the least must be among them, and is the first.
            if bytes > decoder.size_update_due {
                return Err(DecodeError::SizeUpdateMissing);
            }
            decoder.table.set_size_max(bytes);
            decoder.size_update_due = NONE_DUE;
            self.size_updates += 1;
            self.input = rest;
        }
        if decoder.size_update_due != NONE_DUE {
            return Err(DecodeError::SizeUpdateMissing);
        }
        self.is_begun = true;
        Ok(())
    }

    /// Reads an indexed field line (RFC 7541 §6.1).
    #[inline]
    fn indexed(&mut self, first: u8, mut rest: &'a [u8]) -> Result<Line<'_>, DecodeError> {
        let index = integer::read(first, 7, &mut rest)? as usize;
        self.last = NO_ENTRY;
        let line = match ENTRIES.get(index) {
            Some(_) if index == 0 => return Err(DecodeError::IndexZero),
            Some(&(name, value)) => {
                let static_name = index as u8;
                Line { name, value, static_name, is_static: true, mark: 0, never_indexed: false }
            }
            None => {
                let entry = index - ENTRIES.len();
                let stored = self.decoder.table.get(entry).ok_or(DecodeError::IndexBeyondTables)?;
                self.last = entry;
                let StoredEntry { name, value, static_name, mark } = stored;
                Line { name, value, static_name, is_static: false, mark, never_indexed: false }
            }
        };
        self.input = rest;
        Ok(line)
    }

    /// Reads a literal field line, with incremental indexing, without, or never indexed (RFC 7541 §6.2).
    fn literal(&mut self, first: u8, mut rest: &'a [u8]) -> Result<Line<'_>, DecodeError> {
        let inserts = first & 0x40 != 0;
        self.inserts |= inserts;
        let index = integer::read(first, if inserts { 6 } else { 4 }, &mut rest)? as usize;
        let Decoder { table, scratch, .. } = &mut *self.decoder;
        let mut used = 0;
        let name = match ENTRIES.get(index) {
            Some(_) if index == 0 => LiteralName::Literal(string(&mut rest, scratch, &mut used)?),
            Some(_) => LiteralName::Static(index as u8),
            None => {
                let name = table.name(index - ENTRIES.len());
                LiteralName::Dynamic(name.ok_or(DecodeError::IndexBeyondTables)?)
            }
        };
        let value = string(&mut rest, scratch, &mut used)?;
        self.input = rest;
        let value = value.of(scratch);
        let is_inserted = inserts
            && match &name {
                LiteralName::Static(index) => {
                    table.insert(ENTRIES[usize::from(*index)].0, value, *index)
                }
                LiteralName::Dynamic(name) => table.insert_named(*name, value),
                LiteralName::Literal(text) => table.insert(text.of(scratch), value, 0),
            };
        self.last = if is_inserted { 0 } else { NO_ENTRY };
        let (name, static_name) = match name {
            LiteralName::Static(index) => (ENTRIES[usize::from(index)].0, index),
            LiteralName::Dynamic(name) => (table.text(name), name.static_name),
            LiteralName::Literal(text) => (text.of(scratch), 0),
        };
        let never_indexed = first & 0xf0 == 0x10;
        Ok(Line { name, value, static_name, is_static: false, mark: 0, never_indexed })
    }
}

/// Reads a string literal (RFC 7541 §5.2). Huffman code is decoded into `scratch`, behind its `used` bytes.
fn string<'a>(
    rest: &mut &'a [u8],
    scratch: &mut Vec<u8>,
    used: &mut usize,
) -> Result<LiteralText<'a>, DecodeError> {
    let (&first, mut text) = rest.split_first().ok_or(DecodeError::Truncated)?;
    let len = integer::read(first, 7, &mut text)? as usize;
    if len > text.len() {
        return Err(DecodeError::Truncated);
    }
    *rest = &text[len..];
    if first & 0x80 == 0 {
        return Ok(LiteralText::Input(&text[..len]));
    }
    let (start, room) = (*used, *used + huffman::room(len));
    if scratch.len() < room {
        scratch.resize(room.max(SCRATCH_MIN), 0);
    }
    *used += huffman::decode(text, len, &mut scratch[start..])?;
    Ok(LiteralText::Scratch { start, end: *used })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_decoder_has_no_memory() {
        let mut decoder = Decoder::new(4096);
        let mut block = decoder.block(b"\x82\x04\x02/a");
        while block.next().unwrap().is_some() {}
        assert_eq!(decoder.scratch.capacity(), 0);
        assert!(size_of::<Decoder>() <= 112, "{}", size_of::<Decoder>());
    }

    #[test]
    fn a_large_string_leaves_no_large_buffer() {
        let mut decoder = Decoder::new(4096);
        // 100,000 times 'a', whose word is of five bits.
        let huffman = [0x18, 0xc6, 0x31, 0x8c, 0x63].repeat(100_000 / 8);
        let wire = [&b"\x04\xff\xa5\xe7\x03"[..], &huffman, b"\x82"].concat();
        let mut block = decoder.block(&wire);
        assert_eq!(block.next().unwrap().unwrap().value, [b'a'; 100_000]);
        assert!(block.next().unwrap().is_some());
        assert_eq!(block.next(), Ok(None));
        assert!(decoder.scratch.capacity() <= SCRATCH_KEPT_MAX);
    }
}
