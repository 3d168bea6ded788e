//! The end of a connection: how far it is, and what brings it there.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use stoop::rt::yield_turn;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::error::Error;
use crate::machine::Event;
use crate::socket::buffers::{Inbox, with_read_buffer};
use crate::socket::driver::SocketDriver;

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
    fault: Option<Error>,
    is_shut_down: bool,
}

impl<S: AsyncRead + AsyncWrite + Unpin> SocketDriver<S> {
    /// Whether nothing comes any more, and nothing can be sent.
    pub(crate) fn is_over(&self) -> bool {
        matches!(self.stage, Stage::Ended | Stage::Failed)
    }

    /// Notes what ends the connection. A fault is reported when it has.
    pub(super) fn note(&mut self, event: Event) -> Option<Event> {
        let fault = match event {
            Event::Message(_) => {
                self.watch.note_message();
                return Some(event);
            }
            Event::Ping(_) | Event::Pong(_) => return Some(event),
            Event::Close(ref reason) => {
                self.close_reason.clone_from(reason);
                None
            }
            Event::Fault(fault) => Some(Error::Fault(fault)),
        };
        let reported = fault.is_none().then_some(event);
        self.stage = Stage::Ending(Ending::new(fault));
        self.inbox = Inbox::default();
        self.watch.stop();
        reported
    }

    /// Sends what is left and ends the stream, in the time for it (RFC 6455 §7.1.1).
    pub(super) fn poll_end(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<Event>, Error>> {
        let flushed = self.poll_flush(cx);
        let is_sent = matches!(flushed, Poll::Ready(Ok(())));
        let ended = if is_sent { self.poll_ended(cx) } else { flushed };
        if ended.is_pending() && self.watch.poll(self.limits.close_timeout, cx).is_pending() {
            return Poll::Pending;
        }
        self.outbox.clear();
        self.watch.stop();
        let stage = if is_sent { Stage::Ended } else { Stage::Failed };
        match std::mem::replace(&mut self.stage, stage) {
            Stage::Ending(ending) => Poll::Ready(ending.fault.map_or(Ok(None), Err)),
            Stage::Open | Stage::Ended | Stage::Failed => Poll::Ready(Ok(None)),
        }
    }

    /// Ready when the stream is over, or has failed.
    fn poll_ended(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Stage::Ending(ending) = &mut self.stage else { return Poll::Ready(Ok(())) };
        ending.poll(&mut self.io, self.machine.is_server(), cx)
    }

    /// Fails where nothing can be sent any more for another reason than a Close frame.
    pub(super) fn check(&self) -> Result<(), Error> {
        match self.stage {
            Stage::Failed => {
                let text = "nothing can be sent any more";
                Err(io::Error::new(io::ErrorKind::NotConnected, text).into())
            }
            Stage::Open | Stage::Ending(_) | Stage::Ended => Ok(()),
        }
    }

    /// Ends the connection by an error, which is reported once.
    pub(super) fn failed(&mut self, error: Error) -> Error {
        self.stage = Stage::Failed;
        self.outbox.clear();
        self.inbox = Inbox::default();
        self.watch.stop();
        error
    }
}

impl Ending {
    fn new(fault: Option<Error>) -> Self {
        Self { fault, is_shut_down: false }
    }

    /// Ready when the stream is over, or has failed. Everything has been sent before.
    fn poll(
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
