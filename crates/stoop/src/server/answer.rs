//! The answering half of a connection: from a handler's future to bytes in the output.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::{Context, Poll};

use bytes::Bytes;
use http::StatusCode;
use http_body::Body as _;
use stoop_io::{Transport, now};
use stoop_proto::{BodySize, Fields, Misuse, ResponseParts, h1};

use crate::body::from_map;
use crate::conn::slot::SlotWriter;
use crate::conn::{Sink, date};
use crate::handler::Handler;
use crate::response::{IntoResponse, Payload, Response};
use crate::server::connection::{Driver, Responding, Stage};
use crate::server::control::Course;

impl<H: Handler> Driver<H> {
    /// Polls the handlers that may have something to say, and sends what the oldest has. True if
    /// something moved.
    pub(super) fn answer(&mut self, cx: &mut Context<'_>) -> bool {
        let mut moved = self.run_handlers(cx);
        while let Some(front) = self.exchanges.front_mut() {
            match &front.response {
                Responding::Running(_) => break,
                Responding::There(_) => {
                    let Some(mut exchange) = self.exchanges.pop_front() else { break };
                    let Responding::There(response) = exchange.response else { break };
                    moved = true;
                    let content = exchange.content.as_ref();
                    if let Some(response) = self.begin(exchange.answer, content, response, cx) {
                        exchange.response = response;
                        self.exchanges.push_front(exchange);
                    }
                }
                Responding::Sending(_) => match self.send(cx) {
                    Sent::All => moved = true,
                    Sent::Some => {
                        moved = true;
                        break;
                    }
                    Sent::Nothing => break,
                },
            }
            if !matches!(self.stage, Stage::Open | Stage::Discarding { .. }) {
                break;
            }
        }
        moved
    }

    /// Polls each handler that was woken, once.
    fn run_handlers(&mut self, cx: &mut Context<'_>) -> bool {
        let mut moved = false;
        for exchange in &mut self.exchanges {
            let Responding::Running(place) = &mut exchange.response else { continue };
            if !std::mem::replace(&mut exchange.due, false) {
                continue;
            }
            let Some(future) = place.as_mut().as_pin_mut() else { continue };
            attend(exchange.content.as_ref(), true);
            let polled = catch_unwind(AssertUnwindSafe(|| future.poll(cx)));
            attend(exchange.content.as_ref(), false);
            let response = match polled {
                Ok(Poll::Pending) => continue,
                Ok(Poll::Ready(output)) => output.into_response(),
                Err(_) => Response::failure(StatusCode::INTERNAL_SERVER_ERROR),
            };
            moved = true;
            let done = std::mem::replace(&mut exchange.response, Responding::There(response));
            if let Responding::Running(place) = done {
                self.core.shelf.put_back(place);
            }
            // A body that reads the request is due too.
            exchange.due = true;
        }
        moved
    }

    /// Begins a response, and ends it too if its content is a buffer; else says how it goes on.
    pub(super) fn begin(
        &mut self,
        answer: h1::Answer,
        content: Option<&SlotWriter>,
        mut response: Response<H::Body>,
        cx: &mut Context<'_>,
    ) -> Option<Responding<H>> {
        if let Some(sender) = response.upgrade.take() {
            let parts = parts(&response);
            if self.machine.switch(answer, &parts, &mut Sink(&mut self.out)).is_ok() {
                self.stage = Stage::Switching(sender);
                return None;
            }
            response = Response::failure(StatusCode::NOT_IMPLEMENTED);
        }
        let close = self.closes_with(content, &response);
        if content.is_some_and(|content| !content.is_dropped()) {
            self.machine.send_continue(&mut Sink(&mut self.out));
        }
        let date = date::now();
        let mut size = response.size();
        loop {
            let parts = ResponseParts { date: Some(&date), close, ..parts(&response) };
            let out = &mut Sink(&mut self.out);
            let status = match self.machine.respond(answer, &parts, size, out) {
                Ok(()) => break,
                // A 2xx to CONNECT that is no tunnel: RFC 9110 §9.3.6.
                Err(Misuse::Tunnel) => StatusCode::NOT_IMPLEMENTED,
                Err(Misuse::Status) => StatusCode::INTERNAL_SERVER_ERROR,
                Err(_) => {
                    self.break_off();
                    return None;
                }
            };
            response = Response::failure(status);
            size = BodySize::Exact(0);
        }
        match response.payload {
            Payload::Full(bytes) => {
                self.finish(answer, Some(bytes), None);
                None
            }
            Payload::Stream(_) if !self.machine.sends_content() => {
                self.finish(answer, None, None);
                None
            }
            Payload::Stream(body) => {
                let _ = cx;
                Some(Responding::Sending(Box::pin(body)))
            }
        }
    }

