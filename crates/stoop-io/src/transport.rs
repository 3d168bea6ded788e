//! The contract between whoever drives a protocol and whatever moves its bytes.

use std::io;
use std::net::SocketAddr;
use std::task::{Context, Poll};

use bytes::Bytes;

use crate::output::Output;
use crate::socket::{Tcp, Unix};
#[cfg(any(feature = "tls", feature = "tls-ring"))]
use crate::tls::Tls;

/// What [`Transport::poll_fill`] found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Filled {
    /// This many more bytes than before are in [`Transport::received`]; never zero.
    Bytes(usize),
    /// The peer will send no more. What was received before stays until consumed.
    End,
    /// As many bytes as the caller allowed wait unconsumed already; nothing was read.
    Full,
}

/// How hard [`Transport::liveness`] looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// Only at what the event loop has noticed already: no system call, may lag behind.
    Cached,
    /// Asks the kernel: one system call, and the truth of this moment.
    Kernel,
}

/// What an idle transport looks like from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Liveness {
    /// Open, and nothing to read: fit for another exchange.
    Quiet,
    /// Bytes wait to be read although nobody asked for any.
    Readable,
    /// Closed or failed.
    Dead,
}

/// Who is at the other end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peer {
    /// A TCP peer's address.
    Inet(SocketAddr),
    /// A process on this machine, by a Unix socket.
    Unix,
    /// This process, by a pair in memory.
    Memory,
}

