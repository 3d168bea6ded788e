//! The Huffman code for strings (RFC 7541 §5.2 and Appendix B).
//!
//! - `code`: the code, from the lengths of its words
//! - `decode`: decodes by two small tables, one symbol or two a step
//! - `encode`: encodes symbol by symbol

mod code;
mod decode;
mod encode;

pub(super) use decode::{decode, room};
pub(super) use encode::{encode, encoded_len};

#[cfg(test)]
mod tests {
    use super::code::{CODE, WORD_BITS_MAX};
    use super::*;
    use crate::hpack::DecodeError;
    use crate::hpack::DecodeError::{HuffmanEos, HuffmanPadding, HuffmanPaddingTooLong};

    fn encoded(string: &[u8]) -> Vec<u8> {
        let mut out = vec![b'<'];
        encode(string, &mut out);
        assert_eq!(out.len() - 1, encoded_len(string));
        out.split_off(1)
    }

    /// The result of `decode`, which must be the same with and without bytes behind the string.
    fn decoded(wire: &[u8]) -> Result<Vec<u8>, DecodeError> {
        let decode = |input: &[u8]| {
            let mut out = vec![0; room(wire.len())];
            let len = decode(input, wire.len(), &mut out)?;
            out.truncate(len);
            Ok(out)
        };
        let alone = decode(wire);
        for behind in [0, 0x55, 0xff] {
            assert_eq!(decode(&[wire, &[behind; 9]].concat()), alone, "before {behind:x}");
        }
        alone
    }

    /// The result of a simple decoder, bit by bit and word by word.
    fn by_bits(wire: &[u8]) -> Result<Vec<u8>, DecodeError> {
        let mut bits = wire.iter().flat_map(|byte| (0..8).rev().map(move |bit| byte >> bit & 1));
        let mut out = Vec::new();
        loop {
            let (mut word, mut len) = (0_u32, 0);
            let symbol = loop {
                let Some(bit) = bits.next() else {
                    let is_eos = word == (1 << len) - 1;
                    return match is_eos {
                        true if len <= 7 => Ok(out),
                        true => Err(HuffmanPaddingTooLong),
                        false => Err(HuffmanPadding),
                    };
                };
                (word, len) = (word << 1 | u32::from(bit), len + 1);
                if len == WORD_BITS_MAX && word == (1 << WORD_BITS_MAX) - 1 {
                    return Err(HuffmanEos);
                }
                let mut words = CODE.words.iter();
                if let Some(symbol) =
                    words.position(|of| usize::from(of.len) == len && of.bits == word)
                {
                    break symbol;
                }
            };
            out.push(symbol as u8);
        }
    }

    /// Bits, written as `0` and `1`, padded with ones.
    fn bits(text: &str) -> Vec<u8> {
        let bits: Vec<u8> = text.bytes().filter(|byte| matches!(byte, b'0' | b'1')).collect();
        let byte = |bits: &[u8]| {
            (0..8).fold(0, |byte, at| byte << 1 | u8::from(bits.get(at) != Some(&b'0')))
        };
        bits.chunks(8).map(byte).collect()
    }

    #[test]
    fn the_code_has_the_words_of_the_appendix() {
        for (symbol, len, word) in [
            (0, 13, 0x1ff8),
            (1, 23, 0x7f_ffd8),
            (9, 24, 0xff_ffea),
            (10, 30, 0x3fff_fffc),
            (22, 30, 0x3fff_fffe),
            (b'0', 5, 0x0),
            (b't', 5, 0x9),
            (b' ', 6, 0x14),
            (b':', 7, 0x5c),
            (b'&', 8, 0xf8),
            (b'!', 10, 0x3f8),
            (b'|', 11, 0x7fc),
            (b'#', 12, 0xffa),
            (b'~', 13, 0x1ffd),
            (b'}', 14, 0x3ffd),
            (b'{', 15, 0x7ffe),
            (b'\\', 19, 0x7_fff0),
            (127, 28, 0xfff_fffc),
            (128, 20, 0xf_ffe6),
            (195, 19, 0x7_fff1),
            (199, 25, 0x1ff_ffec),
            (249, 28, 0xfff_fffe),
            (255, 26, 0x3ff_ffee),
        ] {
            let of = CODE.words[usize::from(symbol)];
            assert_eq!((of.len, of.bits), (len, word), "{symbol}");
        }
    }

