//! Buffers for sealed records, pooled per thread and always initialised: a record is written into
//! one and handed to the transport, and the buffer returns to the pool once the bytes were sent.

use std::cell::RefCell;

use super::limits::{RECORD_BYTES, RECORDS_KEPT_MAX};

thread_local! {
    static POOL: RefCell<Vec<Vec<u8>>> = const { RefCell::new(Vec::new()) };
}

/// A buffer of which the first `len` bytes are a record.
pub(super) struct RecordBuffer {
    buffer: Vec<u8>,
    len: usize,
}

impl RecordBuffer {
    /// A buffer for one full record.
    pub(super) fn from_pool() -> Self {
        let buffer = POOL.with_borrow_mut(Vec::pop).unwrap_or_else(|| vec![0; RECORD_BYTES]);
        Self { buffer, len: 0 }
    }

    /// The whole buffer, to write into.
    pub(super) fn space(&mut self) -> &mut [u8] {
        &mut self.buffer
    }

    /// Makes the space at least `bytes` long. Such a buffer is not pooled afterwards.
    pub(super) fn grow(&mut self, bytes: usize) {
        self.buffer.resize(bytes.max(RECORD_BYTES), 0);
    }

    /// The first `len` bytes are the record now.
    pub(super) fn set_len(&mut self, len: usize) {
        self.len = len;
    }
}

impl AsRef<[u8]> for RecordBuffer {
    fn as_ref(&self) -> &[u8] {
        &self.buffer[..self.len]
    }
}

impl Drop for RecordBuffer {
    fn drop(&mut self) {
        if self.buffer.len() != RECORD_BYTES {
            return;
        }
        let buffer = std::mem::take(&mut self.buffer);
        // The thread's pool is gone while the thread ends; then the buffer is simply dropped.
        let _ = POOL.try_with(|pool| {
            let mut pool = pool.borrow_mut();
            if pool.len() < RECORDS_KEPT_MAX {
                pool.push(buffer);
            }
        });
    }
}
