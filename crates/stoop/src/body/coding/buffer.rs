//! Buffers that content is decoded into, used again: each is filled with zeros once, and not for each piece.

use std::cell::RefCell;

use bytes::Bytes;

/// Bytes of a buffer, and so of the largest piece. zlib keeps the last 32 KiB of each call's output by copying it: a piece
/// of 32 KiB would be copied whole.
const BUFFER_BYTES: usize = 64 * 1024;

/// A shorter piece is copied, so that it does not keep a buffer.
const SHARED_BYTES_MIN: usize = 16 * 1024;

/// Buffers that a thread keeps.
const FREE_MAX: usize = 4;

thread_local! {
    static FREE: RefCell<Vec<Box<[u8]>>> = const { RefCell::new(Vec::new()) };
}

/// A buffer for one piece, which returns to the thread's when it is dropped.
pub(super) struct DecodeBuffer(Box<[u8]>);

impl DecodeBuffer {
    pub(super) fn take() -> Self {
        let free = FREE.try_with(|free| free.borrow_mut().pop()).ok().flatten();
        Self(free.unwrap_or_else(|| vec![0; BUFFER_BYTES].into()))
    }

    /// All of it, with whatever it held before.
    pub(super) fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.0
    }

    /// The first `len` bytes.
    pub(super) fn into_bytes(self, len: usize) -> Bytes {
        match len {
            ..SHARED_BYTES_MIN => Bytes::copy_from_slice(&self.0[..len]),
            _ => Bytes::from_owner(DecodedPiece { buffer: self, len }),
        }
    }
}

impl Drop for DecodeBuffer {
    fn drop(&mut self) {
        let buffer = std::mem::take(&mut self.0);
        let _ = FREE.try_with(|free| {
            let mut free = free.borrow_mut();
            if free.len() < FREE_MAX {
                free.push(buffer);
            }
        });
    }
}

/// The first bytes of a buffer.
struct DecodedPiece {
    buffer: DecodeBuffer,
    len: usize,
}

impl AsRef<[u8]> for DecodedPiece {
    fn as_ref(&self) -> &[u8] {
        &self.buffer.0[..self.len]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn free() -> usize {
        FREE.with(|free| free.borrow().len())
    }

    #[test]
    fn a_large_piece_keeps_its_buffer_and_a_short_one_is_copied() {
        let mut buffer = DecodeBuffer::take();
        buffer.bytes_mut()[..3].copy_from_slice(b"abc");
        let short = buffer.into_bytes(3);
        assert_eq!((&*short, free()), (&b"abc"[..], 1));
        let large = DecodeBuffer::take().into_bytes(SHARED_BYTES_MIN);
        assert_eq!((large.len(), free()), (SHARED_BYTES_MIN, 0));
        drop(large);
        assert_eq!(free(), 1);
    }

    #[test]
    fn a_thread_keeps_few_buffers() {
        drop((0..9).map(|_| DecodeBuffer::take()).collect::<Vec<_>>());
        assert_eq!(free(), FREE_MAX);
    }
}
