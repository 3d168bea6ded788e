//! From requests to frames.

use std::task::Context;
use std::time::Duration;

use http::Method;
use stoop_proto::h2::{ErrorCode, Refusal, StreamKey};
use stoop_proto::{BodySize, CloseReason};

use super::{ABANDONED_CHECK_INTERVAL, DRAIN, Driver, Exchange, Order, Upload, return_unsent};
use crate::client::deadlines::Waiting;
use crate::client::http2::shared_exchange::Abandoned;
use crate::conn::Sink;
use crate::conn::http2::outflow::{Cut, Outflow, Polled};
use crate::conn::turn::STEPS_MIN;
use crate::error::{Error, ErrorKind, Phase};
use crate::limits::after;

/// Frames of content in a round, after which there is a look at what else is to do.
const FRAMES_MAX: u32 = 256;

impl Driver {
    /// Looks at the exchanges that were woken. True if there were any.
    pub(super) fn run_woken(&mut self) -> bool {
        let mut woken = self.exchanges.take_woken();
        let any = !woken.is_empty();
        while let Some(place) = woken.pop_front() {
            self.run(place);
            if self.turn.step() {
                break;
            }
        }
        self.exchanges.put_back(woken);
        any
    }

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
            self.make(key);
        }
    }

    /// The owner of an exchange has left it. A request whose response was read to its end goes on to
    /// be sent, and so does what was written to a tunnel; a little content is read all the same, because
    /// servers count streams that are reset. All that for a while.
    fn abandoned(&mut self, key: StreamKey, how: Abandoned) {
        let (now, time) = (self.now, &self.limits.time);
        let send_idle = time.send_idle;
        let little = self.limits.drain_bytes_max;
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
            self.tick.get_or_insert(now + ABANDONED_CHECK_INTERVAL);
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
        self.tick = None;
        let mut late = Vec::new();
        for exchange in self.exchanges.iter() {
            if let Some(until) = exchange.abandoned_until {
                self.tick = Some(self.now + ABANDONED_CHECK_INTERVAL);
                late.extend((until <= self.now).then_some(exchange.key));
            }
        }
        for key in late {
            self.break_off(key, ErrorCode::CANCEL);
        }
    }

    /// Takes what is in the state, and begins as many requests as there are streams. True if any was.
    pub(super) fn take_orders(&mut self) -> bool {
        let mut state = self.shared.state();
        std::mem::swap(&mut state.orders, &mut self.orders);
        let consumed = std::mem::take(&mut state.consumed);
        let closes = state.closes;
        drop(state);
        if consumed > 0 {
            self.machine.consumed_after_end(consumed);
        }
        let mut moved = !self.orders.is_empty();
        let mut orders = std::mem::take(&mut self.orders);
        self.waiting.extend(orders.drain(..));
        self.orders = orders;
        let mut has_room = true;
        // A server that takes nothing is asked nothing more.
        while has_room
            && !self.is_full()
            && let Some(order) = self.waiting.pop_front()
        {
            match self.begin(order) {
                Ok(()) => moved = true,
                Err(order) => {
                    self.waiting.push_front(order);
                    has_room = false;
                }
            }
        }
        // The server allows fewer than it did, or than was assumed before it said how many. Who
        // finds no stream here may find one elsewhere.
        if !has_room && self.machine.is_peer_known() {
            for order in self.waiting.drain(..) {
                self.ended += 1;
                return_unsent(order, no_more());
            }
        }
        let reason = self.retired.or_else(|| closes.then_some(CloseReason::CallerCloses));
        if let Some(reason) = reason
            && self.waiting.is_empty()
        {
            self.machine.drain(self.now, reason);
        }
        moved
    }

    /// Begins a request, or returns it if there is no stream for it now.
    fn begin(&mut self, order: Order) -> Result<(), Order> {
        if self.machine.streams() == 0 {
            self.last_received = self.now;
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
            (None, _) => self.ended += 1,
            (Some(Err(Refusal::Full)), _) => return Err(order),
            (Some(Err(refusal)), _) => {
                self.ended += 1;
                refused(order, refusal);
            }
            (Some(Ok(_)), None) => {}
            (Some(Ok(_)), Some((key, expects, is_tunnel))) => {
                self.begun(key, order, expects, is_tunnel);
                self.opened += 1;
                if self.opened >= self.limits.pool.http2_requests_per_connection_max.max(1) {
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

    /// Asks a request's content for its next piece, and says whether there is one to send.
    fn make(&mut self, key: StreamKey) {
        let waker = self.exchanges.waker(key.index());
        let Some(Exchange { upload: Some(upload), cell, .. }) = self.exchanges.get(key) else {
            return;
        };
        match upload.outflow.make(&mut Context::from_waker(&waker)) {
            Polled::Pending => {
                cell.sending(Some(Waiting::Caller), None);
                self.machine.want_to_send(key, false);
            }
            Polled::Piece => {
                cell.sending(Some(Waiting::Sending), None);
                self.machine.want_to_send(key, true);
            }
            Polled::End => self.finish(key),
            Polled::Failed(error) => self.body_failed(key, error.of_the_body()),
            Polled::Panicked => self.body_failed(key, panicked()),
        }
    }

    /// A request cannot be completed: its content failed.
    fn body_failed(&mut self, key: StreamKey, error: Error) {
        if let Some(exchange) = self.break_off(key, ErrorCode::CANCEL) {
            exchange.cell.fail(|| error);
        }
    }

    /// Lets exchanges send whose turn it is, while there is room. True if any did.
    pub(super) fn send(&mut self) -> bool {
        let mut any = false;
        let send_idle = self.limits.time.send_idle.unwrap_or(Duration::MAX);
        for frames in 0..FRAMES_MAX {
            if self.is_full() || self.turn.step() && frames >= STEPS_MIN {
                break;
            }
            let Some((key, max)) = self.machine.next_to_send() else { break };
            any = true;
            let exchange = self.exchanges.get(key);
            let Some(Exchange { upload: Some(upload), cell, until, abandoned_until, .. }) =
                exchange
            else {
                self.machine.want_to_send(key, false);
                continue;
            };
            let Cut { piece, is_over, is_last } = upload.outflow.cut(max);
            let sent = self.machine.data(key, piece, is_last, &mut Sink(&mut self.wire.out));
            match sent {
                Err(misuse) => self.misused(key, misuse),
                Ok(()) if is_last => self.sent(key),
                Ok(()) => {
                    cell.sending(Some(Waiting::Sending), Some(self.now));
                    if until.is_none() && abandoned_until.is_some() {
                        *abandoned_until = Some(after(self.now, send_idle));
                    }
                    if is_over {
                        self.make(key);
                    }
                }
            }
        }
        any
    }

    /// Ends a request.
    fn finish(&mut self, key: StreamKey) {
        let Some(exchange) = self.exchanges.get(key) else { return };
        let trailers = exchange.upload.as_mut().and_then(|upload| upload.outflow.take_trailers());
        let out = &mut Sink(&mut self.wire.out);
        match self.machine.finish(key, trailers.as_deref(), out) {
            Ok(()) => self.sent(key),
            Err(misuse) => self.misused(key, misuse),
        }
    }

    /// A request is out to its end.
    fn sent(&mut self, key: StreamKey) {
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

    /// A request cannot be completed: its content is not what was announced.
    fn misused(&mut self, key: StreamKey, misuse: stoop_proto::Misuse) {
        self.body_failed(key, Error::misuse(misuse, Phase::Send));
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
