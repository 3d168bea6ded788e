//! The contract between whoever drives a protocol and whatever moves its bytes.

use std::io;
use std::net::SocketAddr;
use std::task::{Context, Poll};

use bytes::Bytes;

use crate::output::Output;

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