    /// Whether the connection ends with this response: because somebody wants it to, or because
    /// what is left of the request would take too long to read.
    fn closes_with(&self, content: Option<&SlotWriter>, response: &Response<H::Body>) -> bool {
        let limits = &self.core.limits;
        let unread = self.machine.in_body() && content.is_none_or(SlotWriter::is_dropped);
        let never_sent = unread && self.machine.continue_is_owed();
        let remaining = self.machine.body_remaining();
        let too_much = unread && remaining.is_some_and(|left| left > limits.drain_bytes_max);
        response.close
            || never_sent
            || too_much
            || self.requests >= limits.requests_per_connection_max
            || self.core.control.course() != Course::Running
    }

    /// Sends content of the oldest response while there is room for it.
    fn send(&mut self, cx: &mut Context<'_>) -> Sent {
        let mut sent = Sent::Nothing;
        loop {
            if self.out.len() + self.io.unsent() >= self.core.limits.output_bytes_max {
                if self.io.poll_flush(cx, &mut self.out).is_pending() {
                    return sent;
                }
                if !self.out.is_empty() {
                    // The error shows again when everything is flushed.
                    return sent;
                }
            }
            let Some(exchange) = self.exchanges.front_mut() else { return sent };
            let Responding::Sending(body) = &mut exchange.response else { return sent };
            attend(exchange.content.as_ref(), true);
            let polled = catch_unwind(AssertUnwindSafe(|| body.as_mut().poll_frame(cx)));
            attend(exchange.content.as_ref(), false);
            let answer = exchange.answer;
            match polled {
                Ok(Poll::Pending) => return sent,
                Ok(Poll::Ready(Some(Ok(frame)))) => {
                    sent = Sent::Some;
                    match frame.into_data() {
                        Ok(data) => {
                            if self.machine.data(data, &mut Sink(&mut self.out)).is_err() {
                                self.break_off();
                                return Sent::All;
                            }
                        }
                        Err(frame) => {
                            let mut trailers = Fields::new();
                            if let Ok(map) = frame.into_trailers() {
                                from_map(&map, &mut trailers);
                            }
                            self.exchanges.pop_front();
                            self.finish(answer, None, Some(&trailers));
                            return Sent::All;
                        }
                    }
                }
                Ok(Poll::Ready(None)) => {
                    self.exchanges.pop_front();
                    self.finish(answer, None, None);
                    return Sent::All;
                }
                // The content failed, or its maker panicked: the client must not take it for whole.
                Ok(Poll::Ready(Some(Err(_)))) | Err(_) => {
                    self.break_off();
                    return Sent::All;
                }
            }
        }
    }

    /// Ends a response, and settles what becomes of the connection.
    fn finish(&mut self, answer: h1::Answer, content: Option<Bytes>, trailers: Option<&Fields>) {
        let out = &mut Sink(&mut self.out);
        let sent = content.map_or(Ok(()), |bytes| self.machine.data(bytes, out));
        if sent.and_then(|()| self.machine.finish(trailers, out)).is_err() {
            return self.break_off();
        }
        if self.machine.is_sent() {
            // A client that said it would send no more, and did not, needs no time to read: nothing
            // unread on our side will make the kernel reset the connection.
            let linger =
                !answer.is_last() || self.machine.in_body() || !self.io.received().is_empty();
            self.stage = Stage::Closing { linger };
        } else if self.machine.in_body() {
            let limits = &self.core.limits;
            let (left, by) = (limits.drain_bytes_max, now() + limits.time.drain);
            self.stage = Stage::Discarding { left, by };
        }
    }

    fn break_off(&mut self) {
        self.exchanges.clear();
        self.machine.abort();
        self.stage = Stage::Breaking;
    }
}

enum Sent {
    Nothing,
    Some,
    All,
}

fn parts<B>(response: &Response<B>) -> ResponseParts<'_> {
    ResponseParts {
        content_type: response.content_type(),
        fields: Some(response.fields()),
        ..ResponseParts::new(response.status())
    }
}

fn attend(content: Option<&SlotWriter>, attended: bool) {
    if let Some(content) = content {
        content.attend(attended);
    }
}
