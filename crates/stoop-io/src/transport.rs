//! The contract between a driver, which runs a protocol, and a transport, which moves its bytes.

use std::io;
use std::net::SocketAddr;
use std::task::{Context, Poll};

use bytes::Bytes;

use crate::output::Output;

/// The result of [`Transport::poll_fill`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FillResult {
    /// This many more bytes than before are in [`Transport::received`]; never zero.
    Bytes(usize),
    /// The peer will send no more. What was received before stays until consumed.
    End,
    /// As many unconsumed bytes as the caller allows are there already; nothing was read.
    Full,
}

/// How thoroughly [`Transport::liveness`] looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LivenessCheck {
    /// Only at what the event loop has noticed: no system call, but it may be out of date.
    Cached,
    /// Asks the kernel: one system call, and up to date.
    Kernel,
}

/// The state of an idle transport.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Liveness {
    /// Open, and nothing to read: fit for another exchange.
    Quiet,
    /// There are bytes to read, which were not asked for.
    Readable,
    /// Closed or failed.
    Dead,
}

/// The other end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PeerAddress {
    /// A TCP peer's address.
    Inet(SocketAddr),
    /// A process on this machine, by a Unix socket.
    Unix,
    /// This process, by a pair in memory.
    Memory,
}

impl PeerAddress {
    /// The address, if the peer is reached over TCP.
    pub fn inet(self) -> Option<SocketAddr> {
        match self {
            Self::Inet(address) => Some(address),
            Self::Unix | Self::Memory => None,
        }
    }
}

/// A byte stream that owns its buffers.
///
/// One owner polls it; no method blocks. Dropping it closes the stream; a buffer that
/// the kernel still uses is not freed. Errors are final: after one, only dropping is useful.
pub trait Transport: 'static {
    /// Waits until more bytes have been received, or the peer has ended its direction.
    ///
    /// Appends, and never replaces what was not consumed. `room` bounds how many bytes may be there
    /// unconsumed. While this is pending and nothing is partial, no buffer is held.
    ///
    /// A transport that can tell a stream that was cut short from one that ended (TLS without
    /// close_notify, RFC 9112 §9.8) fails with [`io::ErrorKind::UnexpectedEof`] for the former.
    fn poll_fill(&mut self, cx: &mut Context<'_>, room: usize) -> Poll<io::Result<FillResult>>;

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

    /// Sends the last bytes of our direction, and what ends it with them (close_notify where there is
    /// TLS), so that both leave in one call. [`Transport::poll_shutdown`] or dropping the transport has to
    /// follow at once: a kernel may hold the last bytes back for it, so that both leave in one segment.
    fn poll_flush_last(&mut self, cx: &mut Context<'_>, out: &mut Output) -> Poll<io::Result<()>> {
        self.poll_flush(cx, out)
    }

    /// Whether an [`Output`] for it may have parts of files, [`Output::put_file`]. One that cannot send them has its
    /// caller read them instead, and [`Transport::poll_flush`] fails if it meets one.
    fn sends_files(&self) -> bool {
        false
    }

    /// How many bytes were taken from an [`Output`] and not yet given to the kernel.
    fn unsent(&self) -> usize;

    /// How many bytes the transport holds of what it took from an [`Output`]: those of
    /// [`Transport::unsent`], and sent ones that share a buffer with them.
    fn held(&self) -> usize {
        self.unsent()
    }

    /// How many bytes our kernel has taken and the peer's has not acknowledged, where that is known;
    /// else 0.
    fn unacknowledged(&self) -> usize {
        0
    }

    /// How many bytes it has added in all to those that it took from an [`Output`]: what TLS makes of them is
    /// longer.
    fn overhead(&self) -> u64 {
        0
    }

    /// Ends our direction (close_notify where there is TLS, then FIN). Reading goes on.
    fn poll_shutdown(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>>;

    /// Whether an idle stream is still fit for use.
    fn liveness(&mut self, look: LivenessCheck) -> Liveness;

    /// Whether the connection is known to be reset or closed in both directions, although bytes may
    /// wait to be read: at most one system call, which reads nothing. False where a transport
    /// cannot tell.
    fn has_failed(&self) -> bool {
        false
    }

    /// The other end of the connection.
    fn peer(&self) -> PeerAddress;

    /// The address of this end, where it goes over TCP: asked of the system.
    fn local(&self) -> Option<SocketAddr> {
        None
    }

    /// The protocol that ALPN chose, where there is TLS and a choice was made. Known once the
    /// handshake is done.
    fn alpn(&self) -> Option<&[u8]> {
        None
    }
}
