//! Every transport of this crate behind one type, so that a pool or a driver can hold any of them.
//!
//! The one circle of types in this crate is here, and is meant: TLS runs over any transport, one with
//! TLS included (an HTTPS proxy), so [`AnyTransport`] names `Tls`, and `Tls` holds an `AnyTransport`.

use std::io;
use std::net::SocketAddr;
use std::task::{Context, Poll};

use bytes::Bytes;

use crate::output::Output;
use crate::socket::{Tcp, Unix};
#[cfg(any(feature = "tls", feature = "tls-ring"))]
use crate::tls::{Tls, TlsSession};
use crate::transport::{FillResult, Liveness, LivenessCheck, PeerAddress, Transport};

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
    pub fn move_to_current_runtime(self) -> io::Result<Self> {
        Ok(match self {
            Self::Tcp(tcp) => Self::Tcp(tcp.move_to_current_runtime()?),
            Self::Unix(unix) => Self::Unix(unix.move_to_current_runtime()?),
            #[cfg(any(feature = "tls", feature = "tls-ring"))]
            Self::Tls(tls) => Self::Tls(Box::new(tls.move_to_current_runtime()?)),
            Self::Custom(custom) => Self::Custom(custom),
        })
    }

    /// Names another peer: the one that a proxy in between has told of. Of no effect where the peer is not that of a
    /// socket.
    pub fn set_peer(&mut self, peer: PeerAddress) {
        match self {
            Self::Tcp(tcp) => tcp.set_peer(peer),
            Self::Unix(unix) => unix.set_peer(peer),
            #[cfg(any(feature = "tls", feature = "tls-ring"))]
            Self::Tls(_) => {}
            Self::Custom(_) => {}
        }
    }

    /// Drives the TLS handshake to its end; ready at once where there is no TLS.
    ///
    /// # Errors
    /// If the handshake fails: the `TlsError`, within an [`io::Error`] of the same kind.
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

    /// What TLS has agreed on, if the transport is TLS and its handshake is done.
    #[cfg(any(feature = "tls", feature = "tls-ring"))]
    pub fn tls_session(&self) -> Option<TlsSession> {
        match self {
            Self::Tls(tls) => tls.session(),
            Self::Tcp(_) | Self::Unix(_) | Self::Custom(_) => None,
        }
    }

    /// [Keeps](Tls::keep_chain) what the peer showed, if the transport is TLS.
    #[cfg(any(feature = "tls", feature = "tls-ring"))]
    pub fn keep_chain(&mut self) {
        if let Self::Tls(tls) = self {
            tls.keep_chain();
        }
    }

    /// The TLS session, if the transport is one.
    #[cfg(any(feature = "tls", feature = "tls-ring"))]
    pub fn tls(&self) -> Option<&Tls> {
        match self {
            Self::Tls(tls) => Some(tls),
            Self::Tcp(_) | Self::Unix(_) | Self::Custom(_) => None,
        }
    }

    /// Whether the kernel moves its bytes, and so knows more of the connection than was read from it.
    pub fn has_kernel(&self) -> bool {
        match self {
            Self::Tcp(_) | Self::Unix(_) => true,
            #[cfg(any(feature = "tls", feature = "tls-ring"))]
            Self::Tls(tls) => tls.has_kernel(),
            Self::Custom(_) => false,
        }
    }

    /// Whether dropping this, after [`Transport::poll_flush_last`], ends our direction as
    /// [`Transport::poll_shutdown`] would.
    pub fn ends_when_dropped(&self) -> bool {
        match self {
            Self::Tcp(_) | Self::Unix(_) => true,
            #[cfg(any(feature = "tls", feature = "tls-ring"))]
            Self::Tls(tls) => tls.ends_when_dropped(),
            Self::Custom(_) => false,
        }
    }

    /// Makes closing visible to the peer as a failure, where the end of the stream alone would look
    /// like the end of the message: RST for TCP, and for TLS over it. TLS over another transport shows
    /// it by leaving close_notify out.
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
    fn poll_fill(&mut self, cx: &mut Context<'_>, room: usize) -> Poll<io::Result<FillResult>> {
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
    fn sends_files(&self) -> bool {
        each!(self, t => t.sends_files())
    }
    #[inline]
    fn unsent(&self) -> usize {
        each!(self, t => t.unsent())
    }
    #[inline]
    fn held(&self) -> usize {
        each!(self, t => t.held())
    }
    fn unacknowledged(&self) -> usize {
        each!(self, t => t.unacknowledged())
    }
    fn overhead(&self) -> u64 {
        each!(self, t => t.overhead())
    }
    fn poll_shutdown(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        each!(self, t => t.poll_shutdown(cx))
    }
    fn liveness(&mut self, look: LivenessCheck) -> Liveness {
        each!(self, t => t.liveness(look))
    }
    fn has_failed(&self) -> bool {
        each!(self, t => t.has_failed())
    }
    fn peer(&self) -> PeerAddress {
        each!(self, t => t.peer())
    }
    fn local(&self) -> Option<SocketAddr> {
        each!(self, t => t.local())
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
