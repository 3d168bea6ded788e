//! What a connection waits for, and for how long: every wait that a client causes ends.
//!
//! The connection has deadlines of its own. Those of its exchanges are counted in ticks: a look at
//! all of them once a second costs less than a timer for each.

use std::task::Context;
use std::time::{Duration, Instant};

use http::StatusCode;
use stoop_io::{Timer, Transport};
use stoop_proto::CloseReason;
use stoop_proto::h2::{ErrorCode, StreamKey};

use super::ServerDriver;
use super::exchange::{ServerTunnel, StreamResponse};
use crate::body::request_body::RequestBodyWriter;
use crate::conn::http2::driver::{Round, Stage};
use crate::error::{Error, ErrorKind, Phase};
use crate::handler::Handler;
use crate::limits::after;
use crate::response::{CutShort, Response};
use crate::server::call::{LATE_REQUEST, content_timeout, late_handler, poll_handler};
use crate::server::dropped::DroppedHandler;
use crate::server::events::ServerTimeout;

pub(super) const TICK: Duration = Duration::from_secs(1);

/// Since when each of the waits lasts. A wait begins when it is first found that there is nothing to do.
pub(super) struct Http2Timeouts {
    timer: Timer,
    /// Without streams. A PING or an unknown frame does not end this wait.
    idle: Option<Instant>,
    /// Without a byte, while there are streams.
    quiet: Option<Instant>,
    head: Option<Instant>,
    tick: Option<Instant>,
}

/// What did not happen in time.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Http2Expired {
    Idle,
    Quiet,
    Head,
    Send,
    Linger,
    Tick,
    Machine,
}

/// What an exchange has waited for too long.
#[derive(Clone, Copy)]
enum ExpiredWait {
    /// Content of the request that is being read: it stalled, or came too slowly.
    Content(ErrorKind),
    /// A window to send in.
    Window,
    /// Its handler.
    Handler,
    /// Content of the request, which no handler reads.
    Rest,
}

impl Http2Timeouts {
    pub(super) fn new(timer: Timer) -> Self {
        Self { timer, idle: None, quiet: None, head: None, tick: None }
    }

    /// Something came.
    #[inline]
    pub(super) fn received(&mut self) {
        self.quiet = None;
    }

    /// A request came.
    #[inline]
    pub(super) fn used(&mut self) {
        self.idle = None;
    }
}

impl<H: Handler> ServerDriver<H> {
    /// Since when there is no stream, and nothing on its way, if that is so.
    pub(super) fn idle_since(&self) -> Option<Instant> {
        let is_idle = matches!(self.stage, Stage::Open)
            && self.machine.streams() == 0
            && !self.machine.is_within_head()
            && self.wire.io.received().is_empty()
            && self.wire.unsent() == 0;
        self.role.timeouts.idle.filter(|_| is_idle)
    }

    /// Waits for a wake-up, or the nearest deadline.
    pub(super) fn wait(&mut self, cx: &mut Context<'_>) -> Round {
        let Some((due, late)) = self.nearest() else { return Round::Wait };
        if self.now < due && self.role.timeouts.timer.poll(cx, Some(due)).is_pending() {
            return Round::Wait;
        }
        self.now = stoop_io::now();
        self.act(late)
    }

    fn nearest(&mut self) -> Option<(Instant, Http2Expired)> {
        let (now, time) = (self.now, &self.role.core.limits.time);
        let send = self.wire.send_due(now, time.send).map(|due| (due, Http2Expired::Send));
        let timeouts = &mut self.role.timeouts;
        let own = match &self.stage {
            Stage::Lingering(linger) => Some((linger.by(), Http2Expired::Linger)),
            Stage::Closing => None,
            Stage::Open => {
                // A frame that has begun is to end, as a header block is.
                let is_within = self.machine.is_within_head()
                    || !self.wire.io.received().is_empty() && self.wire.unsent() == 0;
                let head = match is_within {
                    true => Some((
                        after(*timeouts.head.get_or_insert(now), time.head),
                        Http2Expired::Head,
                    )),
                    false => {
                        timeouts.head = None;
                        None
                    }
                };
                let idle = match self.machine.streams() {
                    0 => {
                        timeouts.quiet = None;
                        (after(*timeouts.idle.get_or_insert(now), time.idle), Http2Expired::Idle)
                    }
                    _ => {
                        timeouts.idle = None;
                        (after(*timeouts.quiet.get_or_insert(now), time.idle), Http2Expired::Quiet)
                    }
                };
                head.into_iter().chain([idle]).min_by_key(|(due, _)| *due)
            }
        };
        let ticks = !self.exchanges.is_empty() && matches!(self.stage, Stage::Open);
        let tick = match ticks {
            true => Some((*self.role.timeouts.tick.get_or_insert(now + TICK), Http2Expired::Tick)),
            false => {
                self.role.timeouts.tick = None;
                None
            }
        };
        self.rest_if_idle();
        let machine = self.machine.next_timeout().map(|due| (due, Http2Expired::Machine));
        [send, own, tick, machine].into_iter().flatten().min_by_key(|(due, _)| *due)
    }

    fn act(&mut self, late: Http2Expired) -> Round {
        match late {
            // The client takes output, however slowly: it gets more time.
            Http2Expired::Send
                if !self.wire.is_stuck(self.now, self.role.core.limits.time.send) => {}
            Http2Expired::Send => {
                self.cut_all(CutShort::Timeout);
                self.wire.io.reset_on_close();
                self.timed_out(ServerTimeout::Send, None);
                return Round::End;
            }
            Http2Expired::Linger => return Round::End,
            Http2Expired::Idle => {
                self.machine.close(ErrorCode::NO_ERROR, CloseReason::Idle);
                self.timed_out(ServerTimeout::Idle, None);
            }
            Http2Expired::Head => {
                self.machine.close(ErrorCode::ENHANCE_YOUR_CALM, CloseReason::RequestTimeout);
                self.timed_out(ServerTimeout::Head, None);
            }
            // Exchanges are under way, and nothing was received for long: is the client there?
            Http2Expired::Quiet => {
                self.role.timeouts.quiet = None;
                self.ping();
            }
            Http2Expired::Tick => {
                self.role.timeouts.tick = Some(self.now + TICK);
                self.tick();
            }
            Http2Expired::Machine => self.handle_machine_timeout(),
        }
        Round::Again
    }

