//! The answering half of a connection: from a handler's future to the head of its response, and its content if that is
//! a buffer.

use std::task::{Context, Poll};

use http::StatusCode;
use stoop_proto::{CloseReason, ResponseParts, h1};

use crate::body::request_body::RequestBodyWriter;
use crate::body::take_file;
use crate::conn::OutputSink;
use crate::handler::Handler;
use crate::request::interim::InterimQueue;
use crate::response::{CutShort, Payload, Response};
use crate::server::call::{
    NOT_SWITCHED, is_read_on, parts, poll_handler, read_small_file, send_head,
};
use crate::server::control::Lifecycle;
use crate::server::http1::send::Sent;
use crate::server::http1::{Http1Driver, Http1Stage, PipelinedResponse};
use crate::server::polled_body::poll_once;

impl<H: Handler> Http1Driver<H> {
    /// Polls the handlers that may have something to say, and sends what the oldest has. True if
    /// something moved.
    pub(super) fn answer(&mut self, cx: &mut Context<'_>) -> bool {
        let mut moved = self.run_handlers(cx);
        while let Some(front) = self.exchanges.front_mut() {
            if let Some(interim) = front.interim.take() {
                moved |= self.tell_ahead(interim, cx);
            }
            let Some(front) = self.exchanges.front_mut() else { break };
            match &front.response {
                PipelinedResponse::Running(_) => break,
                PipelinedResponse::There(_) => {
                    let Some(mut exchange) = self.exchanges.pop_front() else { break };
                    let PipelinedResponse::There(response) = exchange.response else { break };
                    moved = true;
                    let content = exchange.content.as_ref();
                    if let Some(response) = self.begin(exchange.answer, content, response) {
                        exchange.response = response;
                        self.exchanges.push_front(exchange);
                    }
                }
                PipelinedResponse::Sending(_) | PipelinedResponse::SendingFile(_) => {
                    match self.send(cx) {
                        Sent::All => moved = true,
                        Sent::Some => {
                            moved = true;
                            break;
                        }
                        Sent::Nothing => break,
                    }
                }
            }
            if !self.is_serving() {
                break;
            }
        }
        moved
    }

    /// Sends what the handler of the oldest request has sent ahead of its response. True if that was something.
    fn tell_ahead(&mut self, interim: InterimQueue, cx: &Context<'_>) -> bool {
        let Some(front) = self.exchanges.front() else { return false };
        let (answer, is_running) = (front.answer, front.is_running());
        let moved = self.send_interim(answer, &interim, cx);
        if let Some(front) = self.exchanges.front_mut()
            && is_running
        {
            front.interim = Some(interim);
        }
        moved
    }

    /// Sends the interim responses that a handler has sent so far.
    pub(super) fn send_interim(
        &mut self,
        answer: h1::ResponseContext,
        interim: &InterimQueue,
        cx: &Context<'_>,
    ) -> bool {
        let mut moved = false;
        while let Some((status, fields)) = interim.next(cx) {
            let out = &mut OutputSink(&mut self.wire.out);
            // It fails only where no response is due, and there it is of no use.
            moved |= self.machine.send_interim(answer, status, &fields, out).is_ok();
        }
        moved
    }

    /// Polls each handler that was woken, once, or as many as the turn has time for.
    fn run_handlers(&mut self, cx: &mut Context<'_>) -> bool {
        let (mut moved, mut polled) = (false, 0);
        for (index, exchange) in self.exchanges.iter_mut().enumerate() {
            let PipelinedResponse::Running(slot) = &mut exchange.response else { continue };
            if !exchange.due {
                continue;
            }
            if polled > 0 && self.turn.step() {
                return moved;
            }
            exchange.due = false;
            polled += 1;
            let Poll::Ready(mut response) = poll_handler::<H>(slot, exchange.content.as_ref(), cx)
            else {
                continue;
            };
            moved = true;
            if index > 0 {
                response.hook.answered();
            }
            let there = PipelinedResponse::There(response);
            let done = std::mem::replace(&mut exchange.response, there);
            if let PipelinedResponse::Running(slot) = done
                && let PipelinedResponse::There(response) = &exchange.response
            {
                self.core.futures.put_back(slot, Some(response));
            }
        }
        if std::mem::take(&mut self.sweeps_again) {
            self.exchanges.iter_mut().for_each(|exchange| exchange.due = true);
            return true;
        }
        moved
    }

