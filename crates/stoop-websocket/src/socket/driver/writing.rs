//! What the machine writes is given to a stream.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite};

use crate::error::Error;
use crate::machine::Payload;
use crate::message::MessageKind;
use crate::socket::driver::SocketDriver;
use crate::socket::driver::stage::Stage;

/// Bytes that wait to be sent beyond which Pongs wait too: of the Pings of a peer that does not read, only the newest are
/// answered (RFC 6455 §5.5.3).
const PONG_BEHIND_BYTES_MAX: usize = 16 * 1024;

impl<S: AsyncRead + AsyncWrite + Unpin> SocketDriver<S> {
    /// Waits until a message may be taken.
    pub(crate) fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        self.check()?;
        if self.outbox.len() > self.limits.write_buffer_bytes_max {
            ready!(self.poll_flush(cx)).map_err(|error| self.failed(error))?;
        }
        Poll::Ready(Ok(()))
    }

    /// Takes a message whole, and writes of a large one what the stream takes at once.
    pub(crate) fn send(
        &mut self,
        kind: MessageKind,
        payload: &[u8],
        cx: &mut Context<'_>,
    ) -> Result<(), Error> {
        self.check()?;
        let sent = self.machine.send(kind, payload, self.outbox.buffer());
        match sent.inspect_err(|_| self.discard_empty())? {
            Payload::Written => Ok(()),
            Payload::Follows => {
                let written = self.write_with(payload, cx);
                written.map_err(|error| self.failed(error))
            }
        }
    }

    /// Writes `payload` behind what waits, as far as it goes at once.
    fn write_with(&mut self, payload: &[u8], cx: &mut Context<'_>) -> Result<(), Error> {
        self.is_written = true;
        let before = self.outbox.len() + payload.len();
        self.outbox.write_with(payload, &mut self.io, cx)?;
        if self.outbox.is_empty() {
            self.stall.end();
            return Ok(());
        }
        if self.outbox.len() < before {
            self.stall.note_taken();
        }
        // The caller may go on without a flush, and of a divided connection the other end may be what waits.
        match self.poll_stall(cx) {
            Poll::Ready(error) => Err(error),
            Poll::Pending => Ok(()),
        }
    }

    /// Waits until everything has been given to the stream, within the time that the peer has to take anything.
    pub(crate) fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        let written = loop {
            let written = self.poll_written_with_pongs(cx);
            // Pongs may have waited behind much that was taken at once.
            if !matches!(written, Poll::Ready(Ok(()))) || !self.machine.has_to_send() {
                break written;
            }
        };
        match written {
            Poll::Ready(written) => {
                self.stall.end();
                Poll::Ready(written.map_err(Error::Io))
            }
            Poll::Pending => self.poll_stall(cx).map(Err),
        }
    }

    fn poll_written_with_pongs(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.machine.has_to_send()
            && (self.machine.has_received_all() || self.outbox.len() < PONG_BEHIND_BYTES_MAX)
        {
            self.machine.flush(self.outbox.buffer());
        }
        self.poll_written(cx)
    }

    fn poll_written(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if !self.outbox.is_empty() {
            self.is_written = true;
            let before = self.outbox.len();
            let written = self.outbox.poll_write(&mut self.io, cx);
            if self.outbox.len() < before {
                self.stall.note_taken();
            }
            ready!(written).inspect_err(|_| self.outbox.clear())?;
        }
        if self.is_written {
            ready!(Pin::new(&mut self.io).poll_flush(cx))?;
            self.is_written = false;
        }
        Poll::Ready(Ok(()))
    }

    /// Ready when the peer has taken nothing for too long. The wait begins here.
    fn poll_stall(&mut self, cx: &mut Context<'_>) -> Poll<Error> {
        let (io, backlog) = (&self.io, self.backlog);
        let stalled = self.stall.poll(self.limits.send_timeout, || backlog(io), cx);
        stalled.map(|()| Error::SendTimeout)
    }

    /// As [`poll_flush`](Self::poll_flush), for a caller.
    pub(crate) fn poll_flushed(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        self.check()?;
        self.poll_flush(cx).map_err(|error| self.failed(error))
    }

    /// The same after a Close frame of ours, within the time for the closing handshake: the caller may be the only one who waits.
    pub(crate) fn poll_close_sent(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        let flushed = self.poll_flushed(cx);
        if flushed.is_pending() && matches!(self.stage, Stage::Open) {
            return self.poll_silence(cx).map(|error| Err(self.failed(error)));
        }
        flushed
    }

    /// Gives back a buffer that was taken in vain.
    pub(super) fn discard_empty(&mut self) {
        if self.outbox.is_empty() {
            self.outbox.clear();
        }
    }
}
