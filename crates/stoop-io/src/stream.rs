//! Converts between our transports and tokio's I/O traits, in both directions.
//!
//! [`Stream`] makes a transport readable and writable by tokio's traits: an upgraded connection, a
//! tunnel, a scripted peer in a test. [`from_io`] makes a transport of what implements those traits.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::{Mutex, PoisonError};
use std::task::{Context, Poll, Waker, ready};

use bytes::Bytes;
use tokio::io::{AsyncBufRead, AsyncRead, AsyncWrite, ReadBuf};

use crate::any_transport::AnyTransport;
use crate::buffer::{CHUNK, ReceiveBuffer};
use crate::direct::DirectIo;
use crate::output::{OUTPUT_BYTES_MAX, Output};
use crate::transport::{FillResult, Liveness, LivenessCheck, PeerAddress, Transport};

/// Bytes that one write accepts at most where they are copied: what is copied must not outgrow the pooled buffers.
const WRITE_BYTES_MAX: usize = 32 * 1024;

/// A transport as tokio's `AsyncRead + AsyncBufRead + AsyncWrite`.
///
/// Bytes that the transport had received before come first. A write is accepted as far as the
/// transport takes it, and nothing is kept back here: over TCP a flush does nothing; over TLS what
/// was accepted may wait as ciphertext, which the next write, flush, shutdown or read sends.
pub struct Stream {
    transport: AnyTransport,
    direct: DirectIo,
    /// Empty between calls.
    out: Output,
}

impl Stream {
    /// Wraps `transport`.
    pub fn new(transport: impl Into<AnyTransport>) -> Self {
        let transport = transport.into();
        Self { transport, direct: DirectIo::default(), out: Output::default() }
    }

    /// The other end of the connection.
    pub fn peer(&self) -> PeerAddress {
        self.transport.peer()
    }

    /// The bytes that were received and not read yet.
    pub fn received(&self) -> &[u8] {
        self.transport.received()
    }

    /// How many of the bytes that were written the peer has not taken yet, as far as that is known:
    /// [`Transport::unsent`] and [`Transport::unacknowledged`].
    pub fn backlog(&self) -> usize {
        self.transport.unsent() + self.transport.unacknowledged()
    }

    /// The transport, with everything that was received and not read.
    pub fn into_transport(self) -> AnyTransport {
        self.transport
    }

