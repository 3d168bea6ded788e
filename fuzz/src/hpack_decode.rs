//! Invariant: whatever bytes arrive as header blocks, and whatever limits are set between them, a
//! decoder
//! - reads what the one below reads, which follows RFC 7541 without a thought for speed: the same lines
//!   and the same table, or wrong for both;
//! - finds no more lines than there are bytes, and does not panic;
//! - stays wrong when it is wrong.

use stoop_proto::hpack::{Decoder, static_entry};

/// More is only more of the same.
const INPUT_MAX: usize = 2_000;

const LIMITS: [u32; 16] =
    [4096, 0, 31, 32, 33, 34, 40, 64, 70, 100, 128, 200, 256, 1000, 4095, u32::MAX];

/// The first byte chooses a limit. Then come blocks, each behind a byte that is its length, and bytes
/// from 240 on, which choose another limit.
///
/// # Panics
/// If the invariant does not hold.
pub fn check(data: &[u8]) {
    let [first, rest @ ..] = &data[..data.len().min(INPUT_MAX)] else { return };
    let limit = LIMITS[usize::from(first % 16)];
    let (mut decoder, mut simple) = (Decoder::new(limit), Simple::new(limit));
    let mut rest = rest;
    while let Ok(first) = take(&mut rest) {
        if first >= 240 {
            let limit = LIMITS[usize::from(first % 16)];
            decoder.set_table_bytes_max(limit);
            simple.set_limit(limit);
            continue;
        }
        let (block, after) = rest.split_at(rest.len().min(usize::from(first)));
        rest = after;
        let read = read(&mut decoder, block);
        assert_eq!(read, simple.block(block));
        if read.is_err() {
            return;
        }
        let entries = simple.table.iter().map(|entry| (&*entry.name, &*entry.value));
        assert!(entries.eq(decoder.entries()));
        assert_eq!(decoder.table_bytes(), simple.size());
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
struct DecodedLine {
    name: Vec<u8>,
    value: Vec<u8>,
    static_name: u8,
    is_static: bool,
    mark: u8,
    never_indexed: bool,
}

#[derive(Debug, PartialEq)]
struct Wrong;

/// Reads a block, and marks the entry of each line with the line's number.
fn read(decoder: &mut Decoder, wire: &[u8]) -> Result<Vec<DecodedLine>, Wrong> {
    let (mut block, mut lines) = (decoder.block(wire), Vec::new());
    loop {
        match block.next() {
            Ok(Some(line)) => lines.push(DecodedLine {
                name: line.name.to_vec(),
                value: line.value.to_vec(),
                static_name: line.static_name,
                is_static: line.is_static,
                mark: line.mark,
                never_indexed: line.never_indexed,
            }),
            Ok(None) => {
                assert!(lines.len() <= wire.len());
                return Ok(lines);
            }
            Err(error) => {
                assert_eq!(block.next(), Err(error));
                return Err(Wrong);
            }
        }
        block.mark(lines.len() as u8);
    }
}

struct Simple {
    /// As lines that were read from them, the newest first.
    table: Vec<DecodedLine>,
    size_max: usize,
    limit: usize,
    due: Option<usize>,
}

impl Simple {
    fn new(limit: u32) -> Self {
        let limit = limit as usize;
        Self { table: Vec::new(), size_max: limit, limit, due: None }
    }

    fn set_limit(&mut self, limit: u32) {
        self.limit = limit as usize;
        if self.limit < self.size_max {
            self.due = Some(self.limit.min(self.due.unwrap_or(usize::MAX)));
        }
    }

    fn size(&self) -> usize {
        self.table.iter().map(|entry| entry.name.len() + entry.value.len() + 32).sum()
    }

    fn evict(&mut self) {
        while self.size() > self.size_max {
            self.table.pop();
        }
    }

    fn block(&mut self, mut rest: &[u8]) -> Result<Vec<DecodedLine>, Wrong> {
        let (mut lines, mut updates) = (Vec::new(), 0);
        while let Some(0x20..=0x3f) = rest.first() {
            let size = integer(&mut rest, 5)?;
            updates += 1;
            if updates > 2 || size > self.limit || self.due.is_some_and(|due| size > due) {
                return Err(Wrong);
            }
            (self.size_max, self.due) = (size, None);
            self.evict();
        }
        if self.due.is_some() {
            return Err(Wrong);
        }
        while let Some(&first) = rest.first() {
            let (line, entry) = match first {
                0x80.. => self.indexed(integer(&mut rest, 7)?)?,
                0x20..=0x3f => return Err(Wrong),
                _ => self.literal(first, &mut rest)?,
            };
            lines.push(line);
            if let Some(entry) = entry.and_then(|entry| self.table.get_mut(entry)) {
                entry.mark = lines.len() as u8;
            }
        }
        Ok(lines)
    }

    /// The line with that index, and which entry it is.
    fn indexed(&self, index: usize) -> Result<(DecodedLine, Option<usize>), Wrong> {
        if index > 61 {
            let entry = index - 62;
            return Ok((self.table.get(entry).ok_or(Wrong)?.clone(), Some(entry)));
        }
        let (name, value) = static_entry(index as u8).ok_or(Wrong)?;
        let (name, value) = (name.to_vec(), value.to_vec());
        let line = DecodedLine {
            name,
            value,
            static_name: index as u8,
            is_static: true,
            ..DecodedLine::default()
        };
        Ok((line, None))
    }

    fn literal(
        &mut self,
        first: u8,
        rest: &mut &[u8],
    ) -> Result<(DecodedLine, Option<usize>), Wrong> {
        let inserts = first >= 0x40;
        let index = integer(rest, if inserts { 6 } else { 4 })?;
        let mut line = match index {
            0 => DecodedLine { name: string(rest)?, ..DecodedLine::default() },
            _ => self.indexed(index)?.0,
        };
        (line.value, line.is_static, line.mark) = (string(rest)?, false, 0);
        if inserts {
            self.table.insert(0, line.clone());
            self.evict();
            return Ok((line, Some(0)));
        }
        line.never_indexed = first & 0x10 != 0;
        Ok((line, None))
    }
}

fn take(rest: &mut &[u8]) -> Result<u8, Wrong> {
    let (first, after) = rest.split_first().ok_or(Wrong)?;
    *rest = after;
    Ok(*first)
}

/// RFC 7541 §5.1, with at most five bytes behind the prefix and 32 bits.
fn integer(rest: &mut &[u8], bits: u32) -> Result<usize, Wrong> {
    let prefix_max = 2_u64.pow(bits) - 1;
    let mut value = u64::from(take(rest)?) & prefix_max;
    let mut weight = 1;
    while value >= prefix_max {
        let byte = u64::from(take(rest)?);
        value += byte % 128 * weight;
        if byte < 128 {
            break;
        }
        weight *= 128;
        if weight == 128_u64.pow(5) {
            return Err(Wrong);
        }
    }
    if value > u64::from(u32::MAX) { Err(Wrong) } else { Ok(value as usize) }
}

/// RFC 7541 §5.2. Huffman code is left to a decoder that has nothing else to do: the tests beside its
/// code compare it with another.
fn string(rest: &mut &[u8]) -> Result<Vec<u8>, Wrong> {
    let whole = *rest;
    let len = integer(rest, 7)?;
    let (string, after) = rest.split_at_checked(len).ok_or(Wrong)?;
    *rest = after;
    if whole[0] < 128 {
        return Ok(string.to_vec());
    }
    let literal = [b"\x04", &whole[..whole.len() - after.len()]].concat();
    let mut lines = read(&mut Decoder::new(0), &literal)?;
    Ok(lines.pop().expect("one line").value)
}
