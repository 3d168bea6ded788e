//! One exchange of a client over an HTTP/1 connection that it owns. Whoever waits for the response
//! drives it; there is no task and no channel.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use bytes::Bytes;
use http_body::Body as _;
use stoop_io::{AnyTransport, Filled, Output, Timer, Transport, now};
use stoop_proto::{BodySize, Fields, RequestHead, ResponseHead, h1};
use tokio::runtime::{Handle, Id};

use crate::body::{Body, from_map};
use crate::conn::Sink;
use crate::error::{Error, ErrorKind, Phase};
use crate::limits::ClientLimits;
use crate::upgrade::Upgraded;

/// A connection that speaks HTTP/1.
pub(crate) struct Http1 {
    pub(crate) io: AnyTransport,
    pub(crate) machine: h1::Client,
    out: Output,
    timer: Timer,
    /// The runtime that the transport is registered with.
    pub(crate) runtime: Id,
    pub(crate) idle_since: Instant,
    /// Exchanges it has carried.
    pub(crate) exchanges: u64,
}

impl Http1 {
    pub(crate) fn new(io: AnyTransport, runtime: Id) -> Box<Self> {
        Box::new(Self {
            io,
            machine: h1::Client::new(),
            out: Output::default(),
            timer: Timer::precise(),
            runtime,
            idle_since: now(),
            exchanges: 0,
        })
    }

    /// Whether another exchange may follow: nothing half said, nothing unasked.
    pub(crate) fn is_viable(&self) -> bool {
        self.machine.is_reusable() && self.out.is_empty() && self.io.received().is_empty()
    }
}

/// Where a connection goes when its exchange is over. What it is for is known there alone.
pub(crate) trait Home: Send + Sync {
    /// Takes a connection that another exchange may use.
    fn give_back(&self, connection: Box<Http1>);
    /// Learns that a connection is gone.
    fn gone(&self);
}

/// A connection on loan: dropped, it goes home or is closed. Nothing is awaited.
pub(crate) struct Lease {
    connection: Option<Box<Http1>>,
    home: Option<Arc<dyn Home>>,
}

impl Lease {
    pub(crate) fn new(connection: Box<Http1>, home: Arc<dyn Home>) -> Self {
        Self { connection: Some(connection), home: Some(home) }
    }

    /// The connection alone: its place is the caller's to account for.
    pub(crate) fn take(mut self) -> Option<Box<Http1>> {
        self.home = None;
        self.connection.take()
    }

    /// Closes the connection.
    pub(crate) fn close(mut self) {
        self.connection = None;
    }

    /// The connection.
    pub(crate) fn connection(&mut self) -> Option<&mut Box<Http1>> {
        self.connection.as_mut()
    }

    /// Moves the connection to the runtime we are on: the one it is registered with may not be
    /// running any more.
    pub(crate) fn come_here(&mut self) -> bool {
        let here = Handle::current().id();
        match self.connection.take() {
            Some(connection) if connection.runtime == here => self.connection = Some(connection),
            Some(connection) => {
                let mut connection = *connection;
                let Ok(io) = connection.io.rehome() else { return false };
                connection.io = io;
                connection.runtime = here;
                self.connection = Some(Box::new(connection));
            }
            None => return false,
        }
        true
    }

    fn release(&mut self) {
        let Some(home) = self.home.take() else { return };
        match self.connection.take() {
            Some(mut connection) if connection.is_viable() => {
                connection.exchanges += 1;
                home.give_back(connection);
            }
            connection => {
                drop(connection);
                home.gone();
            }
        }
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.release();
    }
}

/// Deadlines of an exchange. They share one timer: the nearest counts.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Deadlines {
    pub(crate) total: Option<Instant>,
    first_byte: Option<Instant>,
    read_idle: Option<Instant>,
    continue_by: Option<Instant>,
}

