//! The content of all bodies, from one static block: nothing is allocated or computed to send one.

use std::sync::LazyLock;

/// Payload in one block. With the chunk framing around it a block is exactly 64 KiB.
const PERIOD_BYTES: usize = 0xfff8;

/// The bytes before and after the payload when the block is sent as one chunk.
const CHUNK_HEAD: &[u8; 6] = b"fff8\r\n";
const CHUNK_END: &[u8; 2] = b"\r\n";

static BLOCK: LazyLock<Box<[u8]>> = LazyLock::new(|| {
    let mut block = Vec::with_capacity(CHUNK_HEAD.len() + PERIOD_BYTES + CHUNK_END.len());
    block.extend_from_slice(CHUNK_HEAD);
    block.extend(std::iter::repeat_n(0, PERIOD_BYTES));
    block.extend_from_slice(CHUNK_END);
    // Marsaglia's xorshift64: pseudo-random bytes do not compress, and any offset looks different.
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    for word in block[CHUNK_HEAD.len()..][..PERIOD_BYTES].chunks_exact_mut(8) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        word.copy_from_slice(&state.to_le_bytes());
    }
    block.into_boxed_slice()
});

/// As much of a body as is contiguous in memory at `offset`, and at most `left` bytes.
pub(crate) fn piece(offset: u64, left: u64) -> &'static [u8] {
    let payload = &BLOCK[CHUNK_HEAD.len()..][..PERIOD_BYTES];
    let at = usize::try_from(offset % PERIOD_BYTES as u64).unwrap_or(0);
    let len = usize::try_from(left).unwrap_or(usize::MAX).min(PERIOD_BYTES - at);
    &payload[at..at + len]
}

/// A whole chunk, framing included, and how many bytes of the body it carries. A body of chunks
/// begins with as many of these as fit.
pub(crate) fn whole_chunk() -> (&'static [u8], u64) {
    (&BLOCK, PERIOD_BYTES as u64)
}

/// Whether `bytes` are what every body of the testbed holds from `offset` on.
///
/// All bodies are a prefix of the same endless sequence of pseudo-random bytes, so a client can
/// check what it received without being told more than the length.
///
/// ```
/// assert!(stoop_testbed::is_body(0, b""));
/// assert!(!stoop_testbed::is_body(0, b"anything else"));
/// ```
pub fn is_body(mut offset: u64, mut bytes: &[u8]) -> bool {
    while !bytes.is_empty() {
        let expected = piece(offset, bytes.len() as u64);
        let (head, rest) = bytes.split_at(expected.len());
        if head != expected {
            return false;
        }
        offset += head.len() as u64;
        bytes = rest;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_chunk_is_64_kib_and_well_framed() {
        let (chunk, payload) = whole_chunk();
        assert_eq!(chunk.len(), 64 * 1024);
        assert!(chunk.starts_with(format!("{payload:x}\r\n").as_bytes()));
        assert!(chunk.ends_with(b"\r\n"));
        assert!(is_body(0, &chunk[6..6 + PERIOD_BYTES]));
    }

    #[test]
    fn pieces_join_at_any_offset() {
        let mut body = Vec::new();
        while body.len() < 200_000 {
            body.extend_from_slice(piece(body.len() as u64, 200_000 - body.len() as u64));
        }
        assert_eq!(body.len(), 200_000);
        assert!(is_body(0, &body));
        assert!(is_body(65_000, &body[65_000..]));
        assert!(!is_body(1, &body));
    }
}
