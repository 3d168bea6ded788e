//! The agreed content of responses.

use std::convert::Infallible;
use std::hint;
use std::pin::Pin;
use std::sync::LazyLock;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body::{Body, Frame};

pub const HELLO: &[u8] = b"Hello, world!";

const MEBIBYTE: usize = 1 << 20;
pub const PIECE_BYTES: usize = 64 * 1024;
const DRIP_BYTES: usize = 1_000;
/// The processor time of a request of `/spin`.
const SPIN: Duration = Duration::from_micros(50);

/// The agreed text, created once and shared by all responses.
static TEXT: LazyLock<Bytes> =
    LazyLock::new(|| (b'a'..=b'z').cycle().take(MEBIBYTE).collect::<Vec<u8>>().into());

/// The first `bytes` of the agreed text, which is one MiB long.
pub fn text(bytes: usize) -> Bytes {
    TEXT.slice(..bytes.min(MEBIBYTE))
}

/// A body of the agreed text in pieces of 64 KiB, without a known length.
pub struct TextPieces(Bytes);

impl TextPieces {
    pub fn new() -> Self {
        Self(TEXT.clone())
    }
}

impl Default for TextPieces {
    fn default() -> Self {
        Self::new()
    }
}

impl Iterator for TextPieces {
    type Item = Bytes;

    fn next(&mut self) -> Option<Bytes> {
        let length = self.0.len().min(PIECE_BYTES);
        (length > 0).then(|| self.0.split_to(length))
    }
}

impl Body for TextPieces {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(self.next().map(|piece| Ok(Frame::data(piece))))
    }
}

/// Endless content in pieces of 1,000 bytes, as fast as it is polled. Each piece has its own memory, so
/// that a server that keeps them grows visibly.
pub struct EndlessBody;

impl Body for EndlessBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let piece = Bytes::copy_from_slice(&[b'a'; DRIP_BYTES]);
        Poll::Ready(Some(Ok(Frame::data(piece))))
    }
}

/// Keeps the processor busy for 50 µs, like a handler that computes.
pub fn spin() {
    let started = Instant::now();
    while started.elapsed() < SPIN {
        hint::spin_loop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sixteen_pieces_are_the_whole_text() {
        let pieces: Vec<Bytes> = TextPieces::new().collect();
        assert_eq!((pieces.len(), pieces.concat()), (16, text(MEBIBYTE).to_vec()));
        assert!(text(28).ends_with(b"xyzab"));
    }
}
