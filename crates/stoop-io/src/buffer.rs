//! Receive buffers: pooled per thread, and held by a connection only while something is partial.

use std::cell::RefCell;

use bytes::{Bytes, BytesMut};

/// Bytes in a pooled receive buffer.
pub const CHUNK: usize = 16 * 1024;

/// From this many bytes on, [`ReceiveBuffer::take`] shares its buffer instead of copying: below it, a copy
/// costs less than pinning 16 KiB for as long as the caller keeps the piece.
pub(crate) const SHARE_MIN: usize = 4 * 1024;

/// Buffers that a thread keeps for later, 1 MiB together; others go back to the allocator.
const BUFFERS_KEPT_MAX: usize = 64;

thread_local! {
    static POOL: RefCell<Vec<BytesMut>> = const { RefCell::new(Vec::new()) };
}

fn take_buffer() -> BytesMut {
    POOL.with_borrow_mut(Vec::pop).unwrap_or_else(|| BytesMut::with_capacity(CHUNK))
}

/// Returns a buffer to the pool. One that grew is dropped, and so is one whose bytes are still shared,
/// since the pool does not wait for callers to drop them.
fn return_buffer(mut buffer: BytesMut) {
    buffer.clear();
    if buffer.capacity() < CHUNK && !buffer.try_reclaim(CHUNK) {
        return;
    }
    if buffer.capacity() > 2 * CHUNK {
        return;
    }
    // The thread's pool is gone while the thread ends; then the buffer is simply dropped.
    let _ = POOL.try_with(|pool| {
        let mut pool = pool.borrow_mut();
        if pool.len() < BUFFERS_KEPT_MAX {
            pool.push(buffer);
        }
    });
}

/// The received and not yet consumed bytes of one stream, contiguous.
///
/// Holds a buffer of the thread's pool only while it has bytes.
#[derive(Default)]
pub struct ReceiveBuffer {
    buffer: BytesMut,
    start: usize,
}

impl ReceiveBuffer {
    /// Everything received and not consumed.
    #[inline]
    pub fn received(&self) -> &[u8] {
        &self.buffer[self.start..]
    }

    /// The same bytes, for a caller that changes them in place.
    #[inline]
    pub fn received_mut(&mut self) -> &mut [u8] {
        &mut self.buffer[self.start..]
    }

    /// How many bytes wait.
    #[inline]
    pub fn len(&self) -> usize {
        self.buffer.len() - self.start
    }

    /// Whether none wait.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Forgets the first `n` bytes; with none left the buffer goes back to the pool.
    ///
    /// # Panics
    /// If fewer than `n` bytes wait.
    #[inline]
    pub fn consume(&mut self, n: usize) {
        assert!(n <= self.len(), "consumed more than was received");
        self.start += n;
        self.settle();
    }

    /// Consumes the first `n` bytes and returns them, shared from 4 KiB on when they
    /// are at least a quarter of their buffer.
    ///
    /// # Panics
    /// If fewer than `n` bytes wait.
    pub fn take(&mut self, n: usize) -> Bytes {
        if n < SHARE_MIN || n * 4 < self.buffer.capacity() {
            let piece = Bytes::copy_from_slice(&self.received()[..n]);
            self.consume(n);
            return piece;
        }
        let _ = self.buffer.split_to(self.start);
        self.start = 0;
        let piece = self.buffer.split_to(n).freeze();
        self.settle();
        piece
    }

    /// Room to receive into, so that at most `room` bytes wait afterwards; `None` if that many do.
    ///
    /// Follow it with [`ReceiveBuffer::filled`], or with [`ReceiveBuffer::settle`] if nothing came.
    pub fn spare(&mut self, room: usize) -> Option<&mut [std::mem::MaybeUninit<u8>]> {
        let waiting = self.len();
        let allowed = room.checked_sub(waiting).filter(|&n| n > 0)?;
        if self.buffer.capacity() == 0 {
            self.buffer = take_buffer();
            self.start = 0;
        }
        if self.buffer.capacity() - self.buffer.len() < allowed.min(CHUNK / 4) {
            self.make_room(allowed);
        }
        let spare = self.buffer.spare_capacity_mut();
        let usable = spare.len().min(allowed);
        Some(&mut spare[..usable])
    }

