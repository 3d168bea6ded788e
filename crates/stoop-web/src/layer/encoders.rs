//! How many responses are encoded as they are sent.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body::Frame;
use stoop::Body;

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

/// Content whose length is not known, and which may count as encoded until it ends.
pub(super) struct Unsized {
    pub(super) inner: Body,
    pub(super) slot: Option<EncoderSlot>,
}

impl http_body::Body for Unsized {
    type Data = Bytes;
    type Error = stoop::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, stoop::Error>>> {
        let frame = ready!(Pin::new(&mut self.inner).poll_frame(cx));
        if frame.is_none() {
            self.slot = None;
        }
        Poll::Ready(frame)
    }
}
