//! Sending: requests become streams, and what their owners do is passed on.

use std::time::{Duration, Instant};

use http::Method;
use stoop_proto::h2::{ErrorCode, Refusal, StreamKey};
use stoop_proto::{BodySize, CloseReason};

use super::{ABANDONED_CHECK_INTERVAL, DRAIN, Driver, Exchange, Order, Upload, return_unsent};
use crate::client::deadlines::Waiting;
use crate::client::http2::shared_exchange::Abandoned;
use crate::conn::Sink;
use crate::conn::http2::driver::SendFailure;
use crate::conn::http2::outflow::Outflow;
use crate::error::{Error, ErrorKind, Phase};
use crate::limits::{ClientTime, after};

impl Driver {
    /// Looks at an exchange, if there is one at that place.
    pub(super) fn run(&mut self, place: usize) {
        let Some(exchange) = self.exchanges.at(place) else { return };
        let key = exchange.key;
        let news = exchange.cell.look();
        if news.goes_ahead {
            exchange.go_ahead();
        }
        self.credit(key, news.taken);
        if let Some(how) = news.abandoned {
            self.abandoned(key, how);
        }
        if let Some(exchange) = self.exchanges.get(key)
            && let Some(upload) = &exchange.upload
            && upload.outflow.needs_poll()
            && !upload.is_held
        {
            self.poll_content(key);
        }
    }

    /// The owner of an exchange has left it. A request whose response was read to its end goes on to
    /// be sent, and so does what was written to a tunnel; a little content is read all the same, because
    /// servers count streams that are reset. All that for a while.
    fn abandoned(&mut self, key: StreamKey, how: Abandoned) {
        let (now, time) = (self.now, &self.role.limits.time);
        let send_idle = time.send_idle;
        let little = self.role.limits.drain_bytes_max;
        let is_little = self.machine.remaining(key).is_none_or(|rest| rest <= little);
        let Some(exchange) = self.exchanges.get(key) else { return };
        let for_long = after(now, send_idle.unwrap_or(Duration::MAX));
        let abandoned_until = match how {
            Abandoned::Late => None,
            Abandoned::Dropped if exchange.abandoned_until.is_some() => return,
            Abandoned::Dropped if exchange.is_tunnel && exchange.upload.is_some() => Some(for_long),
            Abandoned::Dropped if exchange.is_complete => exchange.until.or(Some(for_long)),
            Abandoned::Dropped if exchange.has_head && exchange.upload.is_none() && is_little => {
                Some(now + DRAIN)
            }
            Abandoned::Dropped => None,
        };
        exchange.abandoned_until = abandoned_until;
        if abandoned_until.is_some() {
            self.role.tick.get_or_insert(now + ABANDONED_CHECK_INTERVAL);
            return self.let_go(key);
        }
        self.break_off(key, ErrorCode::CANCEL);
        if how == Abandoned::Late {
            // A server that may not be there is not asked anything more.
            if self.machine.is_pinging() {
                self.retire(CloseReason::RequestTimeout);
            }
            self.ask();
        }
    }

    /// Ends exchanges whose owners have left, and that took too long since.
    pub(super) fn end_abandoned(&mut self) {
        self.role.tick = None;
        let mut late = Vec::new();
        for exchange in self.exchanges.iter() {
            if let Some(until) = exchange.abandoned_until {
                self.role.tick = Some(self.now + ABANDONED_CHECK_INTERVAL);
                late.extend((until <= self.now).then_some(exchange.key));
            }
        }
        for key in late {
            self.break_off(key, ErrorCode::CANCEL);
        }
    }

    /// Takes what is in the state, and begins as many requests as there are streams. True if any was.
    pub(super) fn take_orders(&mut self) -> bool {
        let mut state = self.role.shared.state();
        std::mem::swap(&mut state.orders, &mut self.role.orders);
        let consumed = std::mem::take(&mut state.consumed);
        let closes = state.closes;
        drop(state);
        if consumed > 0 {
            self.machine.consumed_after_end(consumed);
        }
        let mut moved = !self.role.orders.is_empty();
        let mut orders = std::mem::take(&mut self.role.orders);
        self.role.waiting.extend(orders.drain(..));
        self.role.orders = orders;
        let mut has_room = true;
        // A server that takes nothing is asked nothing more.
        while has_room
            && !self.is_full()
            && let Some(order) = self.role.waiting.pop_front()
        {
            match self.begin(order) {
                Ok(()) => moved = true,
                Err(order) => {
                    self.role.waiting.push_front(order);
                    has_room = false;
                }
            }
        }
        // The server allows fewer than it did, or than was assumed before it said how many. Who
        // finds no stream here may find one elsewhere.
        if !has_room && self.machine.is_peer_known() {
            for order in self.role.waiting.drain(..) {
                self.role.ended += 1;
                return_unsent(order, no_more());
            }
        }
        let reason = self.role.retired.or_else(|| closes.then_some(CloseReason::CallerCloses));
        if let Some(reason) = reason
            && self.role.waiting.is_empty()
        {
            self.machine.drain(self.now, reason);
        }
        moved
    }

