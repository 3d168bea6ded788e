//! The Huffman code of RFC 7541 Appendix B, given by the lengths of its words.
//!
//! The code is canonical: words are numbered by length, and within a length by symbol, so that the
//! lengths define it. All tables are computed from them at compile time.

/// The number of symbols without EOS, the last one.
pub(super) const BYTES: usize = 256;

/// Bits of the longest words, of which EOS is one.
pub(super) const WORD_BITS_MAX: usize = 30;

/// The number of bits of each symbol's word, EOS included.
#[rustfmt::skip]
const LENGTHS: [u8; BYTES + 1] = [
    13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28,
    28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 28,
     6, 10, 10, 12, 13,  6,  8, 11, 10, 10,  8, 11,  8,  6,  6,  6,
     5,  5,  5,  6,  6,  6,  6,  6,  6,  6,  7,  8, 15,  6, 12, 10,
    13,  6,  7,  7,  7,  7,  7,  7,  7,  7,  7,  7,  7,  7,  7,  7,
     7,  7,  7,  7,  7,  7,  7,  7,  8,  7,  8, 13, 19, 13, 14,  6,
    15,  5,  6,  5,  6,  5,  6,  6,  6,  5,  7,  7,  6,  6,  6,  5,
     6,  7,  6,  5,  5,  6,  7,  7,  7,  7,  7, 15, 11, 14, 13, 28,
    20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23,
    24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24,
    22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23,
    21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23,
    26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25,
    19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27,
    20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23,
    26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26,
    30,
];

/// A symbol's word: its bits, at the low end, and their number.
#[derive(Clone, Copy)]
pub(super) struct Word {
    pub(super) bits: u32,
    pub(super) len: u8,
}

/// The words of one length. They are consecutive, as are their symbols in [`HuffmanCode::symbols`].
#[derive(Clone, Copy)]
pub(super) struct LengthRow {
    /// The first word and the one after the last, each shifted to the high end of 32 bits. If there are no
    /// words of this length, both are the one after the last shorter one.
    pub(super) first: u32,
    pub(super) end: u32,
    /// The index of the first word's symbol in [`HuffmanCode::symbols`].
    pub(super) rank: u8,
}

/// The code: its words by symbol and by length.
pub(super) struct HuffmanCode {
    pub(super) words: [Word; BYTES],
    /// The bytes in the order of their words.
    pub(super) symbols: [u8; BYTES],
    /// The words by length. EOS is in no row: it is beyond all.
    pub(super) rows: [LengthRow; WORD_BITS_MAX + 1],
}

pub(super) static CODE: HuffmanCode = code();

pub(super) const fn code() -> HuffmanCode {
    let mut code = HuffmanCode {
        words: [Word { bits: 0, len: 0 }; BYTES],
        symbols: [0; BYTES],
        rows: [LengthRow { first: 0, end: 0, rank: 0 }; WORD_BITS_MAX + 1],
    };
    let (mut len, mut next, mut rank) = (1, 0_u32, 0);
    while len <= WORD_BITS_MAX {
        let high = 32 - len;
        code.rows[len].first = next << high;
        code.rows[len].rank = rank as u8;
        let mut byte = 0;
        while byte < BYTES {
            if LENGTHS[byte] as usize == len {
                code.words[byte] = Word { bits: next, len: len as u8 };
                code.symbols[rank] = byte as u8;
                next += 1;
                rank += 1;
            }
            byte += 1;
        }
        code.rows[len].end = next << high;
        next <<= 1;
        len += 1;
    }
    // The code is complete: after the last byte's word one of 30 bits is left, which is EOS.
    assert!(rank == BYTES && next == (1 << (WORD_BITS_MAX + 1)) - 2);
    code
}
