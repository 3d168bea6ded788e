//! The content that is agreed upon.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::LazyLock;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame};

pub const HELLO: &[u8] = b"Hello, world!";

const MEBIBYTE: usize = 1 << 20;
pub const PIECE_BYTES: usize = 64 * 1024;

/// The agreed text, made once and shared by all answers.
static TEXT: LazyLock<Bytes> =
    LazyLock::new(|| (b'a'..=b'z').cycle().take(MEBIBYTE).collect::<Vec<u8>>().into());

/// The first `bytes` of the agreed text, which is one MiB long.
pub fn text(bytes: usize) -> Bytes {
    TEXT.slice(..bytes.min(MEBIBYTE))
}

/// The agreed text in pieces of 64 KiB, and a body that does not tell its length before.
pub struct Pieces(Bytes);

impl Pieces {
    pub fn new() -> Self {
        Self(TEXT.clone())
    }
}

impl Default for Pieces {
    fn default() -> Self {
        Self::new()
    }
}

impl Iterator for Pieces {
    type Item = Bytes;

    fn next(&mut self) -> Option<Bytes> {
        let length = self.0.len().min(PIECE_BYTES);
        (length > 0).then(|| self.0.split_to(length))
    }
}

impl Body for Pieces {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(self.next().map(|piece| Ok(Frame::data(piece))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sixteen_pieces_are_the_whole_text() {
        let pieces: Vec<Bytes> = Pieces::new().collect();
        assert_eq!((pieces.len(), pieces.concat()), (16, text(MEBIBYTE).to_vec()));
        assert!(text(28).ends_with(b"xyzab"));
    }
}
