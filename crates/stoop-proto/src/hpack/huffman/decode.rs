//! Strings from Huffman code.
//!
//! The next eight bits name an entry of a table of 512 bytes, which says the symbol and how many of
//! them it took. That is all for the 74 symbols that texts are made of. A larger table could name two
//! symbols a step; it would take twelve bits and 16 KiB of the cache to do so two times in three.
//!
//! The other words begin with seven ones at least and have ten bits or more. They are found by their length:
//! words are in order, so that the first row which ends beyond the bits at hand has them.
//!
//! Behind the string's end there are ones, as padding has to be. No symbol is made of those alone, and
//! so a symbol that ends beyond the end of the string is one that is not complete in it.

use super::code::{CODE, LONGEST, code};
use crate::hpack::DecodeError;

/// Bits of a step.
const STEP: usize = 8;

/// Steps for which bits are loaded at once: 57 of 64 are there wherever in a byte the first one is.
const STEPS: usize = 7;

/// The shortest word has so many bits.
const SHORTEST: usize = 5;

/// The shortest word that is longer than a step.
const LONG: usize = 10;

/// The longest padding.
const PADDING_MAX: usize = 7;

/// For eight bits the symbol they begin with; in the low byte the length of its word, and
/// [`ONE`] so that symbols are counted by the same addition as bits. 0 where the word is longer.
static TABLE: [u16; 1 << STEP] = table();

/// One symbol, where bits are counted below 64.
const ONE: u16 = 1 << 6;

const fn table() -> [u16; 1 << STEP] {
    let (mut table, code) = ([0; 1 << STEP], code());
    let mut byte = 0;
    while byte < code.words.len() {
        let word = code.words[byte];
        if word.len as usize <= STEP {
            let spare = STEP - word.len as usize;
            let mut at = (word.bits as usize) << spare;
            while at < (word.bits as usize + 1) << spare {
                table[at] = (byte as u16) << 8 | ONE | word.len as u16;
                at += 1;
            }
        }
        byte += 1;
    }
    table
}

/// How much room [`decode`] needs for a string of so many bytes.
pub(crate) const fn room(len: usize) -> usize {
    len * 8 / SHORTEST + STEPS
}

/// Decodes the first `len` bytes of `input` into `out`, which has [`room`] for them, and says how many
/// bytes they became. What is behind them is not looked at, but may save a copy by being there.
pub(crate) fn decode(input: &[u8], len: usize, out: &mut [u8]) -> Result<usize, DecodeError> {
    let end = len * 8;
    // In bits of the input, and in bytes of the output.
    let (mut at, mut n) = (0, 0);
    while at < end {
        let mut bits = window(input, len, at);
        let (mut sum, mut is_short) = (0_u32, true);
        // STEPS bytes are written, of which those count that were found.
        for byte in &mut out[n..n + STEPS] {
            let entry = TABLE[(bits >> (64 - STEP)) as usize];
            *byte = (entry >> 8) as u8;
            let counts = u32::from(entry & 0xff);
            is_short = counts != 0;
            sum += counts;
            bits <<= counts % u32::from(ONE);
        }
        at += (sum % u32::from(ONE)) as usize;
        n += (sum / u32::from(ONE)) as usize;
        if !is_short && at < end {
            if end - at <= PADDING_MAX {
                return Ok(n);
            }
            let (symbol, word_len) = long(window(input, len, at), end - at)?;
            out[n] = symbol;
            at += word_len;
            n += 1;
        }
    }
    if at == end { Ok(n) } else { Err(DecodeError::HuffmanPadding) }
}

/// The bits from `at` on: 57 at least, and ones behind the end.
#[inline]
fn window(input: &[u8], len: usize, at: usize) -> u64 {
    let from = &input[at / 8..];
    let bits = match from.first_chunk() {
        Some(eight) => u64::from_be_bytes(*eight),
        None => from.iter().rev().fold(0, |bits, &byte| bits >> 8 | u64::from(byte) << 56),
    };
    let left = len - at / 8;
    let behind = if left < 8 { u64::MAX >> (8 * left) } else { 0 };
    (bits | behind) << (at % 8)
}

/// The symbol whose word of ten bits or more `bits` begin with, of which `left` are in the string.
#[cold]
fn long(bits: u64, left: usize) -> Result<(u8, usize), DecodeError> {
    let bits = (bits >> 32) as u32;
    for len in LONG..=LONGEST {
        let row = &CODE.rows[len];
        if bits < row.end {
            if len > left {
                return Err(DecodeError::HuffmanPadding);
            }
            let rank = usize::from(row.rank) + ((bits - row.first) >> (32 - len)) as usize;
            return Ok((CODE.symbols[rank], len));
        }
    }
    match left < LONGEST {
        true => Err(DecodeError::HuffmanPaddingTooLong),
        false => Err(DecodeError::HuffmanEos),
    }
}
