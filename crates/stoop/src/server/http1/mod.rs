//! One connection of a server: reads requests, runs handlers, writes responses.
//!
//! A round answers what can be answered and reads up to one event. When neither moves, everything
//! is sent in one call and the nearest is waited for: bytes, room to send, a handler, a deadline.
//! Handlers are polled right here: no task and no channel per request.
//!
//! `receive` is the reading half of a round, `answer` the other; `ending` is how a connection ends,
//! `waits` how long it may wait for what.

use std::collections::VecDeque;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Instant;

use stoop_io::{AnyTransport, Filled, Output, Timer, Transport};
use stoop_proto::{Violation, h1};

use crate::conn::recycle::{Recycle, RequestParts};
use crate::conn::slot::SlotWriter;
use crate::handler::Handler;
use crate::limits::ServerLimits;
use crate::response::Response;
use crate::server::control::{Control, Course, Seat};
use crate::server::ending::End;
use crate::server::shelf::{Place, Shelf};
use crate::server::waits::Waits;
use crate::upgrade::UpgradeSender;

/// Rounds in one go, after which other connections of the core get theirs.
const ROUNDS_MAX: u32 = 64;

/// For a client that takes everything as soon as it is there, output is gathered up to four times
/// the limit: sixteen calls of 64 KiB cost nearly twice what one of 1 MiB does.
const PACE_MAX: u32 = 2;

/// What the connections of one core share.
pub(crate) struct Core<H: Handler> {
    pub(crate) handler: H,
    pub(crate) limits: Arc<ServerLimits>,
    pub(crate) control: Arc<Control>,
    pub(super) shelf: Shelf<H::Future>,
}

impl<H: Handler> Core<H> {
    pub(crate) fn new(handler: H, limits: Arc<ServerLimits>, control: Arc<Control>) -> Arc<Self> {
        Arc::new(Self { handler, limits, control, shelf: Shelf::default() })
    }
}

/// A connection being served; done when it is over. `Send` exactly when the handler's future and
/// body are.
pub(crate) struct Connection<H: Handler>(Option<Driver<H>>);

impl<H: Handler> Connection<H> {
    pub(crate) fn new(
        io: AnyTransport,
        core: Arc<Core<H>>,
        timer: Timer,
        seat: Seat,
        balance: Option<stoop_io::Seat>,
    ) -> Self {
        Self(Some(Driver {
            io,
            machine: h1::Server::new(),
            out: Output::default(),
            exchanges: VecDeque::new(),
            held: None,
            waits: Waits::new(timer),
            requests: 0,
            pace: 0,
            stage: Stage::Handshake,
            violation: None,
            at_end: false,
            seat,
            balance,
            core,
        }))
    }
}

impl<H: Handler> Future for Connection<H> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let Some(driver) = &mut self.0 else { return Poll::Ready(()) };
        let end = ready!(driver.poll(cx));
        if let Some(driver) = self.0.take() {
            driver.end(end);
        }
        Poll::Ready(())
    }
}

impl<H: Handler> Unpin for Connection<H> {}

pub(super) struct Driver<H: Handler> {
    pub(super) io: AnyTransport,
    pub(super) core: Arc<Core<H>>,
    pub(super) machine: h1::Server,
    pub(super) out: Output,
    /// Requests not answered to the end, oldest first. One that its handler answers at once, with a
    /// buffer, never comes here. More than one only if all are parallel.
    pub(super) exchanges: VecDeque<Exchange<H>>,
    /// A request that was read and must wait until those before it are answered.
    pub(super) held: Option<Held>,
    pub(super) waits: Waits,
    pub(super) requests: u64,
    /// How often the limit of output was doubled.
    pub(super) pace: u32,
    pub(super) stage: Stage,
    /// What the client did wrong, to be answered once what came before it is.
    pub(super) violation: Option<Violation>,
    /// The client has said that it will send no more.
    pub(super) at_end: bool,
    pub(super) seat: Seat,
    /// Its place on its core, behind the transport because it is dropped after it.
    pub(super) balance: Option<stoop_io::Seat>,
}

