//! The content of a message that is being sent over a stream: polled from its source piece by piece, and cut
//! to what the windows allow.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::Body;
use stoop_proto::Fields;

use crate::header_map::from_map;

/// The most content that is sent at a turn, also to a peer that takes larger frames: RFC 9113 §4.2.
pub(crate) const TURN_BYTES: usize = 16 * 1024;

/// The same where more follows: with its frame's header it fills a TLS record (RFC 8446 §5.1), so that no
/// few bytes are left over that need a record of their own.
pub(crate) const RECORD_BYTES: usize = TURN_BYTES - 9;

/// The part of some content that is not sent yet.
pub(crate) struct Outflow<M> {
    /// More of it is polled from here; none once it has ended.
    source: Option<M>,
    /// The piece that was polled and is not sent yet.
    piece: Bytes,
    trailers: Option<Box<Fields>>,
    /// How much of it was handed on to be sent.
    cut_bytes: u64,
}

/// What a poll of the source brought.
pub(crate) enum Polled<E> {
    /// Nothing yet: the waker is woken once there is something.
    Pending,
    /// There is more, which is read once it may be sent.
    Unread,
    /// A piece to be sent.
    Piece,
    /// No more, but perhaps trailers.
    End,
    /// The content failed.
    Failed(E),
    /// Its source panicked. What it said was shown by the program's panic hook.
    Panicked,
}

/// A piece to be sent, cut to what may be.
pub(crate) struct Cut {
    pub(crate) piece: Bytes,
    /// Nothing that was polled is left behind it.
    pub(crate) is_over: bool,
    /// It is the last of the content.
    pub(crate) is_last: bool,
}

impl<M: Body<Data = Bytes> + Unpin> Outflow<M> {
    /// Content that is polled from `source`.
    pub(crate) fn polled_from(source: M) -> Self {
        Self { source: Some(source), piece: Bytes::new(), trailers: None, cut_bytes: 0 }
    }

    /// Content that is there.
    pub(crate) fn of(piece: Bytes) -> Self {
        Self { source: None, piece, trailers: None, cut_bytes: 0 }
    }

    /// Whether its source is to be asked for more before anything can be sent.
    pub(crate) fn needs_poll(&self) -> bool {
        self.piece.is_empty() && self.source.is_some()
    }

    /// Whether something was polled that is not sent yet.
    pub(crate) fn has_piece(&self) -> bool {
        !self.piece.is_empty()
    }

    /// Where more of it comes from.
    pub(crate) fn source(&self) -> Option<&M> {
        self.source.as_ref()
    }

    /// The same, to be changed.
    pub(crate) fn source_mut(&mut self) -> Option<&mut M> {
        self.source.as_mut()
    }

    /// Polls the source for the next piece.
    pub(crate) fn poll_piece(&mut self, cx: &mut Context<'_>) -> Polled<M::Error> {
        let Some(source) = &mut self.source else { return Polled::Pending };
        // The caller's code: a panic in it is no reason to fail the other exchanges.
        let polled = catch_unwind(AssertUnwindSafe(|| Pin::new(&mut *source).poll_frame(cx)));
        let frame = match polled {
            Ok(Poll::Pending) => return Polled::Pending,
            Ok(Poll::Ready(None)) => return Polled::End,
            Ok(Poll::Ready(Some(Err(error)))) => return Polled::Failed(error),
            Ok(Poll::Ready(Some(Ok(frame)))) => frame,
            Err(_) => return Polled::Panicked,
        };
        match frame.into_data() {
            Ok(piece) => {
                let is_end = catch_unwind(AssertUnwindSafe(|| source.is_end_stream()));
                let Ok(is_end) = is_end else { return Polled::Panicked };
                if is_end {
                    self.source = None;
                }
                self.piece = piece;
                match (self.piece.is_empty(), is_end) {
                    (false, _) => Polled::Piece,
                    (true, true) => Polled::End,
                    (true, false) => {
                        // It is asked again in its turn, for others to have theirs.
                        cx.waker().wake_by_ref();
                        Polled::Pending
                    }
                }
            }
            Err(frame) => {
                let mut trailers = Fields::new();
                if let Ok(map) = frame.into_trailers() {
                    from_map(&map, &mut trailers);
                }
                self.trailers = Some(Box::new(trailers));
                Polled::End
            }
        }
    }

    /// Takes what is to be sent at a turn, at most `max` bytes.
    pub(crate) fn cut(&mut self, max: usize) -> Cut {
        let fits = self.piece.len() <= max.min(TURN_BYTES);
        let len = if fits { self.piece.len() } else { max.min(RECORD_BYTES) };
        let piece = self.piece.split_to(len);
        self.cut_bytes += len as u64;
        let is_over = self.piece.is_empty();
        Cut { piece, is_over, is_last: is_over && self.source.is_none() }
    }

    /// How many bytes of it were cut, to be sent.
    pub(crate) fn cut_bytes(&self) -> u64 {
        self.cut_bytes
    }

    pub(crate) fn take_trailers(&mut self) -> Option<Box<Fields>> {
        self.trailers.take()
    }

    /// The rest is not wanted.
    pub(crate) fn give_up(&mut self) {
        self.source = None;
        self.piece.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::body::Body;

    #[test]
    fn turns_are_as_long_as_a_record_but_for_pieces_that_are_one_turn() {
        let turns = |len: usize, max: usize| {
            let mut outflow = Outflow::<Body>::of(Bytes::from(vec![0; len]));
            let mut turns = Vec::new();
            loop {
                let cut = outflow.cut(max);
                assert_eq!((cut.is_over, cut.is_last), (!outflow.has_piece(), cut.is_over));
                turns.push(cut.piece.len());
                if cut.is_last {
                    return turns;
                }
            }
        };
        assert_eq!(turns(16_384, 16_384), [16_384]);
        assert_eq!(turns(16_385, 16_384), [16_375, 10]);
        assert_eq!(turns(40_000, 1 << 20), [16_375, 16_375, 7_250]);
        assert_eq!(turns(16_384, 10_000), [10_000, 6_384]);
        assert_eq!(turns(0, 100), [0]);
    }
}
