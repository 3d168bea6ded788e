//! [`SocketDriver`]: drives a machine over a stream.

mod ending;
mod reading;
mod stage;
mod writing;

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use stoop::rt::Turn;
use stoop::{DrainHold, Draining};
use tokio::io::{AsyncRead, AsyncWrite};

use crate::error::Error;
use crate::limits::Limits;
use crate::machine::{CloseCode, CloseReason, Event, Machine};
use crate::message::Misuse;
use crate::socket::buffers::{Inbox, Outbox};
use crate::socket::driver::stage::Stage;
use crate::socket::stall::Stall;
use crate::socket::watch::{SilenceStep, Watch};

/// A machine, its stream, and what is between them.
pub(crate) struct SocketDriver<S> {
    io: S,
    /// How many of the bytes that the stream has taken its peer has not, where that is known.
    backlog: fn(&S) -> usize,
    machine: Machine,
    inbox: Inbox,
    outbox: Outbox,
    /// Something was written to the stream since it was flushed.
    is_written: bool,
    watch: Watch,
    stall: Stall,
    turn: Turn,
    stage: Stage,
    limits: Limits,
    /// What the peer's Close frame said.
    close_reason: Option<CloseReason>,
    /// What says that the server drains, and holds the drain up meanwhile.
    going_away: Option<Box<(Draining, DrainHold)>>,
    pub(crate) protocol: Option<Box<str>>,
}

/// What a read has led to.
enum ReadResult {
    Event(Event),
    Bytes,
    End,
}

impl<S: AsyncRead + AsyncWrite + Unpin> SocketDriver<S> {
    pub(crate) fn new(io: S, machine: Machine, limits: Limits) -> Self {
        Self {
            io,
            backlog: |_| 0,
            machine,
            inbox: Inbox::default(),
            outbox: Outbox::default(),
            is_written: false,
            watch: Watch::default(),
            stall: Stall::default(),
            turn: Turn::default(),
            stage: Stage::Open,
            limits,
            close_reason: None,
            going_away: None,
            protocol: None,
        }
    }

    pub(crate) fn set_backlog(&mut self, backlog: fn(&S) -> usize) {
        self.backlog = backlog;
    }

    /// Has it closed with 1001 once the server drains, which waits for that.
    pub(crate) fn close_on_drain(&mut self, draining: Draining, hold: DrainHold) {
        self.going_away = Some(Box::new((draining, hold)));
    }

    /// Whether there is something for [`poll_flush`](Self::poll_flush) to do.
    #[inline]
    fn has_to_flush(&self) -> bool {
        self.is_written || !self.outbox.is_empty() || self.machine.has_to_send()
    }

    /// As [`poll_silence`](Self::poll_silence), which is not asked while its timer runs.
    #[inline]
    fn poll_silence_if_due(&mut self, cx: &mut Context<'_>) -> Poll<Error> {
        match self.machine.may_send() && self.watch.is_waiting(cx) {
            true => Poll::Pending,
            false => self.poll_silence(cx),
        }
    }

    /// Takes a Close frame once the server drains. Ready if it has.
    #[inline]
    fn poll_going_away(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let Some(going_away) = &mut self.going_away else { return Poll::Pending };
        if !self.machine.may_send() {
            return Poll::Pending;
        }
        ready!(Pin::new(&mut going_away.0).poll(cx));
        // It cannot fail: a Close frame may be sent, and has no reason that could be too long.
        let _ = self.close(CloseCode::GOING_AWAY, "");
        Poll::Ready(())
    }

    pub(crate) fn close_reason(&self) -> Option<&CloseReason> {
        self.close_reason.as_ref()
    }

    pub(crate) fn io(&self) -> &S {
        &self.io
    }

