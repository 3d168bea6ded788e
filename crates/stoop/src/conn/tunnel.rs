//! A tunnel over one stream of an HTTP/2 connection (RFC 9113 §8.5, RFC 8441): a transport for its user, and
//! content in both directions for the connection.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering::Relaxed};
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes};
use http_body::Frame;
use stoop_io::{
    AnyTransport, FillResult, MEMORY_BYTES, Memory, PeerAddress, Stream, Transport,
    from_io_with_peer,
};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::body::Body;
use crate::conn::http2::ready::WokenExchanges;
use crate::error::BoxError;

/// What goes out, where its source writes it, and how far it has got.
pub(crate) fn outgoing(
    connection: Arc<WokenExchanges>,
) -> (Stream, TunnelContent, Arc<TunnelProgress>) {
    let (ours, theirs) = Memory::pair(MEMORY_BYTES);
    connection.progress.add_tunnel();
    let progress = Arc::new(TunnelProgress {
        connection,
        end: AtomicI64::new(0),
        is_asked: AtomicBool::new(false),
    });
    let content = TunnelContent { pipe: theirs, progress: progress.clone() };
    (Stream::new(ours), content, progress)
}

/// The tunnel, as any other transport.
pub(crate) fn tunnel(incoming: Body, outgoing: Stream, peer: PeerAddress) -> AnyTransport {
    from_io_with_peer(Tunnel { incoming, piece: Bytes::new(), outgoing }, peer)
}

/// What is written to a tunnel, as the content that its stream sends.
pub(crate) struct TunnelContent {
    pipe: Memory,
    progress: Arc<TunnelProgress>,
}

/// How far what was written to a tunnel has got on its way through the connection, which may have taken much more than its
/// peer takes in a long time.
pub(crate) struct TunnelProgress {
    connection: Arc<WokenExchanges>,
    /// The place in the connection's output behind what its stream had sent when more was last waited for.
    end: AtomicI64,
    /// It was asked how much has arrived since all that was written was in the connection's output.
    is_asked: AtomicBool,
}

impl TunnelProgress {
    /// How many bytes there are up to the last of the tunnel's that the peer's kernel has not acknowledged, those of
    /// other streams before it included. They are counted when this is called, for the next call.
    pub(crate) fn backlog(&self) -> usize {
        let arrived = self.connection.ask_progress();
        // What was told before is of another wait.
        if !self.is_asked.swap(true, Relaxed) {
            return 0;
        }
        usize::try_from(self.end.load(Relaxed) - arrived).unwrap_or(0)
    }

    /// What came before is in the connection's output.
    fn note_end(&self) {
        self.end.store(self.connection.progress.position(), Relaxed);
    }
}

impl http_body::Body for TunnelContent {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        self.progress.note_end();
        loop {
            let waiting = self.pipe.received().len();
            if waiting > 0 {
                return Poll::Ready(Some(Ok(Frame::data(self.pipe.take(waiting)))));
            }
            let Poll::Ready(filled) = self.pipe.poll_fill(cx, MEMORY_BYTES) else {
                self.progress.is_asked.store(false, Relaxed);
                return Poll::Pending;
            };
            match filled {
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
