//! Receive buffers from which the kernel chooses one when bytes arrive.

use std::alloc::{Layout, alloc_zeroed, handle_alloc_error};
use std::io;
use std::sync::atomic::{AtomicU16, Ordering};

use io_uring::Submitter;
use io_uring::types::BufRingEntry;

/// The only group of buffers.
pub(crate) const GROUP: u16 = 0;
/// A power of two, and more than the receives in flight with the loads here.
const COUNT: u16 = 2048;
/// Room for a browser's request, and for most of sixteen pipelined ones.
const BYTES: usize = 4096;
const PAGE: usize = 4096;

/// The buffers, and the ring by which the kernel gets them.
pub(crate) struct Buffers {
    ring: *mut BufRingEntry,
    bytes: Box<[u8]>,
    tail: u16,
}

impl Buffers {
    /// Registers all buffers with the kernel. They live as long as the process does.
    pub(crate) fn register(submitter: &Submitter<'_>) -> io::Result<Self> {
        let layout = Layout::array::<BufRingEntry>(COUNT.into())
            .and_then(|layout| layout.align_to(PAGE))
            .map_err(io::Error::other)?;
        // SAFETY: the layout is not empty.
        let ring = unsafe { alloc_zeroed(layout) }.cast::<BufRingEntry>();
        if ring.is_null() {
            handle_alloc_error(layout);
        }
        let bytes = vec![0; usize::from(COUNT) * BYTES].into_boxed_slice();
        let mut buffers = Self { ring, bytes, tail: 0 };
        // SAFETY: the ring is a page-aligned array of COUNT entries that is never freed.
        unsafe { submitter.register_buf_ring_with_flags(ring as u64, COUNT, GROUP, 0) }?;
        (0..COUNT).for_each(|id| buffers.push(id));
        buffers.publish();
        Ok(buffers)
    }

    /// The bytes received into a buffer.
    pub(crate) fn received(&self, id: u16, count: usize) -> &[u8] {
        let start = usize::from(id) * BYTES;
        &self.bytes[start..start + count.min(BYTES)]
    }

    /// Queues a buffer to be given back by [`Self::publish`].
    pub(crate) fn push(&mut self, id: u16) {
        let slot = usize::from(self.tail & (COUNT - 1));
        let address = self.bytes[usize::from(id) * BYTES..].as_ptr();
        // SAFETY: `slot` is below COUNT, and the kernel reads the entry only when the tail that is
        // published has passed it. The first entry shares its memory with the tail, which the
        // setters leave alone.
        let entry = unsafe { &mut *self.ring.add(slot) };
        entry.set_addr(address as u64);
        entry.set_len(BYTES as u32);
        entry.set_bid(id);
        self.tail = self.tail.wrapping_add(1);
    }

    /// Gives the queued buffers to the kernel.
    pub(crate) fn publish(&self) {
        // SAFETY: `ring` is the first entry of the ring, in which the tail lies, aligned for u16.
        let tail = unsafe { AtomicU16::from_ptr(BufRingEntry::tail(self.ring).cast_mut()) };
        tail.store(self.tail, Ordering::Release);
    }
}
