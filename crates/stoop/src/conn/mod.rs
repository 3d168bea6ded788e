//! What drives protocol machines over transports, shared by the client and the server.

pub(crate) mod exchanges;
pub(crate) mod outflow;
pub(crate) mod rate;
pub(crate) mod ready;
pub(crate) mod recycle;
pub(crate) mod slot;
pub(crate) mod tunnel;
pub(crate) mod turn;
pub(crate) mod wire;

use std::collections::VecDeque;

use bytes::Bytes;
use stoop_io::Output;

/// Pieces of content up to this are gathered while nobody takes them: each has an allocation of its
/// own, and a peer may send a byte at a time.
const CRUMBS_BYTES: usize = 4 * 1024;

/// Adds a piece to those that wait to be taken.
pub(crate) fn put_piece(pieces: &mut VecDeque<Bytes>, piece: Bytes) {
    let fits = |last: &Bytes| last.len() + piece.len() <= CRUMBS_BYTES;
    if !pieces.back().is_some_and(fits) {
        return pieces.push_back(piece);
    }
    let last = pieces.pop_back().unwrap_or_default();
    match last.try_into_mut() {
        Ok(mut last) => {
            last.extend_from_slice(&piece);
            pieces.push_back(last.freeze());
        }
        Err(last) => pieces.extend([last, piece]),
    }
}

/// Lets a machine write to a transport's output: neither crate knows the other.
pub(crate) struct Sink<'a>(pub(crate) &'a mut Output);

impl stoop_proto::Sink for Sink<'_> {
    #[inline]
    fn put(&mut self, bytes: &[u8]) {
        self.0.put(bytes);
    }
    #[inline]
    fn share(&mut self, bytes: Bytes) {
        self.0.share(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crumbs_are_gathered_and_larger_pieces_are_not() {
        let mut pieces = VecDeque::new();
        (0..10_000u32).for_each(|n| put_piece(&mut pieces, Bytes::copy_from_slice(&[n as u8])));
        assert_eq!(pieces.len(), 10_000usize.div_ceil(CRUMBS_BYTES));
        put_piece(&mut pieces, Bytes::from(vec![1; 4_000]));
        put_piece(&mut pieces, Bytes::from_static(b"shared"));
        put_piece(&mut pieces, Bytes::from_static(b"too"));
        assert_eq!(pieces.len(), 4);
        let all: Vec<u8> = pieces.iter().flatten().copied().collect();
        assert_eq!(all.len(), 10_000 + 4_000 + 9);
        assert!((0..10_000u32).all(|n| all[n as usize] == n as u8) && all.ends_with(b"sharedtoo"));
    }
}
