//! A hash to find lines of the dynamic table by. Equal hashes are always followed by a comparison, so
//! that one that a peer can foresee costs time, of which the table's size is the bound, and no more.

/// Odd, and of no pattern: the golden ratio, as most such hashes have it.
const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;

/// The hash of `bytes`, behind what `seed` is the hash of.
#[inline]
pub(super) fn of(seed: u64, bytes: &[u8]) -> u64 {
    let mut hash = mix(seed, bytes.len() as u64);
    let (eights, rest) = bytes.as_chunks::<8>();
    for eight in eights {
        hash = mix(hash, u64::from_le_bytes(*eight));
    }
    match bytes.last_chunk::<8>() {
        // Some of them a second time, which does no harm.
        Some(eight) if !rest.is_empty() => mix(hash, u64::from_le_bytes(*eight)),
        Some(_) => hash,
        None => mix(hash, rest.iter().fold(0, |word, &byte| word << 8 | u64::from(byte))),
    }
}

#[inline]
const fn mix(hash: u64, word: u64) -> u64 {
    let mixed = (hash ^ word).wrapping_mul(MULTIPLIER);
    mixed ^ mixed >> 32
}

/// The part of a hash that is kept.
#[inline]
pub(super) const fn short(hash: u64) -> u32 {
    hash as u32
}
