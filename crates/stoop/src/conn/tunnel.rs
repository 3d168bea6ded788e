//! A tunnel over one stream of an HTTP/2 connection (RFC 9113 §8.5, RFC 8441): a transport for its user, and
//! content in both directions for the connection.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes};
use http_body::Frame;
use stoop_io::{
    AnyTransport, FillResult, MEMORY_BYTES, Memory, PeerAddress, Stream, Transport,
    from_io_with_peer,
};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::body::Body;
use crate::error::BoxError;

/// What goes out, and where its source writes it.
pub(crate) fn outgoing() -> (Stream, TunnelContent) {
    let (ours, theirs) = Memory::pair(MEMORY_BYTES);
    (Stream::new(ours), TunnelContent(theirs))
}

/// The tunnel, as any other transport.
pub(crate) fn tunnel(incoming: Body, outgoing: Stream, peer: PeerAddress) -> AnyTransport {
    from_io_with_peer(Tunnel { incoming, piece: Bytes::new(), outgoing }, peer)
}

/// What is written to a tunnel, as the content that its stream sends.
pub(crate) struct TunnelContent(Memory);

impl http_body::Body for TunnelContent {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        loop {
            let waiting = self.0.received().len();
            if waiting > 0 {
                return Poll::Ready(Some(Ok(Frame::data(self.0.take(waiting)))));
            }
            match ready!(self.0.poll_fill(cx, MEMORY_BYTES)) {
                Ok(FillResult::Bytes(_) | FillResult::Full) => {}
                Ok(FillResult::End) => return Poll::Ready(None),
                Err(error) => return Poll::Ready(Some(Err(error.into()))),
            }
        }
    }
}

struct Tunnel {
    incoming: Body,
    /// What came and was not read.
    piece: Bytes,
    outgoing: Stream,
}

impl AsyncRead for Tunnel {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        while self.piece.is_empty() {
            match ready!(self.incoming.poll_chunk(cx)) {
                Some(Ok(piece)) => self.piece = piece,
                Some(Err(error)) => {
                    return Poll::Ready(Err(io::Error::new(io::ErrorKind::ConnectionReset, error)));
                }
                None => return Poll::Ready(Ok(())),
            }
        }
        let len = self.piece.len().min(into.remaining());
        into.put_slice(&self.piece[..len]);
        self.piece.advance(len);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Tunnel {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.outgoing).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.outgoing).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.outgoing).poll_shutdown(cx)
    }
}
