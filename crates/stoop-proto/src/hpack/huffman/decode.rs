//! Decodes strings from Huffman code.
//!
//! A step decodes one symbol or two. Its cost is latency: the position of the next step is known only
//! after a table lookup and a shift. So there are two tables, both small. [`STRIDES`] gives the length of
//! one or two words, and the next step waits for it alone; [`SYMBOLS`] gives the symbol with which eight
//! bits begin, and has the 74 that are common in text. The length of a word is known before the word: from
//! five bits, for up to seven. Therefore eleven bits nearly always give the length of two words, though
//! those may have fourteen.
//!
//! The other words have ten bits and more. They are found by their length: words are in order, so the
//! first row that ends beyond the bits at hand has the word.
//!
//! Behind the string's end the bits are ones, as in the padding. No symbol consists of ones alone, so a
//! symbol that ends beyond the end of the string is incomplete in it.

use super::code::{CODE, WORD_BITS_MAX, code};
use crate::hpack::DecodeError;

/// The number of bits that index [`SYMBOLS`], and [`STRIDES`].
const SYMBOL_BITS: u32 = 8;
const STRIDE_BITS: u32 = 11;

/// The number of steps on one window of bits, and the most bits of each: of 64 bits, 57 are valid
/// wherever in a byte the first one is.
const STEPS: usize = 4;
const STEP_BITS_MAX: u32 = 57 / STEPS as u32;

/// The number of bytes that are written at once: the symbols of all steps, and one that does not count.
const SYMBOLS_AT_ONCE: usize = 2 * STEPS + 1;

/// Bits of the shortest words.
const WORD_BITS_MIN: usize = 5;

/// Bits of the shortest words that are not in [`SYMBOLS`].
const LONG_WORD_BITS_MIN: usize = 10;

/// Bits of the longest padding.
const PADDING_BITS_MAX: usize = 7;

/// One symbol, in a sum whose low six bits count bits.
const ONE_SYMBOL: u32 = 1 << 6;

/// For each eight bits: the symbol with which they begin, and in the low byte the bits of its word. 0 if
/// the word is longer.
static SYMBOLS: [u16; 1 << SYMBOL_BITS] = symbols();

/// For each eleven bits: the bits of the one or two words of [`SYMBOLS`] with which they begin, plus
/// [`ONE_SYMBOL`] for each. 0 if there is none.
static STRIDES: [u8; 1 << STRIDE_BITS] = strides();

const fn symbols() -> [u16; 1 << SYMBOL_BITS] {
    let (mut symbols, code) = ([0; 1 << SYMBOL_BITS], code());
    let mut byte = 0;
    while byte < code.words.len() {
        let word = code.words[byte];
        if word.len as u32 <= SYMBOL_BITS {
            let spare = SYMBOL_BITS - word.len as u32;
            let mut at = word.bits << spare;
            while at < (word.bits + 1) << spare {
                symbols[at as usize] = (byte as u16) << 8 | word.len as u16;
                at += 1;
            }
        }
        byte += 1;
    }
    symbols
}

const fn strides() -> [u8; 1 << STRIDE_BITS] {
    const fn first(symbols: &[u16], bits: usize) -> u32 {
        symbols[bits >> (STRIDE_BITS - SYMBOL_BITS)] as u32 & 0xff
    }
    let (mut strides, symbols) = ([0; 1 << STRIDE_BITS], symbols());
    let mut bits = 0;
    while bits < 1 << STRIDE_BITS {
        let one = first(&symbols, bits);
        if one != 0 {
            // The bits behind the first word, then zeros or ones for unknown bits: words are in order of
            // length, so that if both have the same length, so do all in between.
            let low = bits << one & ((1 << STRIDE_BITS) - 1);
            let high = low | ((1 << one) - 1);
            let two = one + first(&symbols, low);
            let is_sure = two > one && two == one + first(&symbols, high);
            let stride = if is_sure && two <= STEP_BITS_MAX {
                2 * ONE_SYMBOL + two
            } else {
                ONE_SYMBOL + one
            };
            strides[bits] = stride as u8;
        }
        bits += 1;
    }
    strides
}

