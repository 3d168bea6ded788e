//! What a connection waits for, and for how long: every wait that a client causes ends.

use std::collections::VecDeque;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use http::StatusCode;
use stoop_io::{Timer, Transport, now};
use stoop_proto::CloseReason;

use crate::conn::rate::RateBudget;
use crate::error::{Error, ErrorKind, Phase};
use crate::handler::Handler;
use crate::limits::{ServerTime, after};
use crate::response::CutShort;
use crate::server::call::{content_timeout, late_handler};
use crate::server::control::Lifecycle;
use crate::server::dropped::DroppedHandler;
use crate::server::events::ServerTimeout;
use crate::server::http1::ending::End;
use crate::server::http1::{Http1Driver, Http1Round, Http1Stage, PipelinedResponse, Read};

/// How long a server that is to stop waits for the first byte of a connection that it accepted and
/// has not heard of: its request may be on the way.
const FIRST_BYTE_TIMEOUT: Duration = Duration::from_secs(1);

/// How often a connection is looked at whose bytes may not be read before its handlers have answered:
/// that it was reset shows no other way.
const WATCH: Duration = Duration::from_secs(1);

/// Since when each of the waits lasts. A wait begins when it is first found that there is nothing to do.
pub(super) struct Http1Timeouts {
    timer: Timer,
    /// Nothing is asked for; or, while requests are answered, their client has ended its half of the connection.
    idle: Option<Instant>,
    head: Option<Instant>,
    content: Option<Instant>,
    /// When it is looked at next whether the connection is still there.
    watch: Option<Instant>,
    /// How long the content being read may still be waited for, once some of it was.
    budget: Option<RateBudget>,
}

/// What did not happen in time.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Http1Expired {
    Idle,
    Head,
    Send,
    Content(ErrorKind),
    Handler,
    HalfClosed,
    Watch,
    Stage,
}

impl Http1Timeouts {
    pub(super) fn new(timer: Timer) -> Self {
        Self { timer, idle: None, head: None, content: None, watch: None, budget: None }
    }

    /// Something new begins.
    #[inline]
    pub(super) fn restart(&mut self) {
        (self.idle, self.head, self.content) = (None, None, None);
        self.budget = None;
    }

    /// Since when nothing is asked for, where that was found to be so.
    pub(super) fn idle_since(&self) -> Option<Instant> {
        self.idle
    }

    /// Since when a TLS handshake is waited for.
    pub(super) fn handshake_since(&self) -> Option<Instant> {
        self.head
    }

    pub(super) fn into_timer(self) -> Timer {
        self.timer
    }

    /// Content came.
    pub(super) fn content_came(&mut self, bytes: usize, time: &ServerTime) {
        self.budget(time).earn(bytes, time.body_bytes_per_second_min, Duration::MAX);
        self.content_is_unwanted(time);
    }

    /// No handler waits for content: the clock of its rate stands still.
    pub(super) fn content_is_unwanted(&mut self, time: &ServerTime) {
        if let Some(since) = self.content.take() {
            self.budget(time).spend(now().saturating_duration_since(since));
        }
    }

    fn budget(&mut self, time: &ServerTime) -> &mut RateBudget {
        let new = || RateBudget::new(time.body_bytes_per_second_min, time.body_grace);
        self.budget.get_or_insert_with(new)
    }

    /// When content is late, and why: after too long without a byte, or when it came too slowly on
    /// average.
    fn content_due(&mut self, now: Instant, time: &ServerTime) -> (Instant, Http1Expired) {
        let since = *self.content.get_or_insert(now);
        let idle = after(since, time.body_idle);
        match self.budget(time).due(since) {
            Some(slow) if slow < idle => (slow, Http1Expired::Content(ErrorKind::SlowBody)),
            _ => (idle, Http1Expired::Content(ErrorKind::ReadTimeout)),
        }
    }
}

