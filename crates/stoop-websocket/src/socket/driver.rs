//! [`SocketDriver`]: drives a machine over a stream.

use std::future::Future;
use std::io;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};

use bytes::BufMut;
use stoop::{DrainHold, Draining};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, ReadBuf};

use crate::error::Error;
use crate::limits::Limits;
use crate::machine::{CloseCode, CloseReason, Event, Machine, Payload};
use crate::message::MessageKind;
use crate::socket::buffers::{Inbox, Outbox, with_read_buffer};
use crate::socket::ending::Ending;
use crate::socket::reading::receive;
use crate::socket::turn::Turn;
use crate::socket::watch::{SilenceStep, Watch};

/// Bytes that are missing of a payload from which on it is read into its message, and not copied there.
const DIRECT_BYTES_MIN: u64 = 8 * 1024;

/// Bytes that wait to be sent beyond which Pongs wait too: of the Pings of a peer that does not read, only the newest are
/// answered (RFC 6455 §5.5.3).
const PONG_BEHIND_BYTES_MAX: usize = 16 * 1024;

/// A machine, its stream, and what is between them.
pub(crate) struct SocketDriver<S> {
    io: S,
    machine: Machine,
    inbox: Inbox,
    outbox: Outbox,
    /// Something was written to the stream since it was flushed.
    is_written: bool,
    watch: Watch,
    turn: Turn,
    stage: Stage,
    limits: Limits,
    /// What the peer's Close frame said.
    close_reason: Option<CloseReason>,
    /// What says that the server drains, and holds the drain up meanwhile.
    going_away: Option<Box<(Draining, DrainHold)>>,
    pub(crate) protocol: Option<Box<str>>,
}