    #[test]
    fn every_symbol_comes_back_wherever_it_stands() {
        for symbol in 0..=255 {
            for before in 0..12 {
                for after in 0..12 {
                    let string = [vec![b'0'; before], vec![symbol; 3], vec![b'w'; after]].concat();
                    let wire = encoded(&string);
                    assert_eq!(decoded(&wire), Ok(string.clone()));
                    assert_eq!(by_bits(&wire), Ok(string));
                }
            }
        }
    }

    #[test]
    fn every_pair_of_symbols_comes_back() {
        let mut out = vec![0; room(16)];
        for first in 0..=255 {
            for second in 0..=255 {
                for string in [[first, second, b'0', b'z'], [b'&', first, second, b'5']] {
                    let wire = encoded(&string);
                    let len = decode(&wire, wire.len(), &mut out).unwrap();
                    assert_eq!(out[..len], string);
                }
            }
        }
    }

    #[test]
    fn random_bytes_decode_as_bit_by_bit() {
        let mut state = 1_u32;
        let mut next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) as usize
        };
        let (mut right, mut wrong) = (0, 0);
        for round in 0..20_000 {
            let len = next() % 24;
            let wire: Vec<u8> = match round % 4 {
                0 => (0..len).map(|_| next() as u8).collect(),
                // Many ones, for the long words.
                1 => (0..len).map(|_| (next() | next() | next()) as u8).collect(),
                2 => encoded(&(0..len).map(|_| next() as u8).collect::<Vec<_>>()),
                _ => {
                    let mut wire = encoded(&vec![b'a' + next() as u8 % 26; len]);
                    wire.truncate(next() % 24);
                    wire
                }
            };
            let expected = by_bits(&wire);
            assert_eq!(decoded(&wire), expected, "{wire:x?}");
            if expected.is_ok() { right += 1 } else { wrong += 1 }
        }
        assert!(right > 5_000 && wrong > 5_000, "{right} {wrong}");
    }

    /// RFC 7541 §5.2: "a padding strictly longer than 7 bits MUST be treated as a decoding error"
    #[test]
    fn padding_has_at_most_seven_bits() {
        // Words of 5 to 8 bits leave every length of padding.
        for string in ["", "00000000", "0www", "000www0", "00", "0w", "w", "000", "&", "0"] {
            let wire = encoded(string.as_bytes());
            assert_eq!(decoded(&wire), Ok(string.as_bytes().to_vec()));
            for more in 1..3 {
                let wire = [wire.clone(), vec![0xff; more]].concat();
                assert_eq!(decoded(&wire), Err(HuffmanPaddingTooLong), "{string} and {more}");
            }
        }
        assert_eq!(decoded(&bits("11111111")), Err(HuffmanPaddingTooLong));
        assert_eq!(decoded(&bits("00011 1111111 1111")), Err(HuffmanPaddingTooLong));
    }

    /// RFC 7541 §5.2: "A padding not corresponding to the most significant bits of the code for the
    /// EOS symbol MUST be treated as a decoding error."
    #[test]
    fn padding_has_only_ones() {
        for wire in [
            "00011 110",
            "00011 011",
            "00011 101",
            "00011 000",
            "0000000",
            "1111000 0",
            "11111110",
            "1111111 0",
            "00011 111 11111110",
            "1111111111111111 11110111",
        ] {
            assert_eq!(decoded(&bits(wire)), Err(HuffmanPadding), "{wire}");
            assert_eq!(by_bits(&bits(wire)), Err(HuffmanPadding), "{wire}");
        }
    }

    /// RFC 7541 §5.2: "A Huffman-encoded string literal containing the EOS symbol MUST be treated as a
    /// decoding error."
    #[test]
    fn eos_is_refused() {
        for wire in [
            "111111111111111111111111111111 11",
            "00011 111111111111111111111111111111 00011",
            "00011 00011 111111111111111111111111111111",
        ] {
            assert_eq!(decoded(&bits(wire)), Err(HuffmanEos));
        }
        assert_eq!(decoded(&[0xff; 3]), Err(HuffmanPaddingTooLong));
        assert_eq!(decoded(&[0xff; 4]), Err(HuffmanEos));
    }
}
