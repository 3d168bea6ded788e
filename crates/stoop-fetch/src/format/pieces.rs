//! Writes in pieces of a moderate size.

use std::io::{self, Write};

/// The kernel keeps the bytes of a larger write in larger blocks of memory, which it has to look for and a virtual
/// machine often has to ask its host for: a write of 64 MiB took up to five times as long, and as its parts 1.0 times.
const PIECE_BYTES: usize = 256 << 10;

/// Writes all of `bytes`.
pub(super) fn write_all(writer: &mut impl Write, bytes: &[u8]) -> io::Result<()> {
    bytes.chunks(PIECE_BYTES).try_for_each(|piece| writer.write_all(piece))
}
