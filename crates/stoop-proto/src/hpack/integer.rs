//! Reads and writes integers (RFC 7541 §5.1): a value that fits is in the prefix of a byte, the rest of a
//! larger one behind it in groups of seven bits, the lowest first.
//!
//! The format allows an encoder to pad with any number of zeros. 32 bits need at most five bytes, and no
//! more are read.

use crate::hpack::DecodeError;

/// The number of bytes behind the prefix that hold 32 bits.
const BYTES_MAX: usize = 5;

/// Reads an integer whose prefix is the low `bits` bits of `first`, and removes its other bytes from the
/// front of `rest`.
#[inline]
pub(super) fn read(first: u8, bits: u32, rest: &mut &[u8]) -> Result<u32, DecodeError> {
    let prefix_max = 0xff >> (8 - bits);
    let prefix = first & prefix_max;
    if prefix < prefix_max { Ok(u32::from(prefix)) } else { read_long(prefix, rest) }
}

fn read_long(prefix: u8, rest: &mut &[u8]) -> Result<u32, DecodeError> {
    let mut value = u64::from(prefix);
    for (at, &byte) in rest.iter().take(BYTES_MAX).enumerate() {
        value += u64::from(byte & 0x7f) << (7 * at);
        if byte & 0x80 == 0 {
            *rest = &rest[at + 1..];
            return u32::try_from(value).map_err(|_| DecodeError::Integer);
        }
    }
    Err(if rest.len() < BYTES_MAX { DecodeError::Truncated } else { DecodeError::Integer })
}

/// Writes an integer with `flags` in its first byte, whose low `bits` bits are free.
#[inline]
pub(super) fn write(flags: u8, bits: u32, value: usize, out: &mut Vec<u8>) {
    let prefix_max = (1 << bits) - 1;
    if value < prefix_max {
        out.push(flags | value as u8);
        return;
    }
    out.push(flags | prefix_max as u8);
    let mut left = value - prefix_max;
    while left >= 0x80 {
        out.push(left as u8 | 0x80);
        left >>= 7;
    }
    out.push(left as u8);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_all(bits: u32, wire: &[u8]) -> Result<(u32, usize), DecodeError> {
        let (first, mut rest) = wire.split_first().unwrap();
        read(*first, bits, &mut rest).map(|value| (value, wire.len() - rest.len()))
    }

    /// RFC 7541 §C.1.1 to §C.1.3
    #[test]
    fn the_examples_of_the_appendix_are_written_and_read() {
        for (bits, value, wire) in
            [(5, 10, &[0b01010][..]), (5, 1337, &[0b11111, 0b1001_1010, 0b1010]), (8, 42, &[42])]
        {
            let mut out = Vec::new();
            write(0, bits, value, &mut out);
            assert_eq!(out, wire);
            assert_eq!(read_all(bits, wire), Ok((value as u32, wire.len())));
        }
    }

    #[test]
    fn a_written_integer_is_read_back() {
        for bits in 4..=7 {
            let edges = (0..32).flat_map(|shift| {
                let edge = 1_u64 << shift;
                (edge.saturating_sub(20)..edge + 20).chain([edge + (1 << bits) - 2])
            });
            for value in edges.chain([u64::from(u32::MAX)]).filter(|&v| v <= u64::from(u32::MAX)) {
                let flags = 0xff << bits;
                let mut out = Vec::new();
                write(flags as u8, bits, value as usize, &mut out);
                assert_eq!(out[0] >> bits, (flags as u8) >> bits);
                out.push(0xff);
                assert_eq!(read_all(bits, &out), Ok((value as u32, out.len() - 1)), "{bits}");
            }
        }
    }

    #[test]
    fn zeros_may_pad_up_to_five_bytes() {
        assert_eq!(read_all(7, b"\x7f\x00"), Ok((127, 2)));
        assert_eq!(read_all(7, b"\x7f\x80\x80\x80\x80\x00"), Ok((127, 6)));
        assert_eq!(read_all(7, b"\x7f\x80\x80\x80\x80\x80\x00"), Err(DecodeError::Integer));
        assert_eq!(read_all(7, b"\x7f\x80\x80\x80\x80\x80"), Err(DecodeError::Integer));
    }

    #[test]
    fn an_integer_beyond_32_bits_is_refused() {
        // 2^32 - 1 = 127 + (15 << 28 | 0xfffff80)
        assert_eq!(read_all(7, b"\x7f\x80\xff\xff\xff\x0f"), Ok((u32::MAX, 6)));
        assert_eq!(read_all(7, b"\x7f\x81\xff\xff\xff\x0f"), Err(DecodeError::Integer));
        assert_eq!(read_all(4, b"\x0f\xff\xff\xff\xff\x7f"), Err(DecodeError::Integer));
        assert_eq!(read_all(5, b"\x1f\xff\xff\xff\xff\xff\xff"), Err(DecodeError::Integer));
    }

    #[test]
    fn a_truncated_integer_is_refused() {
        for wire in [&b"\x7f"[..], b"\x7f\x80", b"\x7f\xff\xff\xff\xff"] {
            assert_eq!(read_all(7, wire), Err(DecodeError::Truncated));
        }
    }
}
