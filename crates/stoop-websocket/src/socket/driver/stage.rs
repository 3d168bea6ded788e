//! [`Stage`]: how far a connection is from its end, and [`Ending`], the end of its stream.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use stoop::rt::yield_turn;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::error::Error;
use crate::socket::buffers::with_read_buffer;

/// Reads of what is not kept before other tasks get their turn.
const DRAIN_READS: u32 = 8;

/// How far a connection is from its end.
pub(super) enum Stage {
    Open,
    /// A Close frame came, or the peer is at fault: what is left to send is sent, and the stream ended.
    Ending(Ending),
    Ended,
    /// The stream has failed, or something was left to send: whatever comes behind that would mean something else.
    Failed,
}

/// How far a stream is ended.
pub(super) struct Ending {
    /// What is reported when it is.
    pub(super) fault: Option<Error>,
    is_shut_down: bool,
}

impl Ending {
    pub(super) fn new(fault: Option<Error>) -> Self {
        Self { fault, is_shut_down: false }
    }

    /// Ready when the stream is over, or has failed. Everything has been sent before.
    pub(super) fn poll(
        &mut self,
        io: &mut (impl AsyncRead + AsyncWrite + Unpin),
        is_server: bool,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        // A server ends first, so that the client's port is free again at once (RFC 6455 §7.1.1).
        if (is_server || self.fault.is_some()) && !self.is_shut_down {
            ready!(Pin::new(&mut *io).poll_shutdown(cx))?;
            self.is_shut_down = true;
        }
        if is_server && self.fault.is_none() {
            return Poll::Ready(Ok(()));
        }
        // Closed with something unread, the kernel would reset the connection, and the peer could lose the Close frame.
        ready!(poll_drain(io, cx))?;
        Pin::new(io).poll_shutdown(cx)
    }
}

/// Reads to the end and keeps nothing.
fn poll_drain(io: &mut (impl AsyncRead + Unpin), cx: &mut Context<'_>) -> Poll<io::Result<()>> {
    with_read_buffer(|buffer| {
        for _ in 0..DRAIN_READS {
            let mut into = ReadBuf::new(buffer);
            ready!(Pin::new(&mut *io).poll_read(cx, &mut into))?;
            if into.filled().is_empty() {
                return Poll::Ready(Ok(()));
            }
        }
        yield_turn(cx);
        Poll::Pending
    })
}
