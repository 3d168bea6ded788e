//! Message bodies that count what is asked of them, panic, or misstate their length.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Frame, SizeHint};

/// Size of a piece of [`CountedPieces`].
pub(crate) const PIECE_BYTES: usize = 1_000;

/// The result of polling a body for a frame.
pub(crate) type NextFrame = Poll<Option<Result<Frame<Bytes>, Infallible>>>;

/// The next of `left` pieces, of which each is `piece`.
pub(crate) fn next_piece(left: &mut usize, piece: &'static [u8]) -> NextFrame {
    let Some(rest) = left.checked_sub(1) else { return Poll::Ready(None) };
    *left = rest;
    Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(piece)))))
}

/// A body of `left` pieces of [`PIECE_BYTES`], each ready at once, that counts in `asked` how many of them
/// were asked for.
pub(crate) struct CountedPieces {
    pub(crate) left: usize,
    pub(crate) asked: Arc<AtomicUsize>,
}

impl http_body::Body for CountedPieces {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> NextFrame {
        self.asked.fetch_add(usize::from(self.left > 0), Ordering::Relaxed);
        next_piece(&mut self.left, &[b'x'; PIECE_BYTES])
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact((self.left * PIECE_BYTES) as u64)
    }
}

/// A body that panics when it is asked for its `n`-th piece or, if that is 0, for its size.
pub(crate) struct PanickingBody(pub(crate) u32);

impl http_body::Body for PanickingBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> NextFrame {
        self.0 = self.0.checked_sub(1).expect("more");
        assert!(self.0 > 0, "as planned");
        Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(b"x")))))
    }

    fn size_hint(&self) -> SizeHint {
        if self.0 == 0 {
            panic!("as planned");
        }
        SizeHint::default()
    }
}

/// A body that says that it has `announced` bytes, and has `left` times the bytes of `piece`.
pub(crate) struct MisstatedLength {
    pub(crate) announced: u64,
    pub(crate) piece: &'static str,
    pub(crate) left: usize,
}

impl http_body::Body for MisstatedLength {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> NextFrame {
        let piece = self.piece.as_bytes();
        next_piece(&mut self.left, piece)
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.announced)
    }
}
