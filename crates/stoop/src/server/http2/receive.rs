//! Receiving: events become handler calls, and content goes to their request bodies.

use std::task::{Context, Poll};
use std::time::Duration;

use http::{Method, StatusCode, Version};
use stoop_io::Transport;
use stoop_proto::h2::{self, StreamKey};

use super::ServerDriver;
use super::exchange::{ServerExchange, ServerTunnel, StreamResponse, WaitTimes};
use crate::body::request_body::{RequestBodyWriter, request_body};
use crate::body::{Body, Kind};
use crate::conn::recycle::Recycle;
use crate::error::{Error, ErrorKind, Phase};
use crate::handler::Handler;
use crate::request::Request;
use crate::request::RequestParts;
use crate::request::interim::interim;
use crate::response::{CutShort, Response, SentHook};
use crate::server::call::{call_handler, poll_handler};
use crate::server::dropped::DroppedHandler;

impl<H: Handler> ServerDriver<H> {
    /// Runs the handler of a request.
    pub(super) fn start(&mut self, key: StreamKey, end: bool) {
        self.role.timeouts.used();
        let mut parts = Recycle::<RequestParts>::new();
        self.machine.take_request(&mut parts.head);
        parts.peer = Some(self.wire.io.peer());
        parts.is_reused = std::mem::replace(&mut self.role.is_used, true);
        parts.carried = self.wire.carried();
        parts.facts = Some(self.role.facts.clone());
        let (mut content, mut body, mut continue_owed) = (None, Body::empty(), false);
        let mut tunnel = ServerTunnel::No;
        let expects_continue = match parts.head.expects_continue() {
            Ok(expects_continue) => expects_continue,
            Err(violation) => {
                let (status, peer) = (StatusCode::EXPECTATION_FAILED, self.wire.io.peer().inet());
                let monitor = &self.role.core.monitor;
                monitor.violated(peer, Version::HTTP_2, violation, Some(status), false);
                let response = Response::refusal(status, format!("{status}: {violation}\n"));
                return self.respond(key, None, response);
            }
        };
        if !end {
            continue_owed = expects_continue;
            let (writer, reader) = request_body(self.machine.remaining(key));
            // The content may be read by any task: the connection is woken, and lets the client send more.
            let waker = self.exchanges.waker(key.index());
            writer.watch(&waker, self.role.core.limits.wire.http2.stream_window_bytes / 2);
            content = Some(writer);
            match *parts.head.method() {
                Method::CONNECT => tunnel = ServerTunnel::Asked(reader),
                _ => body = Body(Kind::Request(reader)),
            }
        }
        let mut interim_queue = None;
        if self.role.core.limits.interim_responses_max > 0 {
            (parts.interim, interim_queue) = interim(self.role.core.limits.interim_responses_max);
        }
        let request = Request { parts, body };
        let exchanges = &mut self.exchanges;
        let called = call_handler(&self.role.core, request, |slot| {
            let waker = exchanges.waker(key.index());
            poll_handler::<H>(slot, content.as_ref(), &mut Context::from_waker(&waker))
        });
        if let Some(queue) = &interim_queue {
            self.send_interim(key, queue);
        }
        match called {
            Ok(response) => self.begin(key, (content, tunnel), continue_owed, response),
            Err(slot) => {
                let response = StreamResponse::Running(slot);
                self.keep(ServerExchange {
                    key,
                    response,
                    content,
                    tunnel,
                    continue_owed,
                    interim: interim_queue,
                    waited: WaitTimes::new(&self.role.core.limits.time),
                    closes: false,
                    hook: SentHook::default(),
                });
                self.attend_to_content(key);
            }
        }
    }

    /// Keeps an exchange under its key.
    pub(super) fn keep(&mut self, exchange: ServerExchange<H>) {
        self.exchanges.keep(exchange.key, exchange);
    }

