//! Encodes strings in Huffman code.

use super::code::CODE;

/// The number of bytes of `string` in Huffman code, padding included.
pub(crate) fn encoded_len(string: &[u8]) -> usize {
    let bits: usize = string.iter().map(|&byte| usize::from(CODE.words[byte as usize].len)).sum();
    bits.div_ceil(8)
}

/// Appends `string` in Huffman code, padded with ones.
pub(crate) fn encode(string: &[u8], out: &mut Vec<u8>) {
    // `count` bits wait at the low end of `waiting`, fewer than 32 between two symbols.
    let (mut waiting, mut count) = (0_u64, 0);
    for &byte in string {
        let word = CODE.words[byte as usize];
        waiting = waiting << word.len | u64::from(word.bits);
        count += u32::from(word.len);
        if count >= 32 {
            count -= 32;
            out.extend_from_slice(&((waiting >> count) as u32).to_be_bytes());
        }
    }
    let ones = u64::MAX.checked_shr(count).unwrap_or(0);
    let padded = waiting.checked_shl(64 - count).unwrap_or(0) | ones;
    let left = count.div_ceil(8) as usize;
    out.extend_from_slice(&padded.to_be_bytes()[..left]);
}
