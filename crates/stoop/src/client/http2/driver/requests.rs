//! Requests, from their submission to their streams.

use std::collections::VecDeque;

use http::Method;
use stoop_proto::h2::{ErrorCode, Refusal, StreamKey};
use stoop_proto::{BodySize, CloseReason};

use super::ClientDriver;
use super::end::{DriverEndCause, GoAway, left_undone};
use super::exchange::ClientExchange;
use super::upload::{Http2Upload, SendProgress};
use crate::client::http2::PendingRequest;
use crate::conn::OutputSink;
use crate::conn::http2::outflow::Outflow;
use crate::error::{Error, ErrorKind, Phase};

/// Requests that wait for a stream, and how many had one.
#[derive(Default)]
pub(super) struct Requests {
    /// Requests that are not sent yet, oldest first.
    waiting: VecDeque<PendingRequest>,
    /// Requests that were sent.
    opened: u32,
    /// Exchanges that are over and of which the pool was not told.
    ended: u32,
}

impl Requests {
    /// Counts a request that was sent. True if it was the last of at most `max`.
    fn count_opened(&mut self, max: u32) -> bool {
        self.opened = self.opened.saturating_add(1);
        self.opened >= max.max(1)
    }

    /// Counts exchanges that are over: other requests may have their streams.
    #[inline]
    pub(super) fn ended(&mut self, exchanges: usize) {
        self.ended += exchanges as u32;
    }

    /// How many exchanges are over since the last call.
    #[inline]
    pub(super) fn take_ended(&mut self) -> usize {
        std::mem::take(&mut self.ended) as usize
    }

    /// Takes the requests that callers have submitted. True if there were any.
    fn take_all(&mut self, submitted: &mut Vec<PendingRequest>) -> bool {
        if submitted.is_empty() {
            return false;
        }
        if self.waiting.is_empty() {
            // They are swapped: each conversion keeps its allocation.
            let room = Vec::from(std::mem::take(&mut self.waiting));
            self.waiting = std::mem::replace(submitted, room).into();
        } else {
            self.waiting.extend(submitted.drain(..));
        }
        true
    }

    /// Takes the requests that wait, and that will not be sent.
    pub(super) fn take_waiting(&mut self) -> VecDeque<PendingRequest> {
        std::mem::take(&mut self.waiting)
    }

    /// Frees memory that an idle connection has no use for.
    pub(super) fn shrink(&mut self) {
        self.waiting.shrink_to_fit();
    }
}

impl ClientDriver {
    /// Takes what callers have submitted, and sends as many requests as there are streams. True if any was new
    /// or sent.
    pub(super) fn take_submitted(&mut self) -> bool {
        let requests = &mut self.role.requests;
        let mut state = self.role.shared.state();
        let mut moved = requests.take_all(&mut state.submitted);
        let consumed = std::mem::take(&mut state.consumed);
        let (closes, aborts, paused) = (state.closes, state.aborts, state.paused);
        drop(state);
        if aborts {
            self.terminate(&DriverEndCause::ClientClosed);
            self.machine.close(ErrorCode::NO_ERROR, CloseReason::CallerCloses);
            return true;
        }
        if consumed > 0 {
            self.machine.consumed_after_end(consumed);
        }
        if paused > 0 {
            self.machine.make_room(paused);
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
            && let Some(pending) = self.role.requests.waiting.pop_front()
        {
            let Err(pending) = self.open_stream(pending) else {
                moved = true;
                continue;
            };
            self.role.requests.waiting.push_front(pending);
            // The server allows fewer streams than it did, or than was assumed before it said how many:
            // those without one may find one on another connection.
            if self.machine.is_peer_known() {
                let refused = self.role.requests.take_waiting();
                self.role.requests.ended(refused.len());
                let goaway = self.role.retirement.goaway();
                refused.into_iter().for_each(|pending| return_unsent(pending, no_more(goaway)));
            }
            return moved;
        }
        moved
    }

    /// Opens the stream of a request, or returns it if there is no stream for it now.
    fn open_stream(&mut self, pending: PendingRequest) -> Result<(), PendingRequest> {
        if self.machine.streams() == 0 {
            self.role.liveness.begins(self.now);
        }
        let Self { machine, wire, .. } = self;
        let mut key = None;
        let opened = pending.shared.open(|request| {
            if request.head.protocol().is_some() && !machine.is_peer_known() {
                return Err(Refusal::Full);
            }
            let scheme = request.url.as_ref().map_or("http", |url| url.scheme());
            let opened = machine.open(
                &request.head,
                scheme,
                pending.size,
                &mut OutputSink(&mut wire.out),
            )?;
            let is_tunnel = *request.head.method() == Method::CONNECT;
            let expects = request.head.expects_continue() == Ok(true);
            key = Some((opened, expects, is_tunnel));
            Ok(opened.index())
        });
        match (opened, key) {
            // The owner has left.
            (None, _) => self.role.requests.ended(1),
            (Some(Err(Refusal::Full)), _) => return Err(pending),
            (Some(Err(refusal)), _) => {
                self.role.requests.ended(1);
                refused(pending, refusal, self.role.retirement.goaway());
            }
            (Some(Ok(_)), None) => {}
            (Some(Ok(_)), Some((key, expects, is_tunnel))) => {
                self.keep_exchange(key, pending, expects, is_tunnel);
                let max = self.role.limits.pool.http2_requests_per_connection_max;
                if self.role.requests.count_opened(max) {
                    self.retire(CloseReason::RequestsMax);
                }
            }
        }
        Ok(())
    }

    fn keep_exchange(
        &mut self,
        key: StreamKey,
        pending: PendingRequest,
        expects: bool,
        is_tunnel: bool,
    ) {
        let PendingRequest { shared, body, size, until } = pending;
        let has_content = size != BodySize::Exact(0);
        let upload = has_content.then_some(Http2Upload {
            outflow: Outflow::polled_from(body),
            is_held: expects,
            is_unwanted: false,
            progress: SendProgress::written_to(self.wire.position()),
        });
        let exchange = ClientExchange {
            key,
            shared,
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

/// Returns a request of which nothing was sent, with an error that says so.
pub(super) fn return_unsent(pending: PendingRequest, error: Error) {
    pending.shared.return_unsent(pending.body, error);
}

fn no_more(goaway: Option<GoAway>) -> Error {
    let error = Error::new(ErrorKind::H2GoAway, Phase::Wait);
    left_undone(error.with_detail("the connection takes no more"), goaway)
}

/// Fails a request that the connection cannot send.
fn refused(pending: PendingRequest, refusal: Refusal, goaway: Option<GoAway>) {
    match refusal {
        Refusal::Misuse(misuse) => pending.shared.fail(|| Error::misuse(misuse, Phase::Request)),
        Refusal::ExtendedConnect => pending.shared.fail(|| {
            Error::new(ErrorKind::H2Refused, Phase::Request)
                .with_detail("the server takes no extended CONNECT (RFC 8441 §3)")
        }),
        Refusal::TooLarge(bytes) => pending.shared.fail(|| {
            Error::new(ErrorKind::H2Refused, Phase::Request).with_detail(format_args!(
                "the server takes no head of more than {bytes} bytes (RFC 9113 §6.5.2)"
            ))
        }),
        Refusal::Full | Refusal::GoingAway | Refusal::Exhausted => {
            return_unsent(pending, no_more(goaway))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_request_is_the_one_that_reaches_the_limit() {
        let last = |max: u32| {
            let mut requests = Requests::default();
            (1..10).find(|_| requests.count_opened(max))
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