    /// Looks at all exchanges: which of them wait for the client, and for how long.
    fn tick(&mut self) {
        let time = &self.role.core.limits.time;
        let seconds = |time: Duration| u32::try_from(time.as_secs()).unwrap_or(u32::MAX).max(1);
        let (idle, send) = (seconds(time.body_idle), seconds(time.send));
        let (drain, handler) = (seconds(time.drain), seconds(time.handler));
        let mut late: Vec<(StreamKey, ExpiredWait)> = Vec::new();
        for exchange in self.exchanges.iter() {
            let has_content_to_send = exchange.has_content_to_send();
            let waited = &mut exchange.waited;
            let is_awaited = exchange.content.as_ref().is_some_and(|content| content.is_awaited());
            let is_tunnel = matches!(exchange.tunnel, ServerTunnel::Open);
            if is_awaited && !is_tunnel && self.machine.is_receiving(exchange.key) {
                waited.content_idle += 1;
                let is_in_time = waited.budget.spend(TICK);
                let kind = match waited.content_idle > idle {
                    true => Some(ErrorKind::ReadTimeout),
                    false if !is_in_time => Some(ErrorKind::SlowBody),
                    false => None,
                };
                if let Some(kind) = kind {
                    late.push((exchange.key, ExpiredWait::Content(kind)));
                    continue;
                }
            }
            if matches!(exchange.response, StreamResponse::Running(_)) {
                waited.ran += 1;
                if waited.ran > handler {
                    late.push((exchange.key, ExpiredWait::Handler));
                    continue;
                }
            }
            let is_read = |content: &RequestBodyWriter| !content.is_dropped();
            if matches!(exchange.response, StreamResponse::Sent)
                && !exchange.content.as_ref().is_some_and(is_read)
            {
                waited.drained += 1;
                if waited.drained > drain {
                    late.push((exchange.key, ExpiredWait::Rest));
                }
            }
            if !is_tunnel && has_content_to_send && self.machine.sendable(exchange.key) == 0 {
                waited.blocked += 1;
                if waited.blocked > send {
                    late.push((exchange.key, ExpiredWait::Window));
                }
            }
        }
        for (key, what) in late {
            let (code, timeout) = match what {
                ExpiredWait::Content(kind) => {
                    self.content_is_late(key, kind);
                    continue;
                }
                ExpiredWait::Handler => {
                    self.handler_is_late(key);
                    continue;
                }
                ExpiredWait::Window => (ErrorCode::CANCEL, ServerTimeout::Send),
                ExpiredWait::Rest => (ErrorCode::NO_ERROR, ServerTimeout::Drain),
            };
            let exchange = self.reset_exchange(key, code);
            self.cut(exchange, CutShort::Timeout);
            self.timed_out(timeout, None);
        }
    }

    fn timed_out(&self, timeout: ServerTimeout, answer: Option<StatusCode>) {
        self.role.core.monitor.timed_out(self.wire.io.peer().inet(), timeout, answer);
    }

    /// A handler has not answered in time: it is dropped, and the client told so.
    fn handler_is_late(&mut self, key: StreamKey) {
        let Some(exchange) = self.take_exchange(key) else { return };
        let status = StatusCode::SERVICE_UNAVAILABLE;
        let mut added = None;
        if let StreamResponse::Running(slot) = exchange.response {
            let dropped = DroppedHandler::new(CutShort::Timeout, Some(status));
            added = self.role.core.futures.drop_answered(slot, dropped);
        }
        self.timed_out(ServerTimeout::Handler, Some(status));
        self.respond(key, exchange.content, late_handler(added.as_ref()));
    }

    /// A request's content did not come in time: its handler is told, so that it can clean up, and
    /// then stopped. Where no response was begun, that is the response.
    fn content_is_late(&mut self, key: StreamKey, kind: ErrorKind) {
        let waker = self.exchanges.waker(key.index());
        let mut cx = Context::from_waker(&waker);
        let Some(exchange) = self.take_exchange(key) else { return };
        if let Some(content) = &exchange.content {
            content.end(Err(Error::new(kind, Phase::Receive)), None, &cx);
        }
        let is_answered = matches!(exchange.response, StreamResponse::Running(_));
        let answer = is_answered.then_some(StatusCode::REQUEST_TIMEOUT);
        self.timed_out(content_timeout(kind), answer);
        match exchange.response {
            StreamResponse::Running(mut slot) => {
                // Its response is dropped: the client gets the 408.
                let response = poll_handler::<H>(&mut slot, None, &mut cx);
                let dropped = DroppedHandler::new(CutShort::Timeout, answer);
                dropped.in_scope(|| drop(response));
                self.role.core.futures.drop_for(slot, dropped);
                self.respond(
                    key,
                    None,
                    Response::refusal(StatusCode::REQUEST_TIMEOUT, LATE_REQUEST),
                );
            }
            StreamResponse::Sending(_) => {
                self.machine.reset(key, ErrorCode::CANCEL);
                self.cut(Some(exchange), CutShort::Timeout);
            }
            StreamResponse::Sent => self.machine.reset(key, ErrorCode::NO_ERROR),
        }
    }
}
