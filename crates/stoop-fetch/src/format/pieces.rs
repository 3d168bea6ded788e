//! Writes in pieces of a moderate size.

use std::io::{self, Write};

/// For a larger write the kernel takes larger blocks of memory, which in a virtual machine often have to come from the
/// host first: measured, 1 GiB in writes of 64 MiB took up to five times the CPU time of writes of 256 KiB.
const PIECE_BYTES: usize = 256 << 10;

/// Writes all of `bytes`, and returns how many they are.
pub(super) fn write_all(file: &mut dyn Write, bytes: &[u8]) -> io::Result<u64> {
    bytes.chunks(PIECE_BYTES).try_for_each(|piece| file.write_all(piece))?;
    Ok(bytes.len() as u64)
}