    /// Waits until there is something to read; false at the end.
    fn poll_some(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<bool>> {
        if !self.transport.received().is_empty() {
            return Poll::Ready(Ok(true));
        }
        // A caller that waits for a response may not have flushed the request. If flushing fails, the
        // next write reports it; what the peer sent before can still be read.
        if self.transport.unsent() > 0 {
            let _ = self.transport.poll_flush(cx, &mut self.out);
        }
        let filled = ready!(self.transport.poll_fill(cx, CHUNK))?;
        Poll::Ready(Ok(filled != FillResult::End))
    }

    /// Offers the transport what `put` writes, and returns how many bytes it took.
    fn poll_offer(
        &mut self,
        cx: &mut Context<'_>,
        put: impl FnOnce(&mut Output),
    ) -> Poll<io::Result<usize>> {
        if self.transport.unsent() >= OUTPUT_BYTES_MAX {
            ready!(self.transport.poll_flush(cx, &mut self.out))?;
        }
        put(&mut self.out);
        let offered = self.out.len();
        let flushed = self.transport.poll_flush(cx, &mut self.out);
        let taken = offered - self.out.len();
        // The caller offers again what was not taken.
        self.out.clear();
        match flushed {
            Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
            Poll::Pending if taken == 0 && offered > 0 => Poll::Pending,
            _ => Poll::Ready(Ok(taken)),
        }
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        // Into a large buffer of the caller's without a copy, and with as many bytes as there are.
        if into.remaining() >= CHUNK {
            match &mut this.transport {
                AnyTransport::Tcp(tcp) if tcp.received().is_empty() => {
                    return this.direct.poll_read(tcp.stream(), cx, into);
                }
                AnyTransport::Unix(unix) if unix.received().is_empty() => {
                    return this.direct.poll_read(unix.stream(), cx, into);
                }
                _ => {}
            }
        }
        if into.remaining() > 0 && ready!(this.poll_some(cx))? {
            let received = this.transport.received();
            let n = received.len().min(into.remaining());
            into.put_slice(&received[..n]);
            this.transport.consume(n);
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncBufRead for Stream {
    fn poll_fill_buf(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<&[u8]>> {
        let this = self.get_mut();
        ready!(this.poll_some(cx))?;
        Poll::Ready(Ok(this.transport.received()))
    }

    fn consume(mut self: Pin<&mut Self>, n: usize) {
        self.transport.consume(n);
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = &mut *self;
        match &mut this.transport {
            AnyTransport::Tcp(tcp) => return this.direct.poll_write(tcp.stream(), cx, bytes),
            AnyTransport::Unix(unix) => return this.direct.poll_write(unix.stream(), cx, bytes),
            _ => {}
        }
        this.poll_offer(cx, |out| out.put(&bytes[..bytes.len().min(WRITE_BYTES_MAX)]))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match &mut self.transport {
            AnyTransport::Tcp(tcp) => {
                return Pin::new(tcp.stream()).poll_write_vectored(cx, slices);
            }
            AnyTransport::Unix(unix) => {
                return Pin::new(unix.stream()).poll_write_vectored(cx, slices);
            }
            _ => {}
        }
        self.poll_offer(cx, |out| {
            for slice in slices {
                let room = WRITE_BYTES_MAX - out.len();
                out.put(&slice[..slice.len().min(room)]);
                if slice.len() >= room {
                    return;
                }
            }
        })
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        match &this.transport {
            // Nothing was kept back.
            AnyTransport::Tcp(_) | AnyTransport::Unix(_) => Poll::Ready(Ok(())),
            _ => this.transport.poll_flush(cx, &mut this.out),
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.as_mut().poll_flush(cx))?;
        self.transport.poll_shutdown(cx)
    }
}

/// A transport over a stream that tokio can read and write; its peer is [`PeerAddress::Memory`].
pub fn from_io<I>(io: I) -> AnyTransport
where
    I: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    from_io_with_peer(io, PeerAddress::Memory)
}

/// A transport over a stream that tokio can read and write, with `peer` as its peer.
pub fn from_io_with_peer<I>(io: I, peer: PeerAddress) -> AnyTransport
where
    I: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let io = Mutex::new(io);
    AnyTransport::Custom(Box::new(IoTransport {
        io,
        buffer: ReceiveBuffer::default(),
        ended: false,
        peer,
    }))
}

/// A transport over a stream that tokio can read and write.
struct IoTransport<I> {
    /// Never locked: its one owner reaches it by `get_mut`, which costs nothing. It makes the transport
    /// `Sync`, and so what holds it, whatever a user's stream is.
    io: Mutex<I>,
    buffer: ReceiveBuffer,
    ended: bool,
    peer: PeerAddress,
}

impl<I: AsyncRead + AsyncWrite + Send + Unpin + 'static> Transport for IoTransport<I> {
    fn poll_fill(&mut self, cx: &mut Context<'_>, room: usize) -> Poll<io::Result<FillResult>> {
        if self.ended {
            return Poll::Ready(Ok(FillResult::End));
        }
        let Some(spare) = self.buffer.spare(room) else { return Poll::Ready(Ok(FillResult::Full)) };
        let start = spare.as_ptr().cast::<u8>();
        let mut into = ReadBuf::uninit(spare);
        let io = self.io.get_mut().unwrap_or_else(PoisonError::into_inner);
        let polled = Pin::new(io).poll_read(cx, &mut into);
        let n = into.filled().len();
        if n == 0 {
            self.buffer.settle();
            self.ended = matches!(polled, Poll::Ready(Ok(())));
            return polled.map_ok(|()| FillResult::End);
        }
        assert_eq!(start, into.filled().as_ptr(), "the reader exchanged the buffer");
        // SAFETY: the filled bytes of `into` are initialised, and as the assertion checks, they are
        // the first of the spare slice: safe code can only have put another buffer in its place.
        unsafe { self.buffer.filled(n) };
        Poll::Ready(Ok(FillResult::Bytes(n)))
    }

    fn received(&self) -> &[u8] {
        self.buffer.received()
    }

    fn consume(&mut self, n: usize) {
        self.buffer.consume(n);
    }

    fn take(&mut self, n: usize) -> Bytes {
        self.buffer.take(n)
    }

    fn poll_flush(&mut self, cx: &mut Context<'_>, out: &mut Output) -> Poll<io::Result<()>> {
        out.refuse_files()?;
        let io = self.io.get_mut().unwrap_or_else(PoisonError::into_inner);
        while !out.is_empty() {
            let io = Pin::new(&mut *io);
            let n = if out.is_gathered() && io.is_write_vectored() {
                ready!(out.with_slices(|slices| io.poll_write_vectored(cx, slices)))?
            } else {
                ready!(io.poll_write(cx, out.front()))?
            };
            if n == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            out.advance(n);
        }
        Pin::new(io).poll_flush(cx)
    }

    fn unsent(&self) -> usize {
        0
    }

    fn poll_shutdown(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let io = self.io.get_mut().unwrap_or_else(PoisonError::into_inner);
        Pin::new(io).poll_shutdown(cx)
    }

    /// Reads, since these traits offer no other way to look.
    fn liveness(&mut self, _: LivenessCheck) -> Liveness {
        if !self.buffer.is_empty() {
            return Liveness::Readable;
        }
        match self.poll_fill(&mut Context::from_waker(Waker::noop()), CHUNK) {
            Poll::Pending => Liveness::Quiet,
            Poll::Ready(Ok(FillResult::Bytes(_) | FillResult::Full)) => Liveness::Readable,
            Poll::Ready(Ok(FillResult::End) | Err(_)) => Liveness::Dead,
        }
    }

    fn peer(&self) -> PeerAddress {
        self.peer
    }
}
