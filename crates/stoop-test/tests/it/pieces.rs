//! Content that counts how much of it was asked for.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Frame, SizeHint};

/// Bytes of a piece.
pub(crate) const PIECE: usize = 1_000;

/// So many pieces of content, always there.
pub(crate) struct Pieces {
    pub(crate) left: usize,
    pub(crate) asked: Arc<AtomicUsize>,
}

impl http_body::Body for Pieces {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let Some(left) = self.left.checked_sub(1) else { return Poll::Ready(None) };
        self.left = left;
        self.asked.fetch_add(1, Ordering::Relaxed);
        Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(&[b'x'; PIECE])))))
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact((self.left * PIECE) as u64)
    }
}
