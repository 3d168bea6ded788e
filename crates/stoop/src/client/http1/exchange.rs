//! One exchange of a client over an HTTP/1 connection that it owns. The task that waits for the response
//! drives it; there is no task of its own and no channel.

use std::io;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use stoop_io::{FillResult, Transport, now};
use stoop_proto::{BodySize, CloseReason, Fields, RequestHead, ResponseHead, h1};

use crate::body::Body;
use crate::client::deadlines::{Deadlines, ExchangeTimes, Waiting};
use crate::client::http1::Http1;
use crate::client::http1::upload::Http1Upload;
use crate::client::pool::Lease;
use crate::client::response_start::ResponseStart;
use crate::conn::OutputSink;
use crate::connection_info::CarriedBytes;
use crate::error::{Error, ErrorKind, Phase};
use crate::limits::{ClientLimits, ClientTime, after, unread_bytes_max};
use crate::upgrade::Upgraded;

/// The last pause of the wait for a reset, after one that is half as long and so on: half a second in all, a long
/// round trip.
const REFUSAL_PAUSE_MAX: Duration = Duration::from_millis(256);

/// An exchange under way.
pub(crate) struct Http1Exchange {
    pub(super) lease: Lease,
    upload: Http1Upload,
    pub(super) limits: Arc<ClientLimits>,
    pub(super) deadlines: Deadlines,
    received_any: bool,
    /// It failed, and the server may not have received the request.
    is_doubtful: bool,
    /// No content follows any more. The request may still be on its way.
    pub(super) ended: bool,
    pub(super) trailers: Option<Box<Fields>>,
}

pub(super) enum ExchangeStep {
    Interim,
    Head(CarriedBytes),
    Data { before: usize, len: usize, after: usize },
    End,
    Switched,
}

impl Http1Exchange {
    /// Takes a request's head and content; nothing is sent before a response is waited for.
    pub(crate) fn start(
        mut lease: Lease,
        head: &RequestHead,
        body: Body,
        limits: Arc<ClientLimits>,
        times: ExchangeTimes,
    ) -> Result<Box<Self>, Error> {
        let mut deadlines = Deadlines::new(times, (head.method(), &body), &limits.time);
        let http1 = connection(&mut lease, Phase::Request)?;
        let mut upload = Http1Upload::default();
        (http1.since, http1.attempt) = (times.called, times.attempt);
        http1.unacknowledged_from = Some(http1.wire.position());
        let size = body.len().map_or(BodySize::Unknown, BodySize::Exact);
        let sent = http1.machine.send(head, size, &mut OutputSink(&mut http1.wire.out));
        sent.map_err(|misuse| Error::misuse(misuse, Phase::Request))?;
        if size == BodySize::Exact(0) {
            upload.finish(http1, None)?;
        } else {
            if http1.machine.is_awaiting_continue() {
                deadlines.continue_by = Some(after(times.now, limits.time.expect_continue));
            }
            upload.body = Some(body);
        }
        let (received_any, is_doubtful, ended, trailers) = (false, false, false, None);
        Ok(Box::new(Self {
            lease,
            upload,
            limits,
            deadlines,
            received_any,
            is_doubtful,
            ended,
            trailers,
        }))
    }

    /// Whether a byte of the response has come: then the request was processed, or may have been.
    pub(crate) fn has_received(&self) -> bool {
        self.received_any
    }

    /// Whether all content has been given out.
    pub(crate) fn has_ended(&self) -> bool {
        self.ended
    }

    /// Whether the request is still being sent, so that the exchange must be driven though its owner may
    /// look elsewhere.
    pub(crate) fn is_uploading(&self) -> bool {
        let http1 = self.lease.connection();
        http1.is_some_and(|http1| self.upload.waiting(http1, &self.deadlines).is_some())
    }

