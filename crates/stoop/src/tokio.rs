//! Where tokio's own traits are met: upgraded connections as streams, and streams as connections.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use ::tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use stoop_io::Stream;

use crate::upgrade::Upgraded;

/// An upgraded connection as tokio reads and writes it.
///
/// ```no_run
/// # async fn example(upgraded: stoop::Upgraded) -> std::io::Result<()> {
/// use tokio::io::AsyncReadExt;
///
/// let mut stream = stoop::tokio::stream(upgraded);
/// let mut first = [0; 16];
/// stream.read_exact(&mut first).await?;
/// # Ok(()) }
/// ```
pub struct UpgradedStream(Stream);

/// Makes an upgraded connection a stream of tokio's. What the peer sent behind the head comes first.
pub fn stream(upgraded: Upgraded) -> UpgradedStream {
    UpgradedStream(Stream::new(upgraded.0))
}

impl AsyncRead for UpgradedStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(cx, into)
    }
}

impl AsyncWrite for UpgradedStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write_vectored(cx, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.0.is_write_vectored()
    }
}
