//! The transport of hyper's connection in memory, which becomes the connection to the client.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use stoop::rt::UpgradedStream;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::oneshot;

/// The protocol that hyper's connection believes it switches to. The client sees what it asked for.
pub(crate) const PROTOCOL: &str = "stoop";

/// The request that hyper's connection reads.
const REQUEST: &[u8] =
    b"GET / HTTP/1.1\r\nhost: stoop\r\nconnection: upgrade\r\nupgrade: stoop\r\n\r\n";

/// A transport that lets hyper read a request and write a response of its own, and is the connection to the
/// client from then on.
pub(crate) enum UpgradeIo {
    /// hyper reads and writes; so many bytes are read.
    Handshake { read: usize, client: oneshot::Receiver<stoop::OnUpgrade> },
    /// The 101 is on its way to the client.
    Switching(stoop::OnUpgrade),
    /// What the application reads and writes.
    Open(Box<UpgradedStream>),
    /// There was no switch.
    Failed,
}

impl UpgradeIo {
    pub(crate) fn new(client: oneshot::Receiver<stoop::OnUpgrade>) -> Self {
        Self::Handshake { read: 0, client }
    }

    /// Ready with the connection to the client once the application has it.
    fn poll_open(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Pin<&mut UpgradedStream>>> {
        loop {
            *self = match self {
                Self::Handshake { client, .. } => match ready!(Pin::new(client).poll(cx)) {
                    Ok(switched) => Self::Switching(switched),
                    Err(_) => Self::Failed,
                },
                Self::Switching(switched) => match ready!(Pin::new(switched).poll(cx)) {
                    Ok(upgraded) => Self::Open(Box::new(stoop::rt::stream(upgraded))),
                    Err(_) => Self::Failed,
                },
                Self::Open(_) => break,
                Self::Failed => return Poll::Ready(Err(io::ErrorKind::NotConnected.into())),
            };
        }
        match self {
            Self::Open(stream) => Poll::Ready(Ok(Pin::new(&mut **stream))),
            _ => unreachable!("open, as the loop has found"),
        }
    }

    /// Whether hyper still reads and writes, and not the application.
    fn is_handshake(&mut self, cx: &mut Context<'_>) -> bool {
        match self {
            Self::Handshake { .. } => {
                self.poll_open(cx).is_pending() && matches!(self, Self::Handshake { .. })
            }
            _ => false,
        }
    }
}

impl AsyncRead for UpgradeIo {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if let Self::Handshake { read, .. } = &mut *self
            && *read < REQUEST.len()
        {
            let next = &REQUEST[*read..];
            let next = &next[..next.len().min(into.remaining())];
            into.put_slice(next);
            *read += next.len();
            return Poll::Ready(Ok(()));
        }
        ready!(self.poll_open(cx))?.poll_read(cx, into)
    }
}

impl AsyncWrite for UpgradeIo {
    /// What hyper says of its own is for no client.
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        if self.is_handshake(cx) {
            return Poll::Ready(Ok(bytes.len()));
        }
        ready!(self.poll_open(cx))?.poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        if self.is_handshake(cx) {
            return Poll::Ready(Ok(slices.iter().map(|slice| slice.len()).sum()));
        }
        ready!(self.poll_open(cx))?.poll_write_vectored(cx, slices)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.is_handshake(cx) {
            return Poll::Ready(Ok(()));
        }
        ready!(self.poll_open(cx))?.poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.is_handshake(cx) {
            return Poll::Ready(Ok(()));
        }
        ready!(self.poll_open(cx))?.poll_shutdown(cx)
    }
}
