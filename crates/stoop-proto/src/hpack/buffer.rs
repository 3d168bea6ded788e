//! [`Buffer`]: the bytes of the dynamic table, in the order in which they came.
//!
//! Bytes are added at the end and released at the front. Released bytes are dropped in one move, when
//! they are as many as those left or the buffer would grow beyond its limit, so that each byte is moved
//! about once.

/// The initial capacity of a buffer, unless its limit is less.
const CAPACITY_MIN: usize = 512;

/// The buffer of one dynamic table.
#[derive(Clone)]
pub(super) struct Buffer {
    bytes: Vec<u8>,
    /// The position of the first byte.
    base: u32,
}

/// The span of a string in a buffer. Its position counts all bytes ever added, modulo 2^32, so that it
/// stays the same when they move.
#[derive(Clone, Copy)]
pub(super) struct BufferSpan {
    pub(super) at: u32,
    pub(super) len: u32,
}

impl Buffer {
    pub(super) const fn new() -> Self {
        Self { bytes: Vec::new(), base: 0 }
    }

    #[inline]
    fn index(&self, at: u32) -> usize {
        at.wrapping_sub(self.base) as usize
    }

    /// The bytes of a span.
    #[inline]
    pub(super) fn text(&self, BufferSpan { at, len }: BufferSpan) -> &[u8] {
        let start = self.index(at);
        &self.bytes[start..start + len as usize]
    }

    /// The position behind the last byte.
    #[inline]
    pub(super) fn end(&self) -> u32 {
        self.base.wrapping_add(self.bytes.len() as u32)
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Adds a copy of the bytes of a span.
    pub(super) fn push_copy(&mut self, BufferSpan { at, len }: BufferSpan) {
        let start = self.index(at);
        self.bytes.extend_from_within(start..start + len as usize);
    }

    /// Whether there is room for `len` bytes without more memory.
    #[inline]
    pub(super) fn has_room(&self, len: usize) -> bool {
        len <= self.bytes.capacity() - self.bytes.len()
    }

    /// Makes room for `len` bytes, by dropping those before `front` or by growing. The limit has room
    /// for them and those that are left.
    #[cold]
    pub(super) fn make_room(&mut self, len: usize, front: u32, capacity_max: usize) {
        if 2 * self.index(front) >= self.bytes.len() || self.bytes.len() + len > capacity_max {
            self.drop_before(front);
        }
        if !self.has_room(len) {
            let needed = self.bytes.len() + len;
            let capacity = needed.max(2 * self.bytes.capacity()).max(CAPACITY_MIN);
            self.bytes.reserve_exact(capacity.min(capacity_max) - self.bytes.len());
        }
    }

    /// Frees memory beyond a limit, which has room for the bytes from `front` on.
    pub(super) fn shrink(&mut self, front: u32, capacity_max: usize) {
        if self.bytes.capacity() > capacity_max {
            self.drop_before(front);
            self.bytes.shrink_to(capacity_max);
        }
    }

    fn drop_before(&mut self, front: u32) {
        let index = self.index(front);
        self.bytes.drain(..index);
        self.base = front;
    }

    #[cfg(test)]
    pub(super) fn capacity(&self) -> usize {
        self.bytes.capacity()
    }

    #[cfg(test)]
    pub(super) fn begin_at(&mut self, base: u32) {
        self.base = base;
    }
}
