//! Receiving: events become responses for the exchanges' owners.

use std::time::Duration;

use stoop_io::Transport;
use stoop_proto::ResponseHead;
use stoop_proto::h2::{ErrorCode, Event, ResetReason, StreamKey};

use super::ClientDriver;
use super::end::{goaway_text, left_undone};
use super::exchange::ClientExchange;
use crate::client::http2::shared_exchange::SharedExchange;
use crate::conn::recycle::Recycle;
use crate::error::{Error, ErrorKind};
use crate::limits::after;

impl ClientDriver {
    /// Handles an event of the machine.
    pub(super) fn event(&mut self, event: Event) {
        match event {
            Event::Settings => self.settings(),
            Event::Interim { key } => self.interim(key),
            Event::Response { key, end } => self.head(key, end),
            Event::Trailers { key } => self.complete(key, true),
            Event::Reset { key, reason, .. } => self.reset(key, reason),
            Event::GoAway { code } => self.goes_away(code),
            _ => {}
        }
    }

    fn settings(&mut self) {
        if self.role.retirement.reason().is_none() {
            let own_max = self.role.limits.wire.http2.streams_max;
            self.role
                .membership
                .streams_allowed(self.machine.peer_settings().streams_max.min(own_max) as usize);
        }
    }

    fn interim(&mut self, key: StreamKey) {
        let mut head = Recycle::<ResponseHead>::new();
        self.machine.take_response(&mut head);
        let Some(exchange) = self.exchanges.get(key) else { return };
        if head.status() == http::StatusCode::CONTINUE {
            exchange.go_ahead();
        }
        exchange.shared.put_interim(head);
        self.run(key.index());
    }

    fn head(&mut self, key: StreamKey, end: bool) {
        self.role.liveness.answered();
        let mut head = Recycle::<ResponseHead>::new();
        self.machine.take_response(&mut head);
        let length = if end { Some(0) } else { self.machine.remaining(key) };
        let Some(exchange) = self.exchanges.get(key) else { return };
        exchange.has_head = true;
        if let Some(upload) = &mut exchange.upload
            && head.declines_content(upload.is_held)
        {
            upload.outflow.give_up();
            upload.is_unwanted = true;
            self.machine.want_to_send(key, false);
        }
        let Some(exchange) = self.exchanges.get(key) else { return };
        exchange.shared.put_head(head, self.wire.carried(), length);
        if end {
            self.complete(key, false);
        }
    }

    /// Content came.
    pub(super) fn deliver(&mut self, key: StreamKey, len: usize, end: bool) {
        self.role.liveness.answered();
        let Some(exchange) = self.exchanges.get(key) else {
            self.wire.io.consume(len);
            return self.credit(key, len as u32);
        };
        if len > 0 {
            if exchange.abandoned_until.is_some() {
                exchange.abandoned_bytes += len as u64;
            }
            let is_too_much = exchange.abandoned_bytes > self.role.limits.drain_bytes_max;
            let taken = exchange.shared.put(self.wire.io.take(len));
            self.credit(key, taken);
            if is_too_much && !end {
                self.abort(key, ErrorCode::CANCEL);
                return;
            }
        }
        if end {
            self.complete(key, false);
        }
    }

    /// The response is complete.
    fn complete(&mut self, key: StreamKey, has_trailers: bool) {
        let trailers = if has_trailers { self.machine.take_trailers() } else { None };
        let Some(exchange) = self.exchanges.get(key) else { return };
        exchange.is_complete = true;
        let used_up = exchange.shared.complete(trailers);
        if let Some(exchange) = self.exchanges.get(key)
            && exchange.upload.is_some()
            && !exchange.is_tunnel
        {
            // The owner may not poll the exchange again.
            let patience = self.role.limits.time.send_idle.unwrap_or(Duration::MAX);
            exchange.abandoned_until = exchange.until.or(Some(after(self.now, patience)));
            self.role.abandoned.schedule(self.now);
        }
        self.credit(key, used_up);
        self.remove_exchange(key);
    }

    /// A stream was reset.
    fn reset(&mut self, key: StreamKey, reason: ResetReason) {
        let Some(exchange) = self.take_exchange(key) else { return };
        // RFC 9113 §8.1: the server has answered, and does not want the rest of the request.
        if exchange.is_complete {
            return exchange.shared.forgive();
        }
        let phase = exchange.phase();
        match reason {
            ResetReason::Fault(fault) => {
                exchange.shared.fail(|| Error::fault(fault, phase).of_stream());
            }
            ResetReason::Unprocessed => exchange.shared.fail(|| {
                let goaway = self.role.retirement.goaway();
                let code = goaway.map_or(ErrorCode::NO_ERROR, |goaway| goaway.code);
                let words = goaway_text(&self.machine, code);
                let error = Error::new(ErrorKind::H2GoAway, phase)
                    .with_detail(format_args!("{words}; it did nothing of this request"));
                left_undone(error, goaway)
            }),
            ResetReason::Peer(code @ ErrorCode::REFUSED_STREAM) => refuse(&exchange.shared, || {
                Error::new(ErrorKind::H2Refused, phase).with_detail(code)
            }),
            ResetReason::Peer(code @ ErrorCode::HTTP_1_1_REQUIRED) => {
                refuse(&exchange.shared, || {
                    Error::new(ErrorKind::H2Refused, phase).with_detail(code).wanting_http1()
                })
            }
            ResetReason::Peer(code) => exchange.shared.reject(|| {
                Error::new(ErrorKind::Reset, phase)
                    .with_text(format_args!("the server reset the stream: {code}"))
                    .of_stream()
            }),
        }
    }

    /// Forgets an exchange that has nothing left to do.
    pub(super) fn remove_exchange(&mut self, key: StreamKey) {
        let Some(exchange) = self.exchanges.get(key) else { return };
        if !exchange.is_complete {
            return;
        }
        match &exchange.upload {
            Some(upload) if !upload.is_unwanted => {}
            // What is not sent any more leaves the stream open.
            Some(_) => drop(self.abort(key, ErrorCode::NO_ERROR)),
            None => {
                let left =
                    self.take_exchange(key).map_or(0, |exchange| exchange.shared.look().taken);
                self.credit(key, left);
            }
        }
    }

    /// Resets the stream of an exchange, and takes the exchange out.
    pub(super) fn abort(&mut self, key: StreamKey, code: ErrorCode) -> Option<ClientExchange> {
        let exchange = self.reset_exchange(key, code)?;
        exchange.shared.forgive();
        Some(exchange)
    }
}

/// The server did nothing of an exchange: it may be sent again, whatever it is.
fn refuse(shared: &SharedExchange, error: impl FnOnce() -> Error) {
    shared.fail(|| error().unprocessed());
}