enum Stage {
    Open,
    /// A Close frame came, or the peer is at fault: what is left to send is sent, and the stream ended.
    Ending(Ending),
    Ended,
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
            machine,
            inbox: Inbox::default(),
            outbox: Outbox::default(),
            is_written: false,
            watch: Watch::default(),
            turn: Turn::default(),
            stage: Stage::Open,
            limits,
            close_reason: None,
            going_away: None,
            protocol: None,
        }
    }

    /// Has it closed with 1001 once the server drains, which waits for that.
    pub(crate) fn close_on_drain(&mut self, draining: Draining) {
        let hold = draining.hold();
        self.going_away = Some(Box::new((draining, hold)));
    }

    /// Takes a Close frame once the server drains. Ready if it has.
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
            ready!(self.turn.poll_step(cx));
            match self.stage {
                Stage::Open => {}
                Stage::Ending(_) => return self.poll_end(cx),
                Stage::Ended => return Poll::Ready(Ok(None)),
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
            let flushed = self.poll_flush(cx);
            let read = match self.poll_read(cx) {
                Poll::Ready(Ok(read)) => read,
                Poll::Ready(Err(error)) => return Poll::Ready(Err(self.failed(error.into()))),
                // What the peer sent before it went is read first.
                Poll::Pending => match (flushed, self.poll_silence(cx)) {
                    (Poll::Ready(Err(error)), _) => {
                        return Poll::Ready(Err(self.failed(error.into())));
                    }
                    (_, Poll::Ready(error)) => return Poll::Ready(Err(self.failed(error))),
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
                        Poll::Ready(Err(error)) => error.into(),
                        _ => Error::EndedEarly,
                    };
                    return Poll::Ready(Err(self.failed(error)));
                }
            }
        }
    }

    /// Waits until a message may be taken.
    pub(crate) fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        if self.outbox.len() > self.limits.write_buffer_bytes_max {
            ready!(self.poll_flush(cx)).map_err(|error| self.failed(error.into()))?;
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
        let sent = self.machine.send(kind, payload, self.outbox.buffer());
        match sent.inspect_err(|_| self.discard_empty())? {
            Payload::Written => Ok(()),
            Payload::Follows => {
                self.is_written = true;
                let written = self.outbox.write_with(payload, &mut self.io, cx);
                written.map_err(|error| self.failed(error.into()))
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
        let sent = self.machine.close(code, reason, self.outbox.buffer());
        sent.inspect_err(|_| self.discard_empty())?;
        self.watch.stop();
        Ok(())
    }

    /// Waits until everything has been given to the stream.
    pub(crate) fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.machine.has_to_send()
            && (self.machine.has_received_all() || self.outbox.len() < PONG_BEHIND_BYTES_MAX)
        {
            self.machine.flush(self.outbox.buffer());
        }
        if !self.outbox.is_empty() {
            self.is_written = true;
            let written = ready!(self.outbox.poll_write(&mut self.io, cx));
            written.inspect_err(|_| self.outbox.clear())?;
        }
        if self.is_written {
            ready!(Pin::new(&mut self.io).poll_flush(cx))?;
            self.is_written = false;
        }
        Poll::Ready(Ok(()))
    }

    /// As [`poll_flush`](Self::poll_flush), with an error of ours.
    pub(crate) fn poll_flushed(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        self.poll_flush(cx).map_err(|error| self.failed(error.into()))
    }

    fn next_received(&mut self) -> Option<Event> {
        if self.inbox.is_empty() {
            return None;
        }
        let received = receive(&mut self.machine, &mut self.turn, self.inbox.unread());
        self.inbox.consume(received.consumed);
        received.event
    }

    /// Notes what ends the connection. A fault is reported when it has.
    fn note(&mut self, event: Event) -> Option<Event> {
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
        self.watch.stop();
        reported
    }

    fn poll_read(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<ReadResult>> {
        if self.inbox.is_empty()
            && let Some((payload, missing)) = self.machine.direct()
            && missing >= DIRECT_BYTES_MIN
        {
            if payload.capacity() == payload.len() {
                // It doubles, so that memory is for what has come and not for what is announced.
                payload.reserve(usize::try_from(missing).unwrap_or(usize::MAX).min(payload.len()));
            }
            let room = usize::try_from(missing).unwrap_or(usize::MAX);
            let mut into = payload.limit(room);
            let n = ready!(pin!(self.io.read_buf(&mut into)).poll(cx))?;
            if n == 0 {
                return Poll::Ready(Ok(ReadResult::End));
            }
            self.watch.note_received();
            let event = self.machine.filled(n);
            return Poll::Ready(Ok(event.map_or(ReadResult::Bytes, ReadResult::Event)));
        }
        with_read_buffer(|buffer| {
            let begun = self.inbox.unread().len();
            let mut into = ReadBuf::new(&mut buffer[begun..]);
            ready!(Pin::new(&mut self.io).poll_read(cx, &mut into))?;
            let n = into.filled().len();
            if n == 0 {
                return Poll::Ready(Ok(ReadResult::End));
            }
            self.watch.note_received();
            buffer[..begun].copy_from_slice(self.inbox.unread());
            let received = receive(&mut self.machine, &mut self.turn, &mut buffer[..begun + n]);
            self.inbox.keep(&buffer[received.consumed..begun + n]);
            let read = received.event.map_or(ReadResult::Bytes, ReadResult::Event);
            Poll::Ready(Ok(read))
        })
    }

    /// Ready with an error if the peer was silent for too long.
    fn poll_silence(&mut self, cx: &mut Context<'_>) -> Poll<Error> {
        if !self.machine.may_send() {
            return self.watch.poll(self.limits.close_timeout, cx).map(|()| Error::CloseTimeout);
        }
        while ready!(self.watch.poll_silence(&self.limits, cx)) == SilenceStep::Ask {
            if self.machine.ping(b"", self.outbox.buffer()).is_ok() {
                // An error shows when it is next read or written.
                let _ = self.poll_flush(cx);
            }
        }
        Poll::Ready(Error::PingTimeout)
    }

    /// Ready if a message has taken too long: the peer is told so.
    fn poll_message_timeout(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let is_within = self.machine.is_within_message() && self.machine.may_send();
        ready!(self.watch.poll_message(self.limits.message_timeout, is_within, cx));
        let event = self.machine.give_up_message();
        self.note(event);
        Poll::Ready(())
    }

    /// Sends what is left and ends the stream, in the time for it (RFC 6455 §7.1.1).
    fn poll_end(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<Event>, Error>> {
        if self.poll_ended(cx).is_pending()
            && self.watch.poll(self.limits.close_timeout, cx).is_pending()
        {
            return Poll::Pending;
        }
        self.outbox.clear();
        self.watch.stop();
        match std::mem::replace(&mut self.stage, Stage::Ended) {
            Stage::Ending(ending) => Poll::Ready(ending.fault.map_or(Ok(None), Err)),
            Stage::Open | Stage::Ended => Poll::Ready(Ok(None)),
        }
    }

    /// Ready when the stream is over, or has failed.
    fn poll_ended(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_flush(cx))?;
        let Stage::Ending(ending) = &mut self.stage else { return Poll::Ready(Ok(())) };
        ending.poll(&mut self.io, self.machine.is_server(), cx)
    }

    fn failed(&mut self, error: Error) -> Error {
        self.stage = Stage::Ended;
        self.outbox.clear();
        self.inbox = Inbox::default();
        self.watch.stop();
        error
    }

    /// Gives back a buffer that was taken in vain.
    fn discard_empty(&mut self) {
        if self.outbox.is_empty() {
            self.outbox.clear();
        }
    }
}