    /// Waits for the final head of the response.
    pub(crate) fn poll_head(
        &mut self,
        cx: &mut Context<'_>,
        head: &mut ResponseHead,
        interim: &mut dyn FnMut(&ResponseHead),
    ) -> Poll<Result<ResponseStart, Error>> {
        loop {
            match ready!(self.poll_step(cx, head, Phase::Wait))? {
                ExchangeStep::Interim => interim(head),
                ExchangeStep::Head(carried) => {
                    return Poll::Ready(Ok(ResponseStart::Head(carried)));
                }
                ExchangeStep::Switched => return Poll::Ready(Ok(ResponseStart::Switched)),
                ExchangeStep::Data { .. } | ExchangeStep::End => {
                    return Poll::Ready(Err(Error::new(ErrorKind::Internal, Phase::Wait)));
                }
            }
        }
    }

    /// The connection, after [`ResponseStart::Switched`].
    pub(crate) fn into_upgraded(mut self) -> Result<Upgraded, Error> {
        let http1 = self.lease.take().ok_or_else(|| no_connection(Phase::Wait))?;
        Ok(Upgraded { io: http1.wire.io, keep: None, head: None, tunnel: None })
    }

    /// Drives the sending alone; ready when there is nothing more to send.
    pub(crate) fn poll_upload(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        loop {
            let Self { lease, upload, limits, deadlines, ended, .. } = self;
            let Some(http1) = lease.connection_mut() else { return Poll::Ready(Ok(())) };
            if let Err(error) = upload.push(cx, http1, deadlines, limits.output_bytes_max) {
                return Poll::Ready(Err(self.fail(error)));
            }
            let Some(waiting) = upload.waiting(http1, deadlines) else {
                if self.ended {
                    self.lease.release();
                }
                return Poll::Ready(Ok(()));
            };
            // Behind the response, the caller may have forgotten what it has not sent.
            let waiting = if *ended { Waiting::Sending } else { waiting };
            let late = poll_deadline(cx, http1, deadlines, waiting, &limits.time);
            if let Some(error) = ready!(late) {
                return Poll::Ready(Err(self.fail(error)));
            }
        }
    }

    /// Sends what may be sent, then receives up to one event.
    pub(super) fn poll_step(
        &mut self,
        cx: &mut Context<'_>,
        head: &mut ResponseHead,
        phase: Phase,
    ) -> Poll<Result<ExchangeStep, Error>> {
        loop {
            let Self { lease, upload, limits, deadlines, .. } = self;
            let http1 = connection(lease, phase)?;
            if let Err(error) = upload.push(cx, http1, deadlines, limits.output_bytes_max) {
                return Poll::Ready(Err(self.fail(error)));
            }
            let awaited = http1.machine.is_awaiting_continue();
            let received = http1.machine.receive(http1.wire.io.received(), head, &limits.wire);
            if let h1::Event::Data(span) = received.event {
                deadlines.content_came(span.len(), &limits.time);
                let (before, len) = (span.start, span.len());
                let after = received.consumed - span.end;
                return Poll::Ready(Ok(ExchangeStep::Data { before, len, after }));
            }
            http1.wire.io.consume(received.consumed);
            let event = match received.event {
                h1::Event::NeedMore | h1::Event::Paused => {
                    match ready!(self.poll_fill(cx, phase)) {
                        Ok(Some(event)) => event,
                        Ok(None) => continue,
                        Err(error) => return Poll::Ready(Err(self.fail(error))),
                    }
                }
                event => event,
            };
            let step = self.take(event, head, awaited, phase);
            return Poll::Ready(step.map_err(|error| self.fail(error)));
        }
    }

