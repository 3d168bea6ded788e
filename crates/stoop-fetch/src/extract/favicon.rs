//! The hash by which Shodan and others tell icons apart.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// How many bytes become a line of 76 characters, as RFC 2045 §6.8 has them.
const LINE_BYTES: usize = 57;

/// MurmurHash3 of content in base64, with a line feed after each line.
pub(super) fn favicon_hash(content: &[u8]) -> i32 {
    let mut text = String::with_capacity(content.len() / LINE_BYTES * 77 + 78);
    for line in content.chunks(LINE_BYTES) {
        STANDARD.encode_string(line, &mut text);
        text.push('\n');
    }
    murmur3(text.as_bytes()).cast_signed()
}

/// MurmurHash3_x86_32 with the seed 0, which its author put into the public domain.
fn murmur3(bytes: &[u8]) -> u32 {
    let mixed =
        |block: u32| block.wrapping_mul(0xcc9e_2d51).rotate_left(15).wrapping_mul(0x1b87_3593);
    let (blocks, rest) = bytes.as_chunks::<4>();
    let mut hash = blocks.iter().fold(0_u32, |hash, block| {
        let hash = hash ^ mixed(u32::from_le_bytes(*block));
        hash.rotate_left(13).wrapping_mul(5).wrapping_add(0xe654_6b64)
    });
    let mut last = [0; 4];
    last[..rest.len()].copy_from_slice(rest);
    hash ^= mixed(u32::from_le_bytes(last));
    // The length counts by its last 32 bits.
    hash ^= bytes.len() as u32;
    hash = (hash ^ hash >> 16).wrapping_mul(0x85eb_ca6b);
    hash = (hash ^ hash >> 13).wrapping_mul(0xc2b2_ae35);
    hash ^ hash >> 16
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the package `mmh3` of Python, which wraps the author's own code, says.
    #[test]
    fn murmur3_is_that_of_its_author() {
        for (text, expected) in [
            ("", 0),
            ("ab", 2_613_040_991),
            ("abc", 3_017_643_002),
            ("abcd", 1_139_631_978),
            ("hello", 613_153_351),
            ("hello, world", 345_750_399),
            ("The quick brown fox jumps over the lazy dog", 776_992_547),
        ] {
            assert_eq!(murmur3(text.as_bytes()), expected, "{text}");
        }
    }

    /// `mmh3.hash(base64.encodebytes(content))`.
    #[test]
    fn the_hash_of_an_icon_is_of_its_base64_in_lines() {
        let all: Vec<u8> = (0..=255).collect();
        for (content, expected) in [
            (b"a".to_vec(), -316_242_180),
            (b"x".repeat(56), 1_152_286_540),
            (b"x".repeat(57), -419_094_338),
            (b"x".repeat(58), -160_383_347),
            (all, -757_223_386),
            (b"\0\0\x01\0".repeat(1000), 1_155_029_743),
        ] {
            assert_eq!(favicon_hash(&content), expected, "{} bytes", content.len());
        }
    }
}
