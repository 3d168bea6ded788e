//! The digest by which a value or a target finds its place among those that are kept.

/// A number made of the lengths of name and value, and of what the value begins and ends with.
#[inline]
pub(super) fn digest(name: &[u8], value: &[u8]) -> u64 {
    let word = |bytes: &[u8; 8]| u64::from_le_bytes(*bytes);
    let (begin, end) = match (value.first_chunk(), value.last_chunk()) {
        (Some(begin), Some(end)) => (word(begin), word(end)),
        _ => (value.iter().fold(0, |all, byte| all << 8 | u64::from(*byte)), 0),
    };
    let lengths = (name.len() as u64) << 32 | value.len() as u64;
    // Both halves of a product, so that the upper bits depend on all of them.
    let fold = |number: u64| {
        let product = u128::from(number) * 0x9E37_79B9_7F4A_7C15;
        product as u64 ^ (product >> 64) as u64
    };
    fold(fold(lengths ^ begin) ^ end)
}