    /// What an event without content means.
    fn take(
        &mut self,
        event: h1::Event,
        head: &ResponseHead,
        awaited: bool,
        phase: Phase,
    ) -> Result<ExchangeStep, Error> {
        match event {
            h1::Event::Interim => {
                self.deadlines.moved();
                Ok(ExchangeStep::Interim)
            }
            h1::Event::Head { end } => {
                let http1 = connection(&mut self.lease, phase)?;
                // A switch shows as a head with a tunnel behind it.
                if http1.machine.is_switched() {
                    return Ok(ExchangeStep::Switched);
                }
                let carried = http1.wire.carried();
                self.deadlines.head_came();
                if head.declines_content(awaited) {
                    self.give_up_upload();
                }
                if end {
                    self.end();
                }
                Ok(ExchangeStep::Head(carried))
            }
            h1::Event::End { trailers } => {
                if trailers {
                    self.trailers = connection(&mut self.lease, phase)?.machine.take_trailers();
                }
                self.end();
                Ok(ExchangeStep::End)
            }
            h1::Event::Tunnel => Ok(ExchangeStep::Switched),
            h1::Event::Violation(violation) => {
                Err(self.explain(Error::violation(violation, phase)))
            }
            h1::Event::Closed => {
                let closed = Error::new(ErrorKind::ClosedEarly, phase);
                Err(self.closed(closed.with_detail("the server closed the connection")))
            }
            h1::Event::NeedMore | h1::Event::Paused | h1::Event::Data(_) => {
                Err(Error::new(ErrorKind::Internal, phase))
            }
        }
    }

    /// The server ended its direction without a response. The segment that says so acknowledges all that had come
    /// before it: it may not have received the request.
    fn closed(&mut self, error: Error) -> Error {
        self.is_doubtful = !self.received_any && self.is_unacknowledged();
        self.explain(error)
    }

    /// Whether the server's kernel has acknowledged nothing of the request.
    fn is_unacknowledged(&self) -> bool {
        self.lease.connection().is_some_and(|http1| {
            http1.unacknowledged_from.is_some_and(|from| http1.wire.has_arrived() <= from)
        })
    }

    /// Whether the server had closed the connection when the request came, so that it cannot have processed it:
    /// its kernel answers by a reset, and acknowledges nothing. A server that has ended its own direction alone
    /// acknowledges what comes, and may process it. Waits a moment for the one or the other.
    pub(crate) async fn was_refused(&mut self) -> bool {
        let mut pause = Duration::from_millis(1);
        while self.is_doubtful && self.is_unacknowledged() {
            if self.lease.connection().is_some_and(|http1| http1.wire.io.has_failed()) {
                return true;
            }
            let until = now() + pause;
            let is_late = self.deadlines.before_head().is_some_and(|by| until >= by);
            if pause > REFUSAL_PAUSE_MAX || is_late {
                return false;
            }
            tokio::time::sleep_until(until.into()).await;
            pause *= 2;
        }
        false
    }

    /// That sending failed tells more than the silence that followed it.
    fn explain(&mut self, error: Error) -> Error {
        match (error.kind(), error.phase(), self.upload.failed.take()) {
            (ErrorKind::ClosedEarly | ErrorKind::Reset, Phase::Wait, Some(failed)) => failed,
            (_, _, _) => error,
        }
    }

    /// What was not sent yet never will be; the connection cannot be used again.
    fn give_up_upload(&mut self) {
        if self.is_uploading()
            && let Some(http1) = self.lease.connection_mut()
        {
            http1.wire.out.clear();
            http1.machine.close(CloseReason::RequestUnfinished);
            self.upload.body = None;
        }
    }

    pub(super) fn end(&mut self) {
        self.ended = true;
        if !self.is_uploading() {
            self.lease.release();
        }
    }

    /// The exchange is over; its connection is closed now, and not when the pieces are dropped.
    pub(super) fn fail(&mut self, mut error: Error) -> Error {
        self.ended = true;
        self.upload.body = None;
        if let Some(http1) = self.lease.connection_mut() {
            http1.machine.close(CloseReason::Aborted);
            error = error.with_peer(http1.wire.io.peer());
            error = self.deadlines.explain(error, http1.since, http1.attempt);
        }
        if !self.is_doubtful {
            self.lease.release();
        }
        error
    }

