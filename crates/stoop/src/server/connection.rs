//! One connection of a server: reads requests, runs handlers, writes responses.
//!
//! A round answers what can be answered and reads up to one event. When neither moves, everything
//! is sent in one call and the nearest is waited for: bytes, room to send, a handler, a deadline.
//! Handlers are polled right here: no task and no channel per request.

use std::collections::VecDeque;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Instant;

use http::StatusCode;
use stoop_io::{AnyTransport, Filled, Output, Timer, Transport, now};
use stoop_proto::{Violation, h1};

use crate::body::{Body, Kind};
use crate::conn::recycle::{Recycle, RequestParts};
use crate::conn::slot::{SlotWriter, slot};
use crate::conn::{Sink, date};
use crate::error::{Error, Phase};
use crate::handler::{Answer, Handler};
use crate::limits::ServerLimits;
use crate::request::Request;
use crate::response::Response;
use crate::server::control::{Control, Course};
use crate::server::shelf::{Place, Shelf};
use crate::server::waits::Waits;
use crate::upgrade::{UpgradeSender, Upgraded};

/// Rounds in one go, after which other connections of the core get theirs.
const ROUNDS_MAX: u32 = 64;

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
        balance: Option<stoop_io::Seat>,
    ) -> Self {
        Self(Some(Driver {
            io,
            machine: h1::Server::new(),
            out: Output::default(),
            exchanges: VecDeque::new(),
            waits: Waits::new(timer),
            requests: 0,
            stage: Stage::Handshake,
            violation: None,
            seat: Seat::new(core.control.clone()),
            _balance: balance,
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

/// A connection's place among those of its server.
struct Seat {
    control: Arc<Control>,
    place: Option<usize>,
}

impl Seat {
    fn new(control: Arc<Control>) -> Self {
        control.enter();
        Self { control, place: None }
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.control.leave(self.place);
    }
}

pub(super) struct Driver<H: Handler> {
    pub(super) io: AnyTransport,
    pub(super) core: Arc<Core<H>>,
    pub(super) machine: h1::Server,
    pub(super) out: Output,
    /// Requests not answered to the end, oldest first. One that its handler answers at once, with a
    /// buffer, never comes here.
    pub(super) exchanges: VecDeque<Exchange<H>>,
    pub(super) waits: Waits,
    pub(super) requests: u64,
    pub(super) stage: Stage,
    /// What the client did wrong, to be answered once what came before it is.
    violation: Option<Violation>,
    seat: Seat,
    /// Its place on its core, behind the transport because it is dropped after it.
    _balance: Option<stoop_io::Seat>,
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

enum End {
    Closed,
    Broken,
    Switched,
}

enum Round {
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
    parallel: bool,
    /// It was woken, or may have been.
    pub(super) due: bool,
}

pub(super) enum Responding<H: Handler> {
    Running(Place<H::Future>),
    There(Response<H::Body>),
    Sending(Pin<Box<H::Body>>),
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Read {
    /// Something was read: there may be more to do.
    Moved,
    /// Nothing may be read now.
    Held,
    /// The next request's bytes are needed.
    WantsHead,
    /// Bytes of content that somebody waits for are needed.
    WantsContent,
}

impl<H: Handler> Driver<H> {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<End> {
        if self.seat.place.is_none() {
            self.seat.place = Some(self.core.control.list(cx.waker()));
        }
        if self.core.control.course() == Course::Closing {
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
        match self.io.poll_flush(cx, &mut self.out) {
            Poll::Ready(Err(_)) => Poll::Ready(End::Closed),
            _ => Poll::Pending,
        }
    }

    fn round(&mut self, cx: &mut Context<'_>) -> Round {
        match self.stage {
            Stage::Handshake => self.handshake(cx),
            Stage::Open | Stage::Discarding { .. } => self.serve(cx),
            Stage::Closing { linger } => match self.flush(cx) {
                Poll::Pending => self.wait(cx, Read::Held),
                Poll::Ready(true) if linger => {
                    let time = &self.core.limits.time;
                    let left = self.core.limits.drain_bytes_max;
                    self.stage = Stage::Lingering { left, by: now() + time.linger };
                    Round::Again
                }
                Poll::Ready(_) => Round::End(End::Closed),
            },
            Stage::Lingering { left, .. } => self.linger(left, cx),
            Stage::Breaking => match self.flush(cx) {
                Poll::Pending => self.wait(cx, Read::Held),
                Poll::Ready(_) => Round::End(End::Broken),
            },
            Stage::Switching(_) => match self.flush(cx) {
                Poll::Pending => self.wait(cx, Read::Held),
                Poll::Ready(true) => Round::End(End::Switched),
                Poll::Ready(false) => Round::End(End::Closed),
            },
        }
    }

    fn handshake(&mut self, cx: &mut Context<'_>) -> Round {
        match self.io.poll_handshake(cx) {
            Poll::Ready(Ok(())) => {
                self.waits.restart();
                self.stage = Stage::Open;
                Round::Again
            }
            Poll::Ready(Err(_)) => Round::End(End::Closed),
            Poll::Pending => self.wait(cx, Read::Held),
        }
    }

    fn serve(&mut self, cx: &mut Context<'_>) -> Round {
        let answered = self.answer(cx);
        if !matches!(self.stage, Stage::Open | Stage::Discarding { .. }) {
            return Round::Again;
        }
        let read = self.read(cx);
        if answered || read == Read::Moved {
            return Round::Again;
        }
        if self.flush(cx) == Poll::Ready(false) {
            return Round::End(End::Closed);
        }
        if read == Read::Held {
            return self.wait(cx, read);
        }
        let room = self.core.limits.wire.head_bytes_max + 1;
        match self.io.poll_fill(cx, room) {
            Poll::Ready(Ok(Filled::Bytes(_))) => Round::Again,
            Poll::Ready(Ok(Filled::End)) => self.ended(cx),
            Poll::Ready(Ok(Filled::Full) | Err(_)) => Round::End(End::Closed),
            Poll::Pending => self.wait(cx, read),
        }
    }

    /// Sends what there is. Ready with whether all of it is gone, rather than the client.
    fn flush(&mut self, cx: &mut Context<'_>) -> Poll<bool> {
        if self.out.is_empty() && self.io.unsent() == 0 {
            return Poll::Ready(true);
        }
        self.io.poll_flush(cx, &mut self.out).map(|sent| sent.is_ok())
    }

    /// Reads up to one event.
    fn read(&mut self, cx: &mut Context<'_>) -> Read {
        if let Some(violation) = self.violation {
            if !self.exchanges.is_empty() {
                return Read::Held;
            }
            let date = date::now();
            self.machine.refuse(violation, Some(&date), &mut Sink(&mut self.out));
            self.stage = Stage::Closing { linger: true };
            return Read::Moved;
        }
        if self.out.len() + self.io.unsent() >= self.core.limits.output_bytes_max {
            return Read::Held;
        }
        if self.machine.in_body() {
            return self.read_content(cx);
        }
        self.stage = Stage::Open;
        if !self.exchanges.iter().all(|exchange| exchange.parallel) {
            return Read::Held;
        }
        let drained = self.core.control.course() != Course::Running;
        if drained && self.exchanges.is_empty() && self.io.received().is_empty() {
            self.stage = Stage::Closing { linger: true };
            return Read::Moved;
        }
        self.read_head(cx)
    }

    fn read_head(&mut self, cx: &mut Context<'_>) -> Read {
        if self.io.received().is_empty() {
            return Read::WantsHead;
        }
        let mut parts = Recycle::<RequestParts>::new();
        let limits = &self.core.limits.wire;
        let received = self.machine.receive(self.io.received(), &mut parts.head, limits);
        self.io.consume(received.consumed);
        match received.event {
            h1::Event::Head { end } => self.start(parts, end, cx),
            h1::Event::NeedMore => return Read::WantsHead,
            h1::Event::Violation(violation) => self.violation = Some(violation),
            _ => return Read::Held,
        }
        Read::Moved
    }

    /// Runs the handler of a request whose head was read.
    fn start(&mut self, mut parts: Recycle<RequestParts>, end: bool, cx: &mut Context<'_>) {
        self.requests += 1;
        self.waits.restart();
        let answer = self.machine.answer();
        let (mut content, mut body) = (None, Body::empty());
        if !end {
            if let Err(violation) = self.machine.foresee(self.io.received(), &self.core.limits.wire)
            {
                self.violation = Some(violation);
                return;
            }
            let (writer, reader) = slot();
            (content, body) = (Some(writer), Body(Kind::Request(reader)));
        }
        let parallel = end && parts.head.method().is_safe();
        parts.peer = Some(self.io.peer());
        let request = Request { parts, body };
        let core = &self.core;
        let response = match catch_unwind(AssertUnwindSafe(|| core.handler.call(request))) {
            Ok(Answer::Now(response)) if self.exchanges.is_empty() => {
                match self.begin(answer, content.as_ref(), response, cx) {
                    Some(response) => response,
                    None => return,
                }
            }
            Ok(Answer::Now(response)) => Responding::There(response),
            Ok(Answer::Later(future)) => Responding::Running(core.shelf.place(future)),
            // The panic's message has been shown by the program's panic hook.
            Err(_) => Responding::There(Response::failure(StatusCode::INTERNAL_SERVER_ERROR)),
        };
        self.exchanges.push_back(Exchange { answer, response, content, parallel, due: true });
    }

    /// Reads content for whoever wants it, or nobody.
    fn read_content(&mut self, cx: &mut Context<'_>) -> Read {
        let content = self.exchanges.back_mut().and_then(|exchange| exchange.content.as_mut());
        if let Some(content) = content {
            if content.is_dropped() || !content.is_wanted(cx) {
                self.waits.content_is_unwanted();
                return Read::Held;
            }
            self.machine.send_continue(&mut Sink(&mut self.out));
        } else if !matches!(self.stage, Stage::Discarding { .. }) {
            return Read::Held;
        }
        let limits = &self.core.limits.wire;
        let received = self.machine.receive_content(self.io.received(), limits);
        match received.event {
            h1::Event::Data(span) => {
                self.io.consume(span.start);
                self.deliver(span.len(), cx);
                self.io.consume(received.consumed - span.end);
            }
            h1::Event::End { .. } => {
                self.io.consume(received.consumed);
                let trailers = self.machine.take_trailers();
                if let Some(exchange) = self.exchanges.back_mut()
                    && let Some(content) = exchange.content.take()
                {
                    exchange.due |= content.end(Ok(()), trailers, cx);
                }
                self.waits.restart();
            }
            h1::Event::Violation(violation) => self.content_violated(violation, cx),
            _ => {
                self.io.consume(received.consumed);
                return Read::WantsContent;
            }
        }
        Read::Moved
    }

    fn deliver(&mut self, len: usize, cx: &mut Context<'_>) {
        self.waits.content_came(len);
        if let Some(exchange) = self.exchanges.back_mut()
            && let Some(content) = &exchange.content
        {
            exchange.due |= content.put(self.io.take(len), cx);
            return;
        }
        self.io.consume(len);
        if let Stage::Discarding { left, .. } = &mut self.stage {
            match left.checked_sub(len as u64) {
                Some(less) => *left = less,
                None => self.stage = Stage::Closing { linger: true },
            }
        }
    }

    /// Content turned out malformed, or was cut short. If no response was begun, the violation is
    /// the response, and the handler is stopped; else the response cannot be trusted to be read.
    pub(super) fn content_violated(&mut self, violation: Violation, cx: &mut Context<'_>) {
        match self.exchanges.pop_back() {
            None => self.stage = Stage::Closing { linger: true },
            Some(mut exchange) => {
                if let Some(content) = exchange.content.take() {
                    content.end(Err(Error::violation(violation, Phase::Receive)), None, cx);
                }
                match exchange.response {
                    Responding::Running(place) => self.core.shelf.put_back(place),
                    Responding::There(_) => {}
                    Responding::Sending(_) => {
                        self.machine.abort();
                        self.stage = Stage::Breaking;
                        return;
                    }
                }
                self.violation = Some(violation);
            }
        }
    }

    /// The client will send no more. What it asked for is still answered.
    fn ended(&mut self, cx: &mut Context<'_>) -> Round {
        match self.machine.receive_end(self.io.received()) {
            h1::Event::Violation(violation)
                if self.exchanges.back().is_some_and(|e| e.content.is_some()) =>
            {
                self.content_violated(violation, cx);
            }
            h1::Event::Violation(violation) => self.violation = Some(violation),
            _ if self.exchanges.is_empty() => self.stage = Stage::Closing { linger: false },
            _ => {}
        }
        Round::Again
    }

    fn linger(&mut self, left: u64, cx: &mut Context<'_>) -> Round {
        if let Poll::Ready(Err(_)) = self.io.poll_shutdown(cx) {
            return Round::End(End::Closed);
        }
        let waiting = self.io.received().len();
        self.io.consume(waiting);
        match self.io.poll_fill(cx, usize::MAX) {
            Poll::Ready(Ok(Filled::Bytes(n))) => match left.checked_sub(n as u64) {
                Some(less) => {
                    if let Stage::Lingering { left, .. } = &mut self.stage {
                        *left = less;
                    }
                    Round::Again
                }
                None => Round::End(End::Closed),
            },
            Poll::Ready(_) => Round::End(End::Closed),
            Poll::Pending => self.wait(cx, Read::Held),
        }
    }

    /// Waits for whoever wakes us, or the nearest deadline.
    fn wait(&mut self, cx: &mut Context<'_>, read: Read) -> Round {
        match self.poll_late(cx, read) {
            Poll::Pending => Round::Wait,
            Poll::Ready(true) => Round::Again,
            Poll::Ready(false) => Round::End(End::Closed),
        }
    }

    fn end(self, end: End) {
        match end {
            End::Closed => {}
            End::Broken => self.io.reset_on_close(),
            End::Switched => {
                if let Stage::Switching(sender) = self.stage {
                    // If nobody waits for it any more, this closes it.
                    let _ = sender.send(Upgraded(self.io));
                }
            }
        }
    }
}
