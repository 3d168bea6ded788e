//! Content between the connection that receives it and its reader: the queue under requests' content,
//! which a handler reads, and under responses' over HTTP/2, which a caller reads. It knows no waker and
//! no lock: those differ.

use std::collections::VecDeque;

use bytes::Bytes;
use stoop_proto::Fields;

use crate::error::Error;

/// Pieces up to this are gathered while they wait: each has an allocation of its own, and a peer may send
/// a byte at a time.
const GATHERED_BYTES: usize = 4 * 1024;

/// Pieces of content, what was taken of them, and how the content ended.
#[derive(Default)]
pub(crate) struct BodyQueue {
    pieces: VecDeque<Bytes>,
    /// Bytes that the reader has not taken yet, where a length said how many there are.
    remaining: Option<u64>,
    /// Bytes that were taken, or never will be, and that the connection was not told of.
    taken: u32,
    end: Option<Result<(), Error>>,
    trailers: Option<Box<Fields>>,
}

impl BodyQueue {
    /// Says how long the content is, if that is known.
    pub(crate) fn set_length(&mut self, length: Option<u64>) {
        self.remaining = length;
    }

    /// Adds a piece.
    pub(crate) fn push(&mut self, piece: Bytes) {
        let fits = |last: &Bytes| last.len() + piece.len() <= GATHERED_BYTES;
        if !self.pieces.back().is_some_and(fits) {
            return self.pieces.push_back(piece);
        }
        let last = self.pieces.pop_back().unwrap_or_default();
        match last.try_into_mut() {
            Ok(mut last) => {
                last.extend_from_slice(&piece);
                self.pieces.push_back(last.freeze());
            }
            Err(last) => self.pieces.extend([last, piece]),
        }
    }

    /// Takes the next piece.
    pub(crate) fn pop(&mut self) -> Option<Bytes> {
        let piece = self.pieces.pop_front()?;
        self.remaining = self.remaining.map(|n| n.saturating_sub(piece.len() as u64));
        self.discard(piece.len());
        Some(piece)
    }

    /// So much content never will be taken.
    pub(crate) fn discard(&mut self, bytes: usize) {
        self.taken = self.taken.saturating_add(bytes as u32);
    }

    /// All that waits never will be taken.
    pub(crate) fn discard_all(&mut self) {
        let unread = self.unread();
        self.pieces.clear();
        self.discard(unread);
    }

    /// Ends the content, unless it has ended. True if it had not.
    pub(crate) fn end(&mut self, end: Result<(), Error>, trailers: Option<Box<Fields>>) -> bool {
        let is_first = self.end.is_none();
        if is_first {
            (self.end, self.trailers) = (Some(end), trailers);
        }
        is_first
    }

    /// How the content ended, if it has: an error is told once.
    pub(crate) fn take_end(&mut self) -> Option<Result<(), Error>> {
        self.end.as_mut().map(|end| std::mem::replace(end, Ok(())))
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.end.is_some()
    }

    /// Whether everything was taken, and the content is complete.
    pub(crate) fn is_at_end(&self) -> bool {
        self.pieces.is_empty() && matches!(self.end, Some(Ok(())))
    }

    /// Whether nothing waits to be taken.
    pub(crate) fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// Bytes that wait to be taken.
    pub(crate) fn unread(&self) -> usize {
        self.pieces.iter().map(Bytes::len).sum()
    }

    /// Bytes that are still to be taken, where a length said how many there are.
    pub(crate) fn remaining(&self) -> Option<u64> {
        self.remaining
    }

    /// Bytes that were taken since the connection was told last.
    pub(crate) fn taken(&self) -> u32 {
        self.taken
    }

    /// The same, and the connection is told.
    pub(crate) fn take_taken(&mut self) -> u32 {
        std::mem::take(&mut self.taken)
    }

    pub(crate) fn take_trailers(&mut self) -> Option<Box<Fields>> {
        self.trailers.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::{ErrorKind, Phase};

    #[test]
    fn small_pieces_are_gathered_and_larger_ones_are_not() {
        let mut queue = BodyQueue::default();
        (0..10_000u32).for_each(|n| queue.push(Bytes::copy_from_slice(&[n as u8])));
        assert_eq!(queue.pieces.len(), 10_000usize.div_ceil(GATHERED_BYTES));
        queue.push(Bytes::from(vec![1; 4_000]));
        queue.push(Bytes::from_static(b"shared"));
        queue.push(Bytes::from_static(b"too"));
        assert_eq!((queue.pieces.len(), queue.unread()), (4, 10_000 + 4_000 + 9));
        let all: Vec<u8> = queue.pieces.iter().flatten().copied().collect();
        assert!((0..10_000u32).all(|n| all[n as usize] == n as u8) && all.ends_with(b"sharedtoo"));
    }

    #[test]
    fn what_was_taken_or_never_will_be_is_counted_once() {
        let mut queue = BodyQueue::default();
        queue.set_length(Some(10));
        queue.push(Bytes::from(vec![1; 5_000]));
        queue.push(Bytes::from(vec![1; 3]));
        assert_eq!(queue.pop().unwrap().len(), 5_000);
        assert_eq!((queue.taken(), queue.remaining()), (5_000, Some(0)));
        queue.discard_all();
        assert_eq!((queue.take_taken(), queue.take_taken()), (5_003, 0));
        assert!(queue.is_empty() && !queue.is_at_end());
    }

    #[test]
    fn the_first_end_counts_and_an_error_is_told_once() {
        let mut queue = BodyQueue::default();
        assert!(queue.take_end().is_none());
        assert!(queue.end(Err(Error::new(ErrorKind::ClosedEarly, Phase::Receive)), None));
        assert!(!queue.end(Ok(()), Some(Box::default())));
        assert!(queue.has_ended() && !queue.is_at_end());
        assert!(matches!(queue.take_end(), Some(Err(_))));
        assert!(matches!(queue.take_end(), Some(Ok(()))) && queue.take_trailers().is_none());
    }
}