/// An exchange under way.
pub(crate) struct Exchange {
    lease: Lease,
    upload: Option<Body>,
    limits: Arc<ClientLimits>,
    deadlines: Deadlines,
    /// Sending failed; what the server said before may still explain it.
    send_error: Option<Error>,
    received_any: bool,
    ended: bool,
    trailers: Option<Box<Fields>>,
}

/// What came of waiting for a response's head.
pub(crate) enum Answered {
    /// A final head; `end` if no content follows.
    Head { end: bool },
    /// The connection was switched.
    Switched,
}

enum Step {
    Interim,
    Head { end: bool },
    Data { before: usize, len: usize, after: usize },
    End,
    Switched,
}

impl Exchange {
    /// Writes the request's head and as much of its content as is there.
    pub(crate) fn start(
        lease: Lease,
        head: &RequestHead,
        body: Body,
        limits: Arc<ClientLimits>,
        total: Option<Instant>,
    ) -> Result<Self, Error> {
        let mut exchange = Self {
            lease,
            upload: None,
            limits,
            deadlines: Deadlines { total, ..Deadlines::default() },
            send_error: None,
            received_any: false,
            ended: false,
            trailers: None,
        };
        let http1 = exchange.http1()?;
        let size = body.len().map_or(BodySize::Unknown, BodySize::Exact);
        let sent = http1.machine.send(head, size, &mut Sink(&mut http1.out));
        sent.map_err(|misuse| Error::misuse(misuse, Phase::Send))?;
        if size == BodySize::Exact(0) {
            exchange.finish_sending(None)?;
        } else {
            if http1.machine.is_awaiting_continue() {
                exchange.deadlines.continue_by = Some(now() + exchange.limits.time.expect_continue);
            }
            exchange.upload = Some(body);
        }
        Ok(exchange)
    }

    fn http1(&mut self) -> Result<&mut Http1, Error> {
        self.lease.connection.as_deref_mut().ok_or_else(|| no_connection(Phase::Receive))
    }

    /// Whether a byte of the response has come: then the request was processed, or may have been.
    pub(crate) fn has_received(&self) -> bool {
        self.received_any
    }

    pub(crate) fn take_trailers(&mut self) -> Option<Box<Fields>> {
        self.trailers.take()
    }

    pub(crate) fn content_remaining(&self) -> Option<u64> {
        if self.ended {
            return Some(0);
        }
        self.lease.connection.as_ref().map_or(Some(0), |http1| http1.machine.body_remaining())
    }

    /// Waits for the final head of the response.
    pub(crate) fn poll_head(
        &mut self,
        cx: &mut Context<'_>,
        head: &mut ResponseHead,
        interim: &mut dyn FnMut(&ResponseHead),
    ) -> Poll<Result<Answered, Error>> {
        loop {
            match std::task::ready!(self.poll_step(cx, head, Phase::Wait))? {
                Step::Interim => interim(head),
                Step::Head { end } => {
                    self.deadlines.first_byte = None;
                    if end {
                        self.end();
                    }
                    return Poll::Ready(Ok(Answered::Head { end }));
                }
                Step::Switched => return Poll::Ready(Ok(Answered::Switched)),
                Step::Data { .. } | Step::End => {
                    return Poll::Ready(Err(Error::new(ErrorKind::Internal, Phase::Wait)));
                }
            }
        }
    }

    /// The connection, after [`Answered::Switched`].
    pub(crate) fn into_upgraded(mut self) -> Result<Upgraded, Error> {
        let connection = self.lease.connection.take();
        let connection = connection.ok_or_else(|| no_connection(Phase::Wait))?;
        Ok(Upgraded(connection.io))
    }

