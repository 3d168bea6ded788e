//! What brings a connection to its end.

use std::io;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite};

use crate::error::Error;
use crate::machine::Event;
use crate::socket::buffers::Inbox;
use crate::socket::driver::SocketDriver;
use crate::socket::driver::stage::{Ending, Stage};

impl<S: AsyncRead + AsyncWrite + Unpin> SocketDriver<S> {
    /// Whether nothing comes any more, and nothing can be sent.
    pub(crate) fn is_over(&self) -> bool {
        matches!(self.stage, Stage::Ended | Stage::Failed)
    }

    /// Notes what ends a message, and what ends the connection. A fault is reported when it has.
    #[inline]
    pub(super) fn note(&mut self, event: Event) -> Option<Event> {
        if let Event::Message(_) = event {
            self.watch.note_message();
            return Some(event);
        }
        self.note_other(event)
    }

    #[inline(never)]
    fn note_other(&mut self, event: Event) -> Option<Event> {
        let fault = match event {
            Event::Message(_) | Event::Ping(_) | Event::Pong(_) => return Some(event),
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

    /// Sends what is left and ends the stream, in the time for it (RFC 6455 §7.1.1), and for as long as the peer takes any.
    pub(super) fn poll_end(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<Event>, Error>> {
        let flushed = self.poll_flush(cx);
        let is_sent = matches!(flushed, Poll::Ready(Ok(())));
        let ended = if is_sent { self.poll_ended(cx).map_err(Error::Io) } else { flushed };
        if ended.is_pending() && self.watch.poll(self.limits.close_timeout, cx).is_pending() {
            return Poll::Pending;
        }
        let stalled = match ended {
            Poll::Ready(Err(error @ Error::SendTimeout)) => Some(error),
            _ => None,
        };
        self.outbox.clear();
        self.watch.stop();
        self.stall.end();
        let stage = if is_sent { Stage::Ended } else { Stage::Failed };
        match std::mem::replace(&mut self.stage, stage) {
            Stage::Ending(ending) => Poll::Ready(ending.fault.or(stalled).map_or(Ok(None), Err)),
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
        self.stall.end();
        error
    }
}