    /// Content came. It is thrown away if no handler will read it.
    pub(super) fn deliver(&mut self, key: StreamKey, len: usize, end: bool) {
        let waker = self.exchanges.waker(key.index());
        let cx = Context::from_waker(&waker);
        let exchange = self.exchanges.get(key);
        let content = exchange.as_ref().and_then(|exchange| exchange.content.as_ref());
        if len > 0 {
            match content.filter(|content| !content.is_dropped()) {
                Some(content) => drop(content.put(self.wire.io.take(len), &cx)),
                None => {
                    self.wire.io.consume(len);
                    self.credit(key, len as u32);
                }
            }
            if let Some(exchange) = self.exchanges.get(key) {
                let is_drained = matches!(exchange.response, StreamResponse::Sent);
                let waited = &mut exchange.waited;
                let rate = self.role.core.limits.time.body_bytes_per_second_min;
                waited.budget.earn(len, rate, Duration::MAX);
                waited.content_idle = 0;
                waited.drained_bytes += if is_drained { len as u64 } else { 0 };
                exchange.continue_owed = false;
            }
        }
        if end {
            self.end_content(key, |content, cx| content.end(Ok(()), None, cx));
        } else {
            self.run(key.index());
        }
    }

    /// The last of a request's content has come, or never will.
    pub(super) fn end_content(
        &mut self,
        key: StreamKey,
        end: impl FnOnce(&RequestBodyWriter, &mut Context<'_>) -> bool,
    ) {
        let waker = self.exchanges.waker(key.index());
        if let Some(exchange) = self.exchanges.get(key)
            && let Some(content) = &exchange.content
        {
            end(content, &mut Context::from_waker(&waker));
        }
        self.run(key.index());
    }

    /// Looks at what became of a request's content: what was read of it, whether it is waited for.
    pub(super) fn attend_to_content(&mut self, key: StreamKey) {
        let Some(exchange) = self.exchanges.get(key) else { return };
        let Some(content) = &exchange.content else { return };
        let (taken, awaited) = (content.take_taken(), content.is_awaited());
        let says_continue = awaited && std::mem::take(&mut exchange.continue_owed);
        self.credit(key, taken);
        if says_continue {
            self.say_continue(key);
        }
    }

    /// A stream is over before its end: the reader of its content is told, and its handler dropped; after a fault it is
    /// polled once more, as over HTTP/1. `answer` is what the machine has answered.
    pub(super) fn reset(
        &mut self,
        key: StreamKey,
        reason: h2::ResetReason,
        answer: Option<StatusCode>,
    ) {
        let Some(mut exchange) = self.take_exchange(key) else { return };
        let dropped = DroppedHandler::new(CutShort::Client, answer);
        let waker = self.exchanges.waker(key.index());
        let mut cx = Context::from_waker(&waker);
        if let Some(content) = exchange.content.take() {
            let error = match reason {
                h2::ResetReason::Fault(fault) => Error::fault(fault, Phase::Receive),
                _ => Error::new(ErrorKind::ClosedEarly, Phase::Receive)
                    .with_detail("the client reset the stream"),
            };
            content.end(Err(error), None, &cx);
        }
        // So that it can clean up. What it answers to that is not asked any more.
        if let (h2::ResetReason::Fault(_), StreamResponse::Running(slot)) =
            (reason, &mut exchange.response)
            && let Poll::Ready(response) = poll_handler::<H>(slot, None, &mut cx)
        {
            dropped.in_scope(|| drop(response));
            let StreamResponse::Running(slot) = exchange.response else { return };
            return self.role.core.futures.drop_for(slot, dropped);
        }
        self.detach(exchange, dropped);
    }

    /// This exchange is over before its end: its handler is dropped, or runs on by itself, or its response is cut short.
    fn detach(&mut self, exchange: ServerExchange<H>, dropped: DroppedHandler) {
        let key = exchange.key;
        let StreamResponse::Running(slot) = exchange.response else {
            return self.cut(Some(exchange), dropped.why());
        };
        self.role.detached.take(&self.role.core, slot, dropped);
        if !self.role.detached.is_empty() {
            // It is polled with the connection from now on, and its time counts.
            self.exchanges.waker(key.index()).wake();
        }
    }

    /// The same of all exchanges that are left.
    pub(super) fn detach_all(&mut self, why: CutShort) {
        let left: Vec<_> = self.exchanges.drain().collect();
        let dropped = DroppedHandler::new(why, None);
        left.into_iter().for_each(|exchange| self.detach(exchange, dropped));
    }
}