    /// The next piece of content.
    pub(crate) fn poll_chunk(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Bytes, Error>>> {
        if self.ended {
            return Poll::Ready(None);
        }
        match std::task::ready!(self.poll_step(cx, &mut ResponseHead::default(), Phase::Receive)) {
            Ok(Step::Data { before, len, after }) => {
                let http1 = match self.http1() {
                    Ok(http1) => http1,
                    Err(error) => return Poll::Ready(Some(Err(error))),
                };
                http1.io.consume(before);
                let piece = http1.io.take(len);
                http1.io.consume(after);
                self.prefetch_end();
                Poll::Ready(Some(Ok(piece)))
            }
            Ok(_) => Poll::Ready(None),
            Err(error) => {
                self.ended = true;
                Poll::Ready(Some(Err(error)))
            }
        }
    }

    /// Shows all content to `look`, without making buffers of it.
    pub(crate) fn poll_all(
        &mut self,
        cx: &mut Context<'_>,
        look: &mut impl FnMut(&[u8]),
    ) -> Poll<Result<(), Error>> {
        let mut head = ResponseHead::default();
        while !self.ended {
            match std::task::ready!(self.poll_step(cx, &mut head, Phase::Receive)) {
                Ok(Step::Data { before, len, after }) => {
                    let http1 = self.http1()?;
                    look(&http1.io.received()[before..before + len]);
                    http1.io.consume(before + len + after);
                }
                Ok(_) => {}
                Err(error) => {
                    self.ended = true;
                    return Poll::Ready(Err(error));
                }
            }
        }
        Poll::Ready(Ok(()))
    }

    /// If the content is complete with the piece just given out, the connection goes home now, not
    /// when somebody asks for a piece that is not there.
    fn prefetch_end(&mut self) {
        if self.content_remaining() == Some(0) {
            let mut cx = Context::from_waker(Waker::noop());
            let _ = self.poll_step(&mut cx, &mut ResponseHead::default(), Phase::Receive);
        }
    }

    /// Sends what may be sent, then receives up to one event.
    fn poll_step(
        &mut self,
        cx: &mut Context<'_>,
        head: &mut ResponseHead,
        phase: Phase,
    ) -> Poll<Result<Step, Error>> {
        loop {
            self.push(cx);
            let Self { lease, limits, deadlines, .. } = self;
            let Some(http1) = lease.connection.as_deref_mut() else {
                return Poll::Ready(Err(no_connection(phase)));
            };
            let received = http1.machine.receive(http1.io.received(), head, &limits.wire);
            let event = match received.event {
                h1::Event::Data(span) => {
                    deadlines.read_idle = None;
                    let (before, len) = (span.start, span.len());
                    let after = received.consumed - span.end;
                    return Poll::Ready(Ok(Step::Data { before, len, after }));
                }
                event => {
                    http1.io.consume(received.consumed);
                    event
                }
            };
            let event = match event {
                h1::Event::NeedMore | h1::Event::Paused => {
                    match std::task::ready!(self.poll_fill(cx, phase))? {
                        Some(event) => event,
                        None => continue,
                    }
                }
                event => event,
            };
            return Poll::Ready(self.take(event, phase));
        }
    }

    /// What an event without content means.
    fn take(&mut self, event: h1::Event, phase: Phase) -> Result<Step, Error> {
        match event {
            h1::Event::Interim => Ok(Step::Interim),
            h1::Event::Head { end } => {
                // A switch shows as a head with a tunnel behind it.
                let http1 = self.http1()?;
                match http1.machine.is_switched() {
                    true => Ok(Step::Switched),
                    false => Ok(Step::Head { end }),
                }
            }
            h1::Event::End { trailers } => {
                if trailers {
                    self.trailers = self.http1()?.machine.take_trailers();
                }
                self.end();
                Ok(Step::End)
            }
            h1::Event::Tunnel => Ok(Step::Switched),
            h1::Event::Violation(violation) => {
                Err(self.explain(Error::violation(violation, phase)))
            }
            h1::Event::Closed => {
                let closed = Error::new(ErrorKind::ClosedEarly, phase);
                Err(self.explain(closed.with_detail("the server closed the connection")))
            }
            h1::Event::NeedMore | h1::Event::Paused | h1::Event::Data(_) => {
                Err(Error::new(ErrorKind::Internal, phase))
            }
        }
    }

    /// A send error tells more than the silence that followed it.
    fn explain(&mut self, error: Error) -> Error {
        match (error.kind(), self.send_error.take()) {
            (ErrorKind::ClosedEarly | ErrorKind::Reset, Some(send_error)) => send_error,
            (_, _) => error,
        }
    }

    fn end(&mut self) {
        self.ended = true;
        // An upload that the answer overtook is given up; its connection is then not viable.
        self.upload = None;
        self.lease.release();
    }

    /// Waits for bytes, or for the nearest deadline.
    fn poll_fill(
        &mut self,
        cx: &mut Context<'_>,
        phase: Phase,
    ) -> Poll<Result<Option<h1::Event>, Error>> {
        let room = self.limits.wire.head_bytes_max + 1;
        let http1 = self.http1()?;
        match http1.io.poll_fill(cx, room) {
            Poll::Ready(Ok(Filled::Bytes(_))) => {
                self.received_any = true;
                self.deadlines.first_byte = None;
                Poll::Ready(Ok(None))
            }
            Poll::Ready(Ok(Filled::End)) => {
                let rest = http1.io.received();
                Poll::Ready(Ok(Some(http1.machine.receive_end(rest))))
            }
            Poll::Ready(Ok(Filled::Full)) => {
                let error = Error::new(ErrorKind::H1Parse, phase);
                Poll::Ready(Err(error.with_detail("the response's head is too large")))
            }
            Poll::Ready(Err(error)) => Poll::Ready(Err(self.receive_error(error, phase))),
            Poll::Pending => self.poll_deadlines(cx, phase).map(|error| match error {
                Some(error) => Err(error),
                None => Ok(None),
            }),
        }
    }

    /// The transport failed. A TLS stream that ends without close_notify cuts short what only the
    /// end of the connection delimits, and nothing else (RFC 9112 §9.8).
    fn receive_error(&mut self, error: io::Error, phase: Phase) -> Error {
        let error = Error::io(error, phase);
        self.explain(error)
    }

    fn poll_deadlines(&mut self, cx: &mut Context<'_>, phase: Phase) -> Poll<Option<Error>> {
        let now = now();
        self.arm(now, phase);
        let Deadlines { total, first_byte, read_idle, continue_by } = self.deadlines;
        let nearest = [total, first_byte, read_idle, continue_by].into_iter().flatten().min();
        let Some(nearest) = nearest else { return Poll::Pending };
        let Ok(http1) = self.http1() else { return Poll::Pending };
        if now < nearest && http1.timer.poll(cx, Some(nearest)).is_pending() {
            return Poll::Pending;
        }
        let due = |deadline: Option<Instant>| deadline.is_some_and(|deadline| deadline <= nearest);
        if due(continue_by) {
            // RFC 9110 §10.1.1: the content is sent even if no 100 comes.
            self.deadlines.continue_by = None;
            return Poll::Ready(None);
        }
        let kind = match () {
            () if due(total) => ErrorKind::TotalTimeout,
            () if due(first_byte) => ErrorKind::FirstByteTimeout,
            () => ErrorKind::ReadTimeout,
        };
        let phase = match (self.upload.is_some(), phase) {
            (true, Phase::Wait) => Phase::Send,
            (_, phase) => phase,
        };
        Poll::Ready(Some(Error::new(kind, phase)))
    }

    /// Starts the deadlines of the phase that is being waited in.
    fn arm(&mut self, now: Instant, phase: Phase) {
        let time = &self.limits.time;
        match phase {
            Phase::Wait if self.upload.is_none() && self.deadlines.first_byte.is_none() => {
                self.deadlines.first_byte = time.first_byte.map(|limit| now + limit);
            }
            Phase::Receive if self.deadlines.read_idle.is_none() => {
                self.deadlines.read_idle = time.read_idle.map(|limit| now + limit);
            }
            _ => {}
        }
    }

    /// Sends as much as there is and the server takes.
    fn push(&mut self, cx: &mut Context<'_>) {
        if self.send_error.is_some() {
            return;
        }
        if self.upload.is_some()
            && let Err(error) = self.fill_output(cx)
        {
            self.send_error = Some(error);
            self.upload = None;
            if let Ok(http1) = self.http1() {
                http1.machine.abort();
            }
            return;
        }
        let Ok(http1) = self.http1() else { return };
        if http1.out.is_empty() && http1.io.unsent() == 0 {
            return;
        }
        if let Poll::Ready(Err(error)) = http1.io.poll_flush(cx, &mut http1.out) {
            http1.out.clear();
            self.send_error = Some(Error::io(error, Phase::Send));
            self.upload = None;
        }
    }

    /// Asks the request's body for more while there is room for it.
    fn fill_output(&mut self, cx: &mut Context<'_>) -> Result<(), Error> {
        let max = self.limits.output_bytes_max;
        loop {
            let waiting = self.deadlines.continue_by.is_some();
            let http1 = self.http1()?;
            if waiting && http1.machine.is_awaiting_continue() {
                return Ok(());
            }
            if http1.out.len() + http1.io.unsent() >= max {
                let _ = http1
                    .io
                    .poll_flush(cx, &mut http1.out)
                    .map_err(|e| Error::io(e, Phase::Send))?;
                if http1.out.len() + http1.io.unsent() >= max {
                    return Ok(());
                }
            }
            let Some(body) = &mut self.upload else { return Ok(()) };
            match Pin::new(body).poll_frame(cx) {
                Poll::Pending => return Ok(()),
                Poll::Ready(None) => return self.finish_sending(None),
                Poll::Ready(Some(Err(error))) => return Err(error),
                Poll::Ready(Some(Ok(frame))) => match frame.into_data() {
                    Ok(data) => {
                        let http1 = self.http1()?;
                        let sent = http1.machine.data(data, &mut Sink(&mut http1.out));
                        sent.map_err(|misuse| Error::misuse(misuse, Phase::Send))?;
                    }
                    Err(frame) => {
                        let mut fields = Fields::new();
                        if let Ok(map) = frame.into_trailers() {
                            from_map(&map, &mut fields);
                        }
                        return self.finish_sending(Some(&fields));
                    }
                },
            }
        }
    }

    fn finish_sending(&mut self, trailers: Option<&Fields>) -> Result<(), Error> {
        self.upload = None;
        self.deadlines.continue_by = None;
        let http1 = self.http1()?;
        let finished = http1.machine.finish(trailers, &mut Sink(&mut http1.out));
        finished.map_err(|misuse| Error::misuse(misuse, Phase::Send))
    }

    /// Whether the head has come while content is still being sent, so that somebody must go on
    /// driving the exchange though its owner may look elsewhere.
    pub(crate) fn is_uploading(&self) -> bool {
        self.upload.is_some()
    }
}

fn no_connection(phase: Phase) -> Error {
    Error::new(ErrorKind::Internal, phase).with_detail("the exchange has no connection")
}

impl Drop for Exchange {
    /// A little content that is here already is read, so that the connection can go home.
    fn drop(&mut self) {
        if self.ended || self.upload.is_some() {
            return;
        }
        let limit = self.limits.drain_bytes_max;
        let in_reach = self.content_remaining().is_some_and(|left| left <= limit);
        let is_content = self.lease.connection.as_ref().is_some_and(|c| c.machine.in_body());
        if in_reach && is_content {
            let mut cx = Context::from_waker(Waker::noop());
            let _ = self.poll_all(&mut cx, &mut |_| {});
        }
    }
}
