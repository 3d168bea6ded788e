//! Content on its way out over a stream: asked of its maker piece by piece, and sent as windows allow.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::Body;
use stoop_proto::Fields;

use crate::body::from_map;

/// What of some content is not sent yet.
pub(crate) struct Outflow<M> {
    /// Makes more of it; none once it has ended.
    maker: Option<M>,
    /// What was made and not sent.
    piece: Bytes,
    trailers: Option<Box<Fields>>,
}

/// What came of asking for more.
pub(crate) enum Made<E> {
    /// Nothing yet: the waker is woken once there is something.
    Pending,
    /// A piece to be sent.
    Piece,
    /// No more, but perhaps trailers.
    End,
    /// The content failed.
    Failed(E),
    /// Its maker panicked. What it said was shown by the program's panic hook.
    Panicked,
}

/// A piece to be sent, cut to what may be.
pub(crate) struct Cut {
    pub(crate) piece: Bytes,
    /// There is nothing made behind it.
    pub(crate) is_over: bool,
    /// There is nothing behind it.
    pub(crate) is_last: bool,
}

impl<M: Body<Data = Bytes> + Unpin> Outflow<M> {
    /// Content that somebody makes.
    pub(crate) fn made_by(maker: M) -> Self {
        Self { maker: Some(maker), piece: Bytes::new(), trailers: None }
    }

    /// Content that is there.
    pub(crate) fn of(piece: Bytes) -> Self {
        Self { maker: None, piece, trailers: None }
    }

    /// Whether its maker is to be asked for more before anything can be sent.
    pub(crate) fn is_dry(&self) -> bool {
        self.piece.is_empty() && self.maker.is_some()
    }

    /// Whether something was made and not sent.
    pub(crate) fn has_piece(&self) -> bool {
        !self.piece.is_empty()
    }

    /// Asks for the next piece.
    pub(crate) fn make(&mut self, cx: &mut Context<'_>) -> Made<M::Error> {
        let Some(maker) = &mut self.maker else { return Made::Pending };
        // Somebody else's code: that it panics is no reason to fail everybody's exchanges.
        let polled = catch_unwind(AssertUnwindSafe(|| Pin::new(&mut *maker).poll_frame(cx)));
        let frame = match polled {
            Ok(Poll::Pending) => return Made::Pending,
            Ok(Poll::Ready(None)) => return Made::End,
            Ok(Poll::Ready(Some(Err(error)))) => return Made::Failed(error),
            Ok(Poll::Ready(Some(Ok(frame)))) => frame,
            Err(_) => return Made::Panicked,
        };
        match frame.into_data() {
            Ok(piece) => {
                let is_end = catch_unwind(AssertUnwindSafe(|| maker.is_end_stream()));
                let Ok(is_end) = is_end else { return Made::Panicked };
                if is_end {
                    self.maker = None;
                }
                self.piece = piece;
                match (self.piece.is_empty(), is_end) {
                    (false, _) => Made::Piece,
                    (true, true) => Made::End,
                    (true, false) => {
                        // It is asked again in its turn, for others to have theirs.
                        cx.waker().wake_by_ref();
                        Made::Pending
                    }
                }
            }
            Err(frame) => {
                let mut trailers = Fields::new();
                if let Ok(map) = frame.into_trailers() {
                    from_map(&map, &mut trailers);
                }
                self.trailers = Some(Box::new(trailers));
                Made::End
            }
        }
    }

    /// Takes of what was made what may be sent.
    pub(crate) fn cut(&mut self, max: usize) -> Cut {
        let piece = self.piece.split_to(self.piece.len().min(max));
        let is_over = self.piece.is_empty();
        Cut { piece, is_over, is_last: is_over && self.maker.is_none() }
    }

    pub(crate) fn take_trailers(&mut self) -> Option<Box<Fields>> {
        self.trailers.take()
    }

    /// Nobody wants the rest.
    pub(crate) fn give_up(&mut self) {
        self.maker = None;
        self.piece.clear();
    }
}