impl<H: Handler> Http1Driver<H> {
    /// Ready when a deadline has passed and was acted on.
    pub(super) fn poll_late(&mut self, cx: &mut Context<'_>, read: Read) -> Poll<Http1Round> {
        let now = self.watches.take_sent_at().unwrap_or_else(now);
        let Some((due, late)) = self.nearest(now, read) else { return Poll::Pending };
        if now < due && self.timeouts.timer.poll(cx, Some(due)).is_pending() {
            return Poll::Pending;
        }
        match self.act(late, cx) {
            Some(round) => Poll::Ready(round),
            None => self.poll_late(cx, read),
        }
    }

    fn nearest(&mut self, now: Instant, read: Read) -> Option<(Instant, Http1Expired)> {
        let unsent = self.wire.unsent() > 0;
        let time = &self.core.limits.time;
        let timeouts = &mut self.timeouts;
        let send = self.wire.send_due(now, time.send).map(|due| (due, Http1Expired::Send));
        let other = match (&self.stage, read) {
            (Http1Stage::Handshake { .. }, _) => {
                Some((after(*timeouts.head.get_or_insert(now), time.head), Http1Expired::Stage))
            }
            (Http1Stage::Discarding { by, .. }, _) => Some((*by, Http1Expired::Stage)),
            (Http1Stage::Lingering(linger), _) => Some((linger.by(), Http1Expired::Stage)),
            (Http1Stage::Open, Read::WantsHead) if !self.wire.io.received().is_empty() => {
                Some((after(*timeouts.head.get_or_insert(now), time.head), Http1Expired::Head))
            }
            (Http1Stage::Open, Read::WantsHead) if self.exchanges.is_empty() && !unsent => {
                // An empty line ahead of a request line began a head that is none.
                timeouts.head = None;
                if self.exchanges.capacity() > 0 {
                    // Some hundred bytes, which an idle connection has no use for.
                    self.exchanges = VecDeque::new();
                }
                let is_first =
                    self.requests == 0 && self.core.control.lifecycle() != Lifecycle::Running;
                let allowed = if is_first { time.idle.min(FIRST_BYTE_TIMEOUT) } else { time.idle };
                Some((after(*timeouts.idle.get_or_insert(now), allowed), Http1Expired::Idle))
            }
            (Http1Stage::Open, Read::WantsContent) => Some(timeouts.content_due(now, time)),
            _ => None,
        };
        let nearest = earlier(send, other);
        if self.exchanges.is_empty() {
            self.timeouts.watch = None;
            return nearest;
        }
        let handler = self.handler_due(now).map(|due| (due, Http1Expired::Handler));
        let watch = self.watch_due(now, read).map(|due| (due, Http1Expired::Watch));
        let half_closed = self.half_closed_due(now).map(|due| (due, Http1Expired::HalfClosed));
        earlier(earlier(nearest, half_closed), earlier(handler, watch))
    }

    /// When a client that is being answered, and has ended its half of the connection, counts as gone.
    fn half_closed_due(&mut self, now: Instant) -> Option<Instant> {
        let allowed = self.core.limits.time.half_closed;
        let is_limited = self.at_end && allowed != Duration::MAX;
        is_limited.then(|| after(*self.timeouts.idle.get_or_insert(now), allowed))
    }

    /// When the first of the handlers has taken too long, where there is a limit.
    fn handler_due(&mut self, now: Instant) -> Option<Instant> {
        let allowed = self.core.limits.time.handler;
        if allowed == Duration::MAX {
            return None;
        }
        let running = self.exchanges.iter_mut().filter(|exchange| exchange.is_running());
        let dues = running.map(|exchange| after(*exchange.since.get_or_insert(now), allowed));
        dues.min()
    }

    /// When to look whether the connection is still there: where handlers run, and nothing is read
    /// that would show it.
    fn watch_due(&mut self, now: Instant, read: Read) -> Option<Instant> {
        let is_unread = self.at_end || !self.wire.io.received().is_empty();
        let is_blind = read == Read::Held || read == Read::Watches && is_unread;
        if !is_blind || !self.wire.io.has_kernel() {
            self.timeouts.watch = None;
            return None;
        }
        Some(*self.timeouts.watch.get_or_insert_with(|| now + WATCH))
    }