/// A byte stream that owns its buffers.
///
/// One owner polls it; no method blocks. Dropping it closes the stream and frees nothing the kernel
/// still holds. Errors are final: after one, only dropping is useful.
pub trait Transport: 'static {
    /// Waits until more unconsumed bytes are there than before, or the peer's end.
    ///
    /// Appends, never replaces what was not consumed. `room` bounds how many bytes may wait
    /// unconsumed. While this is pending and nothing is partial, no buffer is held.
    ///
    /// A transport that can tell a stream that was cut short from one that ended (TLS without
    /// close_notify, RFC 9112 §9.8) fails with [`io::ErrorKind::UnexpectedEof`] for the former.
    fn poll_fill(&mut self, cx: &mut Context<'_>, room: usize) -> Poll<io::Result<Filled>>;

    /// Everything received and not consumed, contiguous.
    fn received(&self) -> &[u8];

    /// Forgets the first `n` received bytes. With nothing left the buffer returns to its pool.
    ///
    /// # Panics
    /// If fewer than `n` bytes are there.
    fn consume(&mut self, n: usize);

    /// Consumes the first `n` received bytes and returns them: shared with the receive buffer where
    /// the piece is large enough to be worth pinning it, else copied.
    ///
    /// # Panics
    /// If fewer than `n` bytes are there.
    fn take(&mut self, n: usize) -> Bytes;

    /// Sends all of `out` in as few calls as it can.
    ///
    /// May take `out`'s buffers and finish later: ready only when the kernel has them all. May be
    /// called again with more at any time.
    fn poll_flush(&mut self, cx: &mut Context<'_>, out: &mut Output) -> Poll<io::Result<()>>;

    /// Sends the last of our direction, and with it whatever is said at an end (close_notify where
    /// there is TLS), so that both leave in one call. After it only [`Transport::poll_shutdown`] may
    /// follow in this direction.
    fn poll_flush_last(&mut self, cx: &mut Context<'_>, out: &mut Output) -> Poll<io::Result<()>> {
        self.poll_flush(cx, out)
    }

    /// How many bytes were taken from an [`Output`] and not yet given to the kernel.
    fn unsent(&self) -> usize;

    /// How many bytes the transport holds of what it took from an [`Output`]: those of
    /// [`Transport::unsent`], and sent ones that share a buffer with them.
    fn held(&self) -> usize {
        self.unsent()
    }

    /// How many bytes the kernel has taken and the peer's has not acknowledged, where that is known; else 0.
    fn unacknowledged(&self) -> usize {
        0
    }

    /// Ends our direction (close_notify where there is TLS, then FIN). Reading goes on.
    fn poll_shutdown(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>>;

    /// Whether an idle stream is still fit for use.
    fn liveness(&mut self, look: Look) -> Liveness;

    /// Whether the connection is known to be reset or closed in both directions, although bytes may
    /// wait to be read: at most one system call, which reads nothing. A transport that cannot tell
    /// says no.
    fn has_failed(&self) -> bool {
        false
    }

    /// Who is at the other end.
    fn peer(&self) -> Peer;

    /// The protocol that ALPN chose, where there is TLS and a choice was made. Known once the
    /// handshake is done.
    fn alpn(&self) -> Option<&[u8]> {
        None
    }
}

/// Any of the transports, dispatched by a branch rather than a pointer.
pub enum AnyTransport {
    /// TCP.
    Tcp(Tcp),
    /// A Unix stream socket.
    Unix(Unix),
    /// TLS over another of them.
    #[cfg(any(feature = "tls", feature = "tls-ring"))]
    Tls(Box<Tls>),
    /// Anything else: the in-memory pair, the simulation, a user's own.
    Custom(Box<dyn Transport + Send + Sync>),
}

impl AnyTransport {
    /// Moves the socket to the runtime this is called on; what was received stays. What is no
    /// socket stays as it is.
    ///
    /// # Errors
    /// If the runtime cannot watch the socket.
    pub fn rehome(self) -> io::Result<Self> {
        Ok(match self {
            Self::Tcp(tcp) => Self::Tcp(tcp.rehome()?),
            Self::Unix(unix) => Self::Unix(unix.rehome()?),
            #[cfg(any(feature = "tls", feature = "tls-ring"))]
            Self::Tls(tls) => Self::Tls(Box::new(tls.rehome()?)),
            Self::Custom(custom) => Self::Custom(custom),
        })
    }

    /// Drives a TLS handshake to its end; ready at once where there is no TLS.
    ///
    /// # Errors
    /// The handshake's, as an [`io::Error`] of the same kind around the `TlsError`.
    pub fn poll_handshake(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self {
            #[cfg(any(feature = "tls", feature = "tls-ring"))]
            Self::Tls(tls) => tls.poll_handshake(cx).map_err(Into::into),
            Self::Tcp(_) | Self::Unix(_) | Self::Custom(_) => {
                let _ = cx;
                Poll::Ready(Ok(()))
            }
        }
    }

    /// Whether a kernel moves its bytes, which knows more of the connection than was read from it.
    pub fn has_kernel(&self) -> bool {
        match self {
            Self::Tcp(_) | Self::Unix(_) => true,
            #[cfg(any(feature = "tls", feature = "tls-ring"))]
            Self::Tls(tls) => tls.has_kernel(),
            Self::Custom(_) => false,
        }
    }

    /// Whether dropping this, after [`Transport::poll_flush_last`], says all that
    /// [`Transport::poll_shutdown`] would.
    pub fn ends_when_dropped(&self) -> bool {
        match self {
            Self::Tcp(_) | Self::Unix(_) => true,
            #[cfg(any(feature = "tls", feature = "tls-ring"))]
            Self::Tls(tls) => tls.ends_when_dropped(),
            Self::Custom(_) => false,
        }
    }

    /// Makes closing visible as a failure where the end of the stream alone would look like the
    /// end of the message: RST for TCP, and for TLS over it. TLS over anything else says the same by
    /// leaving close_notify out.
    pub fn reset_on_close(&self) {
        match self {
            // If it fails, the connection is gone already.
            Self::Tcp(tcp) => drop(tcp.reset_on_close()),
            #[cfg(any(feature = "tls", feature = "tls-ring"))]
            Self::Tls(tls) => tls.reset_on_close(),
            Self::Unix(_) | Self::Custom(_) => {}
        }
    }
}

macro_rules! each {
    ($self:expr, $t:ident => $do:expr) => {
        match $self {
            AnyTransport::Tcp($t) => $do,
            AnyTransport::Unix($t) => $do,
            #[cfg(any(feature = "tls", feature = "tls-ring"))]
            AnyTransport::Tls($t) => $do,
            AnyTransport::Custom($t) => $do,
        }
    };
}

impl Transport for AnyTransport {
    fn poll_fill(&mut self, cx: &mut Context<'_>, room: usize) -> Poll<io::Result<Filled>> {
        each!(self, t => t.poll_fill(cx, room))
    }
    fn received(&self) -> &[u8] {
        each!(self, t => t.received())
    }
    fn consume(&mut self, n: usize) {
        each!(self, t => t.consume(n))
    }
    fn take(&mut self, n: usize) -> Bytes {
        each!(self, t => t.take(n))
    }
    fn poll_flush(&mut self, cx: &mut Context<'_>, out: &mut Output) -> Poll<io::Result<()>> {
        each!(self, t => t.poll_flush(cx, out))
    }
    fn poll_flush_last(&mut self, cx: &mut Context<'_>, out: &mut Output) -> Poll<io::Result<()>> {
        each!(self, t => t.poll_flush_last(cx, out))
    }
    fn unsent(&self) -> usize {
        each!(self, t => t.unsent())
    }
    fn held(&self) -> usize {
        each!(self, t => t.held())
    }
    fn unacknowledged(&self) -> usize {
        each!(self, t => t.unacknowledged())
    }
    fn poll_shutdown(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        each!(self, t => t.poll_shutdown(cx))
    }
    fn liveness(&mut self, look: Look) -> Liveness {
        each!(self, t => t.liveness(look))
    }
    fn has_failed(&self) -> bool {
        each!(self, t => t.has_failed())
    }
    fn peer(&self) -> Peer {
        each!(self, t => t.peer())
    }
    fn alpn(&self) -> Option<&[u8]> {
        each!(self, t => t.alpn())
    }
}

impl From<Tcp> for AnyTransport {
    fn from(tcp: Tcp) -> Self {
        Self::Tcp(tcp)
    }
}

impl From<Unix> for AnyTransport {
    fn from(unix: Unix) -> Self {
        Self::Unix(unix)
    }
}

#[cfg(any(feature = "tls", feature = "tls-ring"))]
impl From<Tls> for AnyTransport {
    fn from(tls: Tls) -> Self {
        Self::Tls(Box::new(tls))
    }
}
