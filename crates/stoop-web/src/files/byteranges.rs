//! Several parts of a file in one response: `multipart/byteranges` (RFC 9110 §14.6).

use std::collections::VecDeque;
use std::hash::{BuildHasher, RandomState};
use std::ops::Range;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body::{Frame, SizeHint};
use stoop::{Body, Error};

use super::representation::Representation;

/// The parts of a file, each behind a head of its own. A part is read, or taken from memory, when it is sent.
pub(super) struct ByteRanges {
    /// Heads and parts in turn, and the end.
    pieces: VecDeque<Body>,
    left: u64,
}

impl ByteRanges {
    pub(super) fn new(
        representation: &Representation,
        ranges: &[Range<u64>],
        boundary: &str,
    ) -> Self {
        let Representation { content_type, len, .. } = representation;
        let mut pieces = VecDeque::with_capacity(ranges.len() * 2 + 1);
        let mut start = "";
        for range in ranges {
            let content_range = content_range(range, *len);
            let head = format!(
                "{start}--{boundary}\r\ncontent-type: {content_type}\r\ncontent-range: {content_range}\r\n\r\n"
            );
            pieces.push_back(head.into());
            pieces.push_back(representation.part(range.clone()));
            start = "\r\n";
        }
        pieces.push_back(format!("\r\n--{boundary}--\r\n").into());
        let left = pieces.iter().filter_map(Body::len).sum();
        Self { pieces, left }
    }
}

impl http_body::Body for ByteRanges {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        loop {
            let Some(piece) = self.pieces.front_mut() else { return Poll::Ready(None) };
            match ready!(Pin::new(piece).poll_frame(cx)) {
                Some(Ok(frame)) => {
                    let count = frame.data_ref().map_or(0, |data| data.len() as u64);
                    self.left = self.left.saturating_sub(count);
                    return Poll::Ready(Some(Ok(frame)));
                }
                Some(Err(error)) => {
                    self.pieces.clear();
                    return Poll::Ready(Some(Err(error)));
                }
                None => {
                    self.pieces.pop_front();
                }
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.left == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left)
    }
}

/// Content-Range = "bytes" SP first-pos "-" last-pos "/" complete-length (RFC 9110 §14.4).
pub(super) fn content_range(range: &Range<u64>, len: u64) -> String {
    format!("bytes {}-{}/{len}", range.start, range.end.saturating_sub(1))
}

/// What is between the parts: 128 bits that no file can have on purpose, because they are made when it is sent
/// (RFC 2046 §5.1.1).
pub(super) fn boundary() -> String {
    // Each of them has keys of its own, which come from the system.
    let random = || RandomState::new().hash_one(0_u8);
    format!("{:016x}{:016x}", random(), random())
}