    /// Begins a response, and ends it too if its content is a buffer; else says how it goes on.
    pub(super) fn begin(
        &mut self,
        answer: h1::ResponseContext,
        content: Option<&RequestBodyWriter>,
        mut response: Response<H::Body>,
    ) -> Option<PipelinedResponse<H>> {
        self.watches.start(std::mem::take(&mut response.hook));
        if let Some(sender) = response.upgrade.take() {
            let parts = parts(&response);
            if self.machine.switch(answer, &parts, &mut OutputSink(&mut self.wire.out)).is_ok() {
                self.stage = Http1Stage::Switching(sender);
                self.core.monitor.count_response(response.status());
                self.core.monitor.count_upgrade();
                self.watches.begin(response.status());
                self.watches.end(&self.wire);
                return None;
            }
            response = Response::failure(StatusCode::NOT_IMPLEMENTED, NOT_SWITCHED);
        }
        read_small_file(
            &mut response,
            || usize::MAX,
            |error, answer| {
                self.core.monitor.file_failed(self.peer(), error, answer);
            },
        );
        let read_on = is_read_on(content, &response);
        let close = self.close_reason(&response);
        if read_on {
            self.machine.send_continue(&mut OutputSink(&mut self.wire.out));
        } else if self.in_content() {
            self.machine.leave_unread(self.core.limits.drain_bytes_max);
        }
        let Self { machine, wire, .. } = self;
        let send = |parts: &ResponseParts<'_>, size| {
            machine.respond(answer, parts, size, &mut OutputSink(&mut wire.out))
        };
        if send_head(&mut response, close, send).is_none() {
            self.abort(CutShort::Content);
            return None;
        }
        self.core.monitor.count_response(response.status());
        self.watches.begin(response.status());
        match response.payload {
            Payload::Full(bytes) => {
                if self.machine.sends_content() {
                    self.watches.add_content(bytes.len());
                }
                self.finish(answer, Some(bytes), None);
                None
            }
            Payload::Stream(_) if !self.machine.sends_content() => {
                self.finish(answer, None, None);
                None
            }
            Payload::Stream(mut body) => {
                if let Some(file) = take_file(&mut body) {
                    return Some(PipelinedResponse::SendingFile(file));
                }
                match poll_once(&self.core.body_place, body, content) {
                    Err(body) => Some(PipelinedResponse::Sending(body)),
                    Ok(bytes) => {
                        self.watches.add_content(bytes.len());
                        self.finish(answer, Some(bytes), None);
                        None
                    }
                }
            }
        }
    }

    /// Why the server wants the connection to end with this response, if it does. The machine has the
    /// reasons that lie in the messages.
    fn close_reason(&self, response: &Response<H::Body>) -> Option<CloseReason> {
        if response.close {
            return Some(CloseReason::CallerCloses);
        }
        // Requests that were read along with this one are answered before the end.
        if !(self.exchanges.is_empty() && self.held.is_none()) {
            return None;
        }
        if self.core.control.lifecycle() != Lifecycle::Running {
            return Some(CloseReason::Draining);
        }
        self.has_all_requests().then_some(CloseReason::RequestsMax)
    }

    /// Whether the connection has had as many requests as it may have.
    pub(super) fn has_all_requests(&self) -> bool {
        self.requests >= self.core.limits.requests_per_connection_max
    }

    /// Whether content of the request that is being answered is still to come: not of one that
    /// waits behind it.
    pub(super) fn in_content(&self) -> bool {
        self.machine.in_body() && self.held.is_none()
    }
}