/// What a connection is up to.
pub(super) enum Stage {
    /// TLS; over at once where there is none.
    Handshake,
    /// Requests and responses.
    Open,
    /// Content that nobody wants is read, to get to the next request.
    Discarding { left: u64, by: Instant },
    /// Everything is said, and still on its way.
    Closing { linger: bool },
    /// We have closed; the client gets time to read what we said (RFC 9112 §9.6).
    Lingering { left: u64, by: Instant },
    /// A response cannot be completed; the client must notice.
    Breaking,
    /// The connection is another protocol's once the head that says so was sent.
    Switching(UpgradeSender),
}

pub(super) enum Round {
    Again,
    Wait,
    End(End),
}

/// A request whose response is not finished.
pub(super) struct Exchange<H: Handler> {
    pub(super) answer: h1::Answer,
    pub(super) response: Responding<H>,
    /// Where the request's content goes, while there is some to come.
    pub(super) content: Option<SlotWriter>,
    /// Safe and without content: others may run beside it (RFC 9112 §9.3.2).
    pub(super) parallel: bool,
    /// It was woken, or may have been.
    pub(super) due: bool,
}

pub(super) enum Responding<H: Handler> {
    Running(Place<H::Future>),
    There(Response<H::Body>),
    Sending(Pin<Box<H::Body>>),
}

/// A request whose handler was not called yet.
pub(super) struct Held {
    pub(super) parts: Recycle<RequestParts>,
    /// Nothing follows its head.
    pub(super) end: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Read {
    /// Something was read: there may be more to do.
    Moved,
    /// Nothing may be read now.
    Held,
    /// Nothing is to be read, but that the client is gone is to be noticed: by reading, at most what
    /// one call brings.
    Watches,
    /// The next request's bytes are needed.
    WantsHead,
    /// Bytes of content that somebody waits for are needed.
    WantsContent,
}

impl<H: Handler> Driver<H> {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<End> {
        self.seat.take(cx.waker());
        if self.core.control.course() == Course::Closing {
            if !self.is_finished() {
                self.core.control.cut_one_off();
            }
            return Poll::Ready(End::Broken);
        }
        self.exchanges.iter_mut().for_each(|exchange| exchange.due = true);
        for _ in 0..ROUNDS_MAX {
            match self.round(cx) {
                Round::Again => {}
                Round::Wait => return Poll::Pending,
                Round::End(end) => return Poll::Ready(end),
            }
        }
        cx.waker().wake_by_ref();
        match self.flush(cx) {
            Poll::Ready(false) => Poll::Ready(End::Closed),
            _ => Poll::Pending,
        }
    }

    fn round(&mut self, cx: &mut Context<'_>) -> Round {
        match self.stage {
            Stage::Handshake => self.handshake(cx),
            Stage::Open | Stage::Discarding { .. } => self.serve(cx),
            Stage::Closing { linger } => self.close(linger, cx),
            Stage::Lingering { left, .. } => self.linger(left, cx),
            Stage::Breaking => self.flush_and_end(End::Broken, cx),
            Stage::Switching(_) => self.flush_and_end(End::Switched, cx),
        }
    }

    fn handshake(&mut self, cx: &mut Context<'_>) -> Round {
        match self.io.poll_handshake(cx) {
            Poll::Ready(Ok(())) => {
                self.waits.restart();
                self.stage = Stage::Open;
                // The first request may have come with the handshake's last message: then what TLS
                // still has to send leaves with its answer. What fails here fails again.
                let _ = self.io.poll_fill(cx, self.room());
                Round::Again
            }
            Poll::Ready(Err(_)) => Round::End(End::Closed),
            Poll::Pending => self.wait(cx, Read::Held),
        }
    }