    /// Waits for the next event; `None` when the connection has ended by Close frames.
    pub(crate) fn poll_event(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Option<Event>, Error>> {
        loop {
            if self.turn.poll_step(cx).is_pending() {
                return self.poll_closing(cx);
            }
            match self.stage {
                Stage::Open => {}
                Stage::Ending(_) => return self.poll_end(cx),
                Stage::Ended | Stage::Failed => return Poll::Ready(Ok(None)),
            }
            if self.going_away.as_ref().is_some_and(|going_away| going_away.0.is_draining()) {
                let _ = self.poll_going_away(cx);
            }
            if let Some(event) = self.next_received() {
                match self.note(event) {
                    Some(event) => return Poll::Ready(Ok(Some(event))),
                    None => continue,
                }
            }
            if self.turn.is_over() {
                continue;
            }
            let flushed = match self.has_to_flush() {
                true => self.poll_flush(cx),
                false => Poll::Ready(Ok(())),
            };
            let flushed = match flushed {
                // What it sends does not hide that it takes nothing.
                Poll::Ready(Err(error @ Error::SendTimeout)) => {
                    return Poll::Ready(Err(self.failed(error)));
                }
                flushed => flushed,
            };
            let read = match self.poll_read(cx) {
                Poll::Ready(Ok(read)) => read,
                Poll::Ready(Err(error)) => return Poll::Ready(Err(self.failed(error.into()))),
                // What the peer sent before it went is read first.
                Poll::Pending => match (flushed, self.poll_silence_if_due(cx)) {
                    (Poll::Ready(Err(error)), _) | (_, Poll::Ready(error)) => {
                        return Poll::Ready(Err(self.failed(error)));
                    }
                    (_, Poll::Pending) if self.poll_going_away(cx).is_ready() => continue,
                    (_, Poll::Pending) if self.poll_message_timeout(cx).is_ready() => continue,
                    (_, Poll::Pending) => {
                        self.turn.begin();
                        return Poll::Pending;
                    }
                },
            };
            match read {
                ReadResult::Bytes => {}
                ReadResult::Event(event) => {
                    if let Some(event) = self.note(event) {
                        return Poll::Ready(Ok(Some(event)));
                    }
                }
                ReadResult::End => {
                    let error = match flushed {
                        Poll::Ready(Err(error)) => error,
                        _ => Error::EndedEarly,
                    };
                    return Poll::Ready(Err(self.failed(error)));
                }
            }
        }
    }

    pub(crate) fn ping(&mut self, payload: &[u8]) -> Result<(), Error> {
        let sent = self.machine.ping(payload, self.outbox.buffer());
        Ok(sent.inspect_err(|_| self.discard_empty())?)
    }

    pub(crate) fn pong(&mut self, payload: &[u8]) -> Result<(), Error> {
        let sent = self.machine.pong(payload, self.outbox.buffer());
        Ok(sent.inspect_err(|_| self.discard_empty())?)
    }

    /// Takes a Close frame. From now on the closing handshake has its time.
    pub(crate) fn close(&mut self, code: CloseCode, reason: &str) -> Result<(), Error> {
        if matches!(self.stage, Stage::Failed) {
            return Err(Misuse::Closed.into());
        }
        let sent = self.machine.close(code, reason, self.outbox.buffer());
        sent.inspect_err(|_| self.discard_empty())?;
        self.watch.stop();
        Ok(())
    }

    /// Ready with an error if the peer was silent for too long, or takes nothing.
    fn poll_silence(&mut self, cx: &mut Context<'_>) -> Poll<Error> {
        if !self.machine.may_send() {
            return self.watch.poll(self.limits.close_timeout, cx).map(|()| Error::CloseTimeout);
        }
        while ready!(self.watch.poll_silence(&self.limits, cx)) == SilenceStep::Ask {
            if self.machine.ping(b"", self.outbox.buffer()).is_ok() {
                // Another error shows when it is next read or written.
                if let Poll::Ready(Err(error @ Error::SendTimeout)) = self.poll_flush(cx) {
                    return Poll::Ready(error);
                }
            }
        }
        Poll::Ready(Error::PingTimeout)
    }

    /// Ready if the peer has not answered a Close frame in time, though it always sends something else.
    fn poll_closing(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<Event>, Error>> {
        if self.machine.may_send() || !matches!(self.stage, Stage::Open) {
            return Poll::Pending;
        }
        self.poll_silence(cx).map(|error| Err(self.failed(error)))
    }

    /// Ready if a message has taken too long: the peer is told so.
    fn poll_message_timeout(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let is_within = self.machine.is_within_message() && self.machine.may_send();
        ready!(self.watch.poll_message(self.limits.message_timeout, is_within, cx));
        let event = self.machine.give_up_message();
        self.note(event);
        Poll::Ready(())
    }
}