    /// Moves the waiting bytes to the front, into a buffer twice as large if they fill this one.
    fn make_room(&mut self, allowed: usize) {
        let waiting = self.len();
        if self.start > 0 && waiting <= self.buffer.capacity() / 2 {
            self.buffer.copy_within(self.start.., 0);
            self.buffer.truncate(waiting);
            self.start = 0;
            return;
        }
        let capacity = (waiting + allowed.min(waiting.max(CHUNK))).max(CHUNK);
        let mut larger =
            if capacity <= CHUNK { take_buffer() } else { BytesMut::with_capacity(capacity) };
        larger.extend_from_slice(&self.buffer[self.start..]);
        return_buffer(std::mem::replace(&mut self.buffer, larger));
        self.start = 0;
    }

    /// Adds `n` bytes that were written at the front of the last [`ReceiveBuffer::spare`].
    ///
    /// # Safety
    /// The first `n` bytes of the slice that [`ReceiveBuffer::spare`] returned last must be initialised,
    /// and nothing else may have been called on this buffer since.
    #[inline]
    pub unsafe fn filled(&mut self, n: usize) {
        debug_assert!(self.buffer.len() + n <= self.buffer.capacity());
        // SAFETY: `spare` returned the bytes right behind `len`, within the capacity, and the
        // caller initialised the first `n` of them.
        unsafe { self.buffer.set_len(self.buffer.len() + n) };
    }

    /// Appends bytes that came some other way than through [`ReceiveBuffer::spare`].
    pub fn append(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let room = self.len() + bytes.len();
            let Some(spare) = self.spare(room) else { return };
            let n = spare.len().min(bytes.len());
            for (to, from) in spare.iter_mut().zip(bytes) {
                to.write(*from);
            }
            // SAFETY: the loop above initialised the first `n` bytes of the spare slice.
            unsafe { self.filled(n) };
            bytes = &bytes[n..];
        }
    }

    /// Returns the buffer to the pool if no bytes wait.
    #[inline]
    pub fn settle(&mut self) {
        if self.start == self.buffer.len() {
            self.start = 0;
            if self.buffer.capacity() > 0 {
                return_buffer(std::mem::take(&mut self.buffer));
            }
        }
    }
}

impl Drop for ReceiveBuffer {
    fn drop(&mut self) {
        self.start = self.buffer.len();
        self.settle();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_receive_buffer_holds_no_buffer() {
        let mut buffer = ReceiveBuffer::default();
        buffer.append(b"GET / HTTP/1.1");
        assert!(buffer.buffer.capacity() >= CHUNK);
        buffer.consume(4);
        assert_eq!(buffer.received(), b"/ HTTP/1.1");
        buffer.consume(10);
        assert_eq!(buffer.buffer.capacity(), 0);
    }

    #[test]
    fn bytes_stay_contiguous_while_they_grow_past_a_chunk() {
        let mut buffer = ReceiveBuffer::default();
        let all: Vec<u8> = (0..100_000u32).map(|n| n as u8).collect();
        for piece in all.chunks(1000) {
            buffer.append(piece);
        }
        assert_eq!(buffer.received(), &all[..]);
        buffer.consume(99_999);
        buffer.append(b"!");
        assert_eq!(buffer.received(), &[all[99_999], b'!']);
    }

    #[test]
    fn a_receive_buffer_offers_no_more_than_the_room() {
        let mut buffer = ReceiveBuffer::default();
        assert_eq!(buffer.spare(10).unwrap().len(), 10);
        buffer.append(b"0123456789");
        assert!(buffer.spare(10).is_none());
        assert_eq!(buffer.spare(11).unwrap().len(), 1);
    }

    #[test]
    fn large_pieces_are_shared_and_small_ones_copied() {
        let mut buffer = ReceiveBuffer::default();
        buffer.append(&[7; 10_000]);
        let address = buffer.received().as_ptr();
        assert_eq!(buffer.take(5_000).as_ptr(), address);
        let address = buffer.received().as_ptr();
        let small = buffer.take(100);
        assert_ne!(small.as_ptr(), address);
        assert_eq!(small.len(), 100);
        assert_eq!(buffer.len(), 4_900);
    }
}