    fn serve(&mut self, cx: &mut Context<'_>) -> Round {
        let answered = self.answer(cx);
        if !self.is_serving() {
            return Round::Again;
        }
        let read = self.read(cx);
        if answered || read == Read::Moved {
            return Round::Again;
        }
        let was_full = self.is_full();
        if self.flush(cx) == Poll::Ready(false) {
            return Round::End(End::Closed);
        }
        if was_full && !self.is_full() {
            // There is room again, and nobody else would wake us to use it.
            return Round::Again;
        }
        match read {
            Read::Held | Read::Moved => return self.wait(cx, read),
            Read::Watches if self.at_end || !self.io.received().is_empty() => {
                return self.wait(cx, read);
            }
            Read::WantsHead | Read::WantsContent if self.at_end => return self.ended(cx),
            Read::Watches | Read::WantsHead | Read::WantsContent => {}
        }
        match self.io.poll_fill(cx, self.room()) {
            Poll::Ready(Ok(Filled::Bytes(_))) => Round::Again,
            // What follows from it is seen when more is wanted.
            Poll::Ready(Ok(Filled::End)) => {
                self.at_end = true;
                Round::Again
            }
            Poll::Ready(Ok(Filled::Full) | Err(_)) => Round::End(End::Closed),
            Poll::Pending if self.is_drained() => {
                self.stage = Stage::Closing { linger: false };
                Round::Again
            }
            Poll::Pending => self.wait(cx, read),
        }
    }

    pub(super) fn is_serving(&self) -> bool {
        matches!(self.stage, Stage::Open | Stage::Discarding { .. })
    }

    /// How many bytes may wait unread: one more than a limit allows, so that it is seen exceeded.
    fn room(&self) -> usize {
        let wire = &self.core.limits.wire;
        wire.head_bytes_max.max(wire.trailers_bytes_max).saturating_add(1)
    }

    /// How much is on its way to the client and not the kernel's yet.
    #[inline]
    pub(super) fn unsent(&self) -> usize {
        self.out.len() + self.io.unsent()
    }

    /// Whether so much is that nothing more is begun.
    #[inline]
    pub(super) fn is_full(&self) -> bool {
        self.unsent() >= self.core.limits.output_bytes_max.saturating_mul(1 << self.pace)
    }

    /// Sends what there is. Ready with whether all of it is gone, rather than the client.
    pub(super) fn flush(&mut self, cx: &mut Context<'_>) -> Poll<bool> {
        if self.unsent() == 0 {
            return Poll::Ready(true);
        }
        self.flush_by(cx, AnyTransport::poll_flush)
    }

    /// The same, when nothing will follow.
    pub(super) fn flush_last(&mut self, cx: &mut Context<'_>) -> Poll<bool> {
        self.flush_by(cx, AnyTransport::poll_flush_last)
    }

    fn flush_by(
        &mut self,
        cx: &mut Context<'_>,
        flush: fn(&mut AnyTransport, &mut Context<'_>, &mut Output) -> Poll<io::Result<()>>,
    ) -> Poll<bool> {
        let before = self.unsent();
        let was_full = self.is_full();
        let flushed = flush(&mut self.io, cx, &mut self.out);
        self.pace = match flushed {
            Poll::Ready(_) if was_full => (self.pace + 1).min(PACE_MAX),
            Poll::Ready(_) => self.pace,
            Poll::Pending => 0,
        };
        if self.unsent() < before {
            self.waits.sent_some();
        }
        flushed.map(|sent| sent.is_ok())
    }

    /// Waits for whoever wakes us, or the nearest deadline.
    pub(super) fn wait(&mut self, cx: &mut Context<'_>, read: Read) -> Round {
        match self.poll_late(cx, read) {
            Poll::Pending => Round::Wait,
            Poll::Ready(round) => round,
        }
    }
}

#[cfg(test)]
mod tests;