    /// Begins a request, or returns it if there is no stream for it now.
    fn begin(&mut self, order: Order) -> Result<(), Order> {
        if self.machine.streams() == 0 {
            self.role.last_received = self.now;
        }
        let Self { machine, wire, .. } = self;
        let mut key = None;
        let opened = order.cell.open(|request| {
            if request.head.protocol().is_some() && !machine.is_peer_known() {
                return Err(Refusal::Full);
            }
            let scheme = request.url.as_ref().map_or("http", |url| url.scheme());
            let opened =
                machine.open(&request.head, scheme, order.size, &mut Sink(&mut wire.out))?;
            let is_tunnel = *request.head.method() == Method::CONNECT;
            let expects = request.head.expects_continue() == Ok(true);
            key = Some((opened, expects, is_tunnel));
            Ok(opened.index())
        });
        match (opened, key) {
            // The owner has left.
            (None, _) => self.role.ended += 1,
            (Some(Err(Refusal::Full)), _) => return Err(order),
            (Some(Err(refusal)), _) => {
                self.role.ended += 1;
                refused(order, refusal);
            }
            (Some(Ok(_)), None) => {}
            (Some(Ok(_)), Some((key, expects, is_tunnel))) => {
                self.begun(key, order, expects, is_tunnel);
                self.role.opened += 1;
                if self.role.opened
                    >= self.role.limits.pool.http2_requests_per_connection_max.max(1)
                {
                    self.retire(CloseReason::RequestsMax);
                }
            }
        }
        Ok(())
    }

    fn begun(&mut self, key: StreamKey, order: Order, expects: bool, is_tunnel: bool) {
        let Order { cell, body, size, until } = order;
        let has_content = size != BodySize::Exact(0);
        let upload = has_content.then_some(Upload {
            outflow: Outflow::polled_from(body),
            is_held: expects,
            is_unwanted: false,
        });
        let exchange = Exchange {
            key,
            cell,
            upload,
            has_head: false,
            is_complete: false,
            is_tunnel,
            until,
            abandoned_until: None,
            abandoned_bytes: 0,
        };
        self.exchanges.keep(key, exchange);
        if has_content {
            self.run(key.index());
        }
    }

    /// A request cannot be completed: its content failed, or is not what was announced.
    pub(super) fn send_failed(&mut self, key: StreamKey, failure: SendFailure<Error>) {
        let Some(exchange) = self.break_off(key, ErrorCode::CANCEL) else { return };
        exchange.cell.fail(|| match failure {
            SendFailure::Source(error) => error.of_the_body(),
            SendFailure::Panic => panicked(),
            SendFailure::Misuse(misuse) => Error::misuse(misuse, Phase::Send),
        });
    }

    /// A request was sent to its end.
    pub(super) fn sent(&mut self, key: StreamKey) {
        let now = self.now;
        if let Some(exchange) = self.exchanges.get(key) {
            exchange.upload = None;
            exchange.cell.sending(None, Some(now));
            // What was written to a tunnel is out, and its owner does not read what comes.
            if exchange.is_tunnel && exchange.abandoned_until.is_some() && !exchange.is_complete {
                self.break_off(key, ErrorCode::CANCEL);
            }
        }
        self.let_go(key);
    }
}

impl Exchange {
    /// A part of the request's content was sent, and more follows.
    pub(super) fn piece_sent(&mut self, now: Instant, time: &ClientTime) {
        self.cell.sending(Some(Waiting::Sending), Some(now));
        if self.until.is_none() && self.abandoned_until.is_some() {
            self.abandoned_until = Some(after(now, time.send_idle.unwrap_or(Duration::MAX)));
        }
    }
}

fn no_more() -> Error {
    Error::new(ErrorKind::H2GoAway, Phase::Wait).with_detail("the connection takes no more")
}

fn panicked() -> Error {
    Error::new(ErrorKind::RequestBody, Phase::Send).with_detail("the body's source panicked")
}

/// Tells why a request was not sent.
fn refused(order: Order, refusal: Refusal) {
    match refusal {
        Refusal::Misuse(misuse) => order.cell.fail(|| Error::misuse(misuse, Phase::Request)),
        Refusal::ExtendedConnect => order.cell.fail(|| {
            Error::new(ErrorKind::H2Refused, Phase::Request)
                .with_detail("the server takes no extended CONNECT (RFC 8441 §3)")
        }),
        Refusal::TooLarge(bytes) => order.cell.fail(|| {
            Error::new(ErrorKind::H2Refused, Phase::Request).with_detail(format_args!(
                "the server takes no head of more than {bytes} bytes (RFC 9113 §6.5.2)"
            ))
        }),
        Refusal::Full | Refusal::GoingAway | Refusal::Exhausted => return_unsent(order, no_more()),
    }
}