/// The bytes of room that [`decode`] needs for a string of `len` bytes.
pub(crate) const fn room(len: usize) -> usize {
    len * 8 / WORD_BITS_MIN + SYMBOLS_AT_ONCE
}

/// Decodes the first `len` bytes of `input` into `out`, which has [`room`] for them; returns the number
/// of decoded bytes. The bytes behind them do not matter, but may save a copy.
#[inline(never)]
pub(crate) fn decode(input: &[u8], len: usize, out: &mut [u8]) -> Result<usize, DecodeError> {
    let end = len * 8;
    // In bits of the input, and in bytes of the output.
    let (mut at, mut n) = (0, 0);
    while at < end {
        let mut bits = window(input, len, at);
        let (mut sum, mut is_short) = (0, true);
        let Some(out_now) = out[n..].first_chunk_mut::<SYMBOLS_AT_ONCE>() else { break };
        for _ in 0..STEPS {
            let stride = u32::from(STRIDES[(bits >> (64 - STRIDE_BITS)) as usize]);
            let first = SYMBOLS[(bits >> (64 - SYMBOL_BITS)) as usize];
            let second = SYMBOLS[((bits << (first % 64)) >> (64 - SYMBOL_BITS)) as usize];
            // The second symbol counts only if the stride has two, and is overwritten if not.
            let to = (sum / ONE_SYMBOL) as usize % (SYMBOLS_AT_ONCE - 1);
            out_now[to] = (first >> 8) as u8;
            out_now[to + 1] = (second >> 8) as u8;
            is_short = stride != 0;
            sum += stride;
            bits <<= stride % ONE_SYMBOL;
        }
        at += (sum % ONE_SYMBOL) as usize;
        n += (sum / ONE_SYMBOL) as usize;
        if !is_short && at < end {
            if end - at <= PADDING_BITS_MAX {
                return Ok(n);
            }
            let (symbol, word_len) = decode_long_word(window(input, len, at), end - at)?;
            out[n] = symbol;
            at += word_len;
            n += 1;
        }
    }
    if at == end { Ok(n) } else { Err(DecodeError::HuffmanPadding) }
}

/// The bits of the input from bit `at` on: 57 at least, with ones behind the end.
#[inline]
fn window(input: &[u8], len: usize, at: usize) -> u64 {
    let from = &input[at / 8..];
    let bits = match from.first_chunk() {
        Some(eight) => u64::from_be_bytes(*eight),
        None => at_end(from),
    };
    let left = len - at / 8;
    let behind = if left < 8 { u64::MAX >> (8 * left) } else { 0 };
    (bits | behind) << (at % 8)
}

/// Fewer than eight bytes, as the highest bytes of a number.
#[inline(never)]
fn at_end(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |bits, &byte| bits >> 8 | u64::from(byte) << 56)
}

/// Decodes the word of ten bits or more with which `bits` begin, of which `left` are in the string;
/// returns its symbol and length.
#[inline(never)]
fn decode_long_word(bits: u64, left: usize) -> Result<(u8, usize), DecodeError> {
    let bits = (bits >> 32) as u32;
    for (len, row) in CODE.rows.iter().enumerate().skip(LONG_WORD_BITS_MIN) {
        if bits < row.end {
            if len > left {
                return Err(DecodeError::HuffmanPadding);
            }
            let rank = usize::from(row.rank) + ((bits - row.first) >> (32 - len)) as usize;
            return Ok((CODE.symbols[rank], len));
        }
    }
    match left < WORD_BITS_MAX {
        true => Err(DecodeError::HuffmanPaddingTooLong),
        false => Err(DecodeError::HuffmanEos),
    }
}
