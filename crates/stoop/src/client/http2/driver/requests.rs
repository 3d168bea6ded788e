//! Requests, from the connection's inbox to their streams.

use std::collections::VecDeque;

use http::Method;
use stoop_proto::h2::{Refusal, StreamKey};
use stoop_proto::{BodySize, CloseReason};

use super::ClientDriver;
use super::exchange::ClientExchange;
use super::upload::{Http2Upload, SendProgress};
use crate::client::http2::Order;
use crate::conn::OutputSink;
use crate::conn::http2::outflow::Outflow;
use crate::error::{Error, ErrorKind, Phase};

/// Requests that wait for a stream, and how many had one.
#[derive(Default)]
pub(super) struct Requests {
    /// Requests that are not sent yet, oldest first.
    waiting: VecDeque<Order>,
    /// Requests that were sent.
    opened: u32,
    /// Exchanges that are over and of which the pool was not told.
    ended: u32,
}

impl Requests {
    /// A request was sent. Whether it is the last of at most so many.
    fn is_last(&mut self, max: u32) -> bool {
        self.opened = self.opened.saturating_add(1);
        self.opened >= max.max(1)
    }

    /// So many exchanges are over: others may have their streams.
    #[inline]
    pub(super) fn ended(&mut self, exchanges: usize) {
        self.ended += exchanges as u32;
    }

    /// How many exchanges are over since this was asked last.
    #[inline]
    pub(super) fn take_ended(&mut self) -> usize {
        std::mem::take(&mut self.ended) as usize
    }

    /// Empties the connection's inbox. True if there was anything in it.
    fn take_inbox(&mut self, inbox: &mut Vec<Order>) -> bool {
        if inbox.is_empty() {
            return false;
        }
        if self.waiting.is_empty() {
            // They are swapped: each conversion keeps its allocation.
            let room = Vec::from(std::mem::take(&mut self.waiting));
            self.waiting = std::mem::replace(inbox, room).into();
        } else {
            self.waiting.extend(inbox.drain(..));
        }
        true
    }

    /// Takes the requests that wait, and that will not be sent.
    pub(super) fn take_waiting(&mut self) -> VecDeque<Order> {
        std::mem::take(&mut self.waiting)
    }

    /// Gives memory back that an idle connection has no use for.
    pub(super) fn rest(&mut self) {
        self.waiting.shrink_to_fit();
    }
}

impl ClientDriver {
    /// Empties the inbox, and sends as many requests as there are streams. True if any was new or sent.
    pub(super) fn take_orders(&mut self) -> bool {
        let requests = &mut self.role.requests;
        let mut state = self.role.shared.state();
        let mut moved = requests.take_inbox(&mut state.orders);
        let consumed = std::mem::take(&mut state.consumed);
        let closes = state.closes;
        drop(state);
        if consumed > 0 {
            self.machine.consumed_after_end(consumed);
        }
        moved |= self.send_waiting();
        let retired = self.role.retirement.reason();
        let reason = retired.or_else(|| closes.then_some(CloseReason::CallerCloses));
        if let Some(reason) = reason
            && self.role.requests.waiting.is_empty()
        {
            self.machine.drain(self.now, reason);
        }
        moved
    }

    /// Sends as many of the waiting requests as there are streams, unless the output is full. True if any
    /// was sent.
    fn send_waiting(&mut self) -> bool {
        let mut moved = false;
        while !self.is_full()
            && let Some(order) = self.role.requests.waiting.pop_front()
        {
            let Err(order) = self.begin(order) else {
                moved = true;
                continue;
            };
            self.role.requests.waiting.push_front(order);
            // The server allows fewer streams than it did, or than was assumed before it said how many:
            // those without one may find one on another connection.
            if self.machine.is_peer_known() {
                let refused = self.role.requests.take_waiting();
                self.role.requests.ended(refused.len());
                refused.into_iter().for_each(|order| return_unsent(order, no_more()));
            }
            return moved;
        }
        moved
    }

    /// Begins a request, or returns it if there is no stream for it now.
    fn begin(&mut self, order: Order) -> Result<(), Order> {
        if self.machine.streams() == 0 {
            self.role.liveness.begins(self.now);
        }
        let Self { machine, wire, .. } = self;
        let mut key = None;
        let opened = order.cell.open(|request| {
            if request.head.protocol().is_some() && !machine.is_peer_known() {
                return Err(Refusal::Full);
            }
            let scheme = request.url.as_ref().map_or("http", |url| url.scheme());
            let opened =
                machine.open(&request.head, scheme, order.size, &mut OutputSink(&mut wire.out))?;
            let is_tunnel = *request.head.method() == Method::CONNECT;
            let expects = request.head.expects_continue() == Ok(true);
            key = Some((opened, expects, is_tunnel));
            Ok(opened.index())
        });
        match (opened, key) {
            // The owner has left.
            (None, _) => self.role.requests.ended(1),
            (Some(Err(Refusal::Full)), _) => return Err(order),
            (Some(Err(refusal)), _) => {
                self.role.requests.ended(1);
                refused(order, refusal);
            }
            (Some(Ok(_)), None) => {}
            (Some(Ok(_)), Some((key, expects, is_tunnel))) => {
                self.begun(key, order, expects, is_tunnel);
                let max = self.role.limits.pool.http2_requests_per_connection_max;
                if self.role.requests.is_last(max) {
                    self.retire(CloseReason::RequestsMax);
                }
            }
        }
        Ok(())
    }

    fn begun(&mut self, key: StreamKey, order: Order, expects: bool, is_tunnel: bool) {
        let Order { cell, body, size, until } = order;
        let has_content = size != BodySize::Exact(0);
        let upload = has_content.then_some(Http2Upload {
            outflow: Outflow::polled_from(body),
            is_held: expects,
            is_unwanted: false,
            progress: SendProgress::written_to(self.wire.position()),
        });
        let exchange = ClientExchange {
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
}

/// Returns a request of which nothing was sent.
pub(super) fn return_unsent(order: Order, error: Error) {
    order.cell.return_unsent(order.body, error.unprocessed());
}

fn no_more() -> Error {
    Error::new(ErrorKind::H2GoAway, Phase::Wait).with_detail("the connection takes no more")
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_request_is_the_one_that_reaches_the_limit() {
        let last = |max: u32| {
            let mut requests = Requests::default();
            (1..10).find(|_| requests.is_last(max))
        };
        assert_eq!((last(3), last(1), last(0)), (Some(3), Some(1), Some(1)));
    }

    #[test]
    fn ended_exchanges_are_reported_once() {
        let mut requests = Requests::default();
        requests.ended(2);
        requests.ended(1);
        assert_eq!((requests.take_ended(), requests.take_ended()), (3, 0));
    }
}