    /// What follows from a deadline that has passed: nothing, if there is only to be waited on.
    fn act(&mut self, late: Http1Expired, cx: &mut Context<'_>) -> Option<Http1Round> {
        match late {
            Http1Expired::Stage if self.is_serving() => {
                self.begin_close(CloseReason::UnreadContent, true);
                self.timed_out(ServerTimeout::Drain, None);
            }
            Http1Expired::Stage => {
                if matches!(self.stage, Http1Stage::Handshake { .. }) {
                    self.core.monitor.handshake_failed(self.peer(), None);
                    self.timed_out(ServerTimeout::Handshake, None);
                }
                return Some(Http1Round::End(End::Closed));
            }
            Http1Expired::Idle => {
                let drains = self.core.control.lifecycle() != Lifecycle::Running;
                self.begin_close(CloseReason::Idle, drains);
                self.timed_out(ServerTimeout::Idle, None);
            }
            // What the client does not take now will not be taken by waiting for it either.
            Http1Expired::Send if !self.wire.is_stuck(now(), self.core.limits.time.send) => {}
            Http1Expired::Send => {
                self.timed_out(ServerTimeout::Send, None);
                self.watches.cut_all(CutShort::Timeout, &self.wire);
                return Some(Http1Round::End(End::Broken));
            }
            Http1Expired::Head if self.exchanges.is_empty() => {
                self.refuse_late(ServerTimeout::Head);
            }
            // Earlier requests are still being answered; the one that does not come is given up.
            Http1Expired::Head => {
                self.machine.stop_receiving(CloseReason::RequestTimeout);
                self.timed_out(ServerTimeout::Head, None);
            }
            Http1Expired::Watch if !self.wire.io.has_failed() => {
                self.timeouts.watch = None;
                return None;
            }
            Http1Expired::Watch | Http1Expired::HalfClosed => {
                self.watches.cut_all(CutShort::Client, &self.wire);
                return Some(Http1Round::End(End::Closed));
            }
            Http1Expired::Handler => self.stop_handlers(),
            Http1Expired::Content(kind) => {
                let timeout = content_timeout(kind);
                let error = Error::new(kind, Phase::Receive);
                let status = StatusCode::REQUEST_TIMEOUT;
                let dropped = DroppedHandler::new(CutShort::Timeout, Some(status));
                match self.stop_reader(error, dropped, cx) {
                    true => {
                        self.abort(CutShort::Timeout);
                        self.timed_out(timeout, None);
                    }
                    false => self.refuse_late(timeout),
                }
            }
        }
        Some(Http1Round::Again)
    }

    /// Handlers that have taken too long are dropped, and their clients told so.
    fn stop_handlers(&mut self) {
        let (now, allowed) = (now(), self.core.limits.time.handler);
        let (peer, status) = (self.peer(), StatusCode::SERVICE_UNAVAILABLE);
        let dropped = DroppedHandler::new(CutShort::Timeout, Some(status));
        for exchange in &mut self.exchanges {
            let is_late = exchange.since.is_some_and(|since| after(since, allowed) <= now);
            if !is_late || !exchange.is_running() {
                continue;
            }
            let response = PipelinedResponse::There(late_handler(None));
            let stopped = std::mem::replace(&mut exchange.response, response);
            if let PipelinedResponse::Running(slot) = stopped
                && let Some(added) = self.core.futures.drop_answered(slot, dropped)
            {
                exchange.response = PipelinedResponse::There(late_handler(Some(&added)));
            }
            self.core.monitor.timed_out(peer, ServerTimeout::Handler, Some(status));
        }
    }
}

/// The earlier of two deadlines, where there are any.
#[inline]
fn earlier(
    one: Option<(Instant, Http1Expired)>,
    other: Option<(Instant, Http1Expired)>,
) -> Option<(Instant, Http1Expired)> {
    match (one, other) {
        (Some(one), Some(other)) if other.0 < one.0 => Some(other),
        (None, other) => other,
        (one, _) => one,
    }
}
