//! How many responses are encoded as they are sent.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// A count of what is encoded, and of what was not because that was too much.
#[derive(Default)]
pub(super) struct Encoders {
    count: AtomicUsize,
    refused: AtomicU64,
}

impl Encoders {
    /// Counts one more until what is returned is dropped; none where there are `max` already.
    pub(super) fn enter(self: &Arc<Self>, max: usize) -> Option<EncoderSlot> {
        let enter = |count| (count < max).then_some(count + 1);
        if self.count.fetch_update(Ordering::Relaxed, Ordering::Relaxed, enter).is_ok() {
            return Some(EncoderSlot(self.clone()));
        }
        self.refused.fetch_add(1, Ordering::Relaxed);
        None
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }

    /// How many were not let in.
    pub(super) fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }
}

/// One that is counted.
pub(super) struct EncoderSlot(Arc<Encoders>);

impl Drop for EncoderSlot {
    fn drop(&mut self) {
        self.0.count.fetch_sub(1, Ordering::Relaxed);
    }
}