    /// Waits for bytes, or for the nearest deadline.
    fn poll_fill(
        &mut self,
        cx: &mut Context<'_>,
        phase: Phase,
    ) -> Poll<Result<Option<h1::Event>, Error>> {
        let room = unread_bytes_max(&self.limits.wire);
        let Self { lease, upload, limits, deadlines, received_any, .. } = self;
        let http1 = connection(lease, phase)?;
        match http1.wire.poll_fill(cx, room) {
            Poll::Ready(Ok(FillResult::Bytes(_))) => {
                *received_any = true;
                match phase == Phase::Receive && deadlines.note_input() {
                    true => Poll::Ready(Err(Deadlines::total_error(phase))),
                    false => Poll::Ready(Ok(None)),
                }
            }
            Poll::Ready(Ok(FillResult::End)) => {
                let rest = http1.wire.io.received();
                Poll::Ready(Ok(Some(http1.machine.receive_end(rest))))
            }
            Poll::Ready(Ok(FillResult::Full)) => {
                let error = Error::new(ErrorKind::H1Parse, phase);
                Poll::Ready(Err(error.with_detail("the response's head is too large")))
            }
            // A TLS stream that ends without close_notify cuts short what only the end of the
            // connection delimits, and nothing else (RFC 9112 §9.8): that was read to its end.
            Poll::Ready(Err(error)) if error.kind() == io::ErrorKind::UnexpectedEof => {
                Poll::Ready(Err(self.closed(Error::io(error, phase))))
            }
            Poll::Ready(Err(error)) => Poll::Ready(Err(self.explain(Error::io(error, phase)))),
            Poll::Pending => {
                http1.turn.begin();
                // Once there is a response, its content is what is waited for: what the caller does
                // not make is no reason to wait longer, though what it makes is.
                let waiting = match (upload.waiting(http1, deadlines), phase) {
                    (Some(Waiting::Sending), _) => Waiting::Sending,
                    (_, Phase::Receive) => Waiting::Content,
                    (Some(sending), _) => sending,
                    (None, _) if *received_any || http1.unacknowledged_from.is_none() => {
                        Waiting::Head
                    }
                    (None, _) => Waiting::Unacknowledged,
                };
                let late = poll_deadline(cx, http1, deadlines, waiting, &limits.time);
                late.map(|error| error.map_or(Ok(None), Err))
            }
        }
    }
}

/// Waits for the nearest deadline. Ready with `None`: what was waited for may go on.
fn poll_deadline(
    cx: &mut Context<'_>,
    http1: &mut Http1,
    deadlines: &mut Deadlines,
    waiting: Waiting,
    time: &ClientTime,
) -> Poll<Option<Error>> {
    let is_sending = waiting == Waiting::Sending && http1.wire.unsent() > 0;
    if is_sending {
        http1.wire.begin_wait(now());
    }
    let late = ready!(deadlines.poll(cx, &mut http1.timer, waiting, time));
    let is_idle = late.as_ref().is_some_and(Deadlines::is_idle);
    if is_idle && is_sending && http1.wire.check_progress() {
        deadlines.moved();
        return Poll::Ready(None);
    }
    // A kernel that has taken much at once sends it for long, while a slow server takes it.
    let is_answer_late = is_idle && matches!(waiting, Waiting::Unacknowledged | Waiting::Head);
    if is_answer_late && http1.wire.is_taking(http1.unacknowledged_from) {
        http1.unacknowledged_from = None;
        deadlines.moved();
        return Poll::Ready(None);
    }
    if is_idle && waiting == Waiting::Unacknowledged {
        let arrived = http1.wire.has_arrived();
        http1.unacknowledged_from = http1.unacknowledged_from.filter(|from| arrived <= *from);
        if http1.unacknowledged_from.is_none() {
            if time.head_wait_is_first() {
                return Poll::Ready(late.map(Error::unanswered));
            }
            deadlines.arrived(time.send_idle.unwrap_or_default());
            return Poll::Ready(None);
        }
        let silent = "the server has acknowledged nothing of the request";
        return Poll::Ready(late.map(|error| error.with_detail(silent)));
    }
    Poll::Ready(late)
}

pub(super) fn connection(lease: &mut Lease, phase: Phase) -> Result<&mut Http1, Error> {
    lease.connection_mut().ok_or_else(|| no_connection(phase))
}

fn no_connection(phase: Phase) -> Error {
    Error::new(ErrorKind::Internal, phase).with_detail("the exchange has no connection")
}
