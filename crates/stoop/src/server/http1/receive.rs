//! Receiving: bytes become handler calls, and content goes to their request bodies.

use std::task::{Context, Poll};

use http::Version;
use stoop_io::{Output, Transport};
use stoop_proto::{CloseReason, Violation, h1};

use crate::body::request_body::request_body;
use crate::body::{Body, Kind};
use crate::conn::OutputSink;
use crate::conn::recycle::Recycle;
use crate::error::{Error, Phase};
use crate::handler::Handler;
use crate::request::Request;
use crate::request::RequestParts;
use crate::request::interim::interim;
use crate::response::CutShort;
use crate::server::call::{call_handler, poll_handler};
use crate::server::control::Lifecycle;
use crate::server::dropped::DroppedHandler;
use crate::server::http1::{
    HeldRequest, Http1Driver, Http1Round, Http1Stage, PipelinedExchange, PipelinedResponse, Read,
};
use crate::versions::Preface;

impl<H: Handler> Http1Driver<H> {
    /// Reads up to one event.
    pub(super) fn read(&mut self, cx: &mut Context<'_>) -> Read {
        if let Some(violation) = self.violation {
            if !self.exchanges.is_empty() {
                return Read::Held;
            }
            self.refuse_violation(violation);
            return Read::Moved;
        }
        if self.is_full() {
            return Read::Held;
        }
        if self.held.is_some() {
            if !self.exchanges.is_empty() {
                return Read::Watches;
            }
            if let Some(HeldRequest { parts, end }) = self.held.take() {
                self.start(parts, end, cx);
            }
            return Read::Moved;
        }
        if self.machine.in_body() {
            return self.read_content(cx);
        }
        self.stage = Http1Stage::Open;
        if let Some(last) = self.exchanges.back() {
            let drained = self.core.control.lifecycle() != Lifecycle::Running;
            if !last.parallel || drained || !self.machine.is_receiving() {
                return Read::Watches;
            }
        } else if !self.machine.is_receiving() {
            self.begin_close(CloseReason::PeerClosed, true);
            return Read::Moved;
        }
        self.read_head(cx)
    }

    /// Over TLS the version was agreed on, if anything was (RFC 9113 §3.3).
    fn may_be_http2(&self) -> bool {
        self.core.versions.allow_http2() && self.wire.io.alpn().is_none()
    }

    fn read_head(&mut self, cx: &mut Context<'_>) -> Read {
        let received = self.wire.io.received();
        if received.is_empty() {
            return Read::WantsHead;
        }
        if self.requests == 0 && self.may_be_http2() {
            match Preface::of(received) {
                Preface::Partial => return Read::WantsHead,
                Preface::Complete => {
                    self.stage = Http1Stage::Http2;
                    return Read::Moved;
                }
                Preface::Absent => {}
            }
        }
        let mut parts = Recycle::<RequestParts>::new();
        let limits = &self.core.limits.wire;
        let received = self.machine.receive(self.wire.io.received(), &mut parts.head, limits);
        self.wire.io.consume(received.consumed);
        match received.event {
            h1::Event::Head { end } => {
                self.requests += 1;
                self.timeouts.restart();
                if self.is_parallel(&parts, end) || self.exchanges.is_empty() {
                    self.start(parts, end, cx);
                } else {
                    self.held = Some(HeldRequest { parts, end });
                }
            }
            h1::Event::NeedMore => return Read::WantsHead,
            h1::Event::Violation(violation) => self.violation = Some(violation),
            _ => return Read::Held,
        }
        Read::Moved
    }

    /// Whether the request whose head was read may run beside others. What may become a tunnel is
    /// followed by nothing that could be read.
    fn is_parallel(&self, parts: &RequestParts, end: bool) -> bool {
        end && parts.head.method().is_safe() && !self.machine.answer().may_switch()
    }

    /// Runs the handler of a request whose head was read.
    fn start(&mut self, mut parts: Recycle<RequestParts>, end: bool, cx: &mut Context<'_>) {
        let answer = self.machine.answer();
        let (mut content, mut body) = (None, Body::empty());
        if !end {
            if let Err(violation) =
                self.machine.validate_buffered_body(self.wire.io.received(), &self.core.limits.wire)
            {
                self.violation = Some(violation);
                return;
            }
            if !self.wire.io.received().is_empty() {
                // The client did not wait for a 100, and needs none any more.
                self.machine.send_continue(&mut OutputSink(&mut Output::default()));
            }
            let (writer, reader) = request_body(self.machine.body_remaining());
            (content, body) = (Some(writer), Body(Kind::Request(reader)));
        }
        // The last request a connection may have: its response says so. A tunnel may still follow.
        if self.has_all_requests() && !answer.may_switch() {
            self.machine.stop_receiving(CloseReason::RequestsMax);
        }
        let parallel = self.is_parallel(&parts, end);
        parts.peer = Some(self.wire.io.peer());
        parts.is_reused = self.requests > 1;
        parts.carried = self.wire.carried();
        parts.facts = Some(self.facts.clone());
        let mut interim_queue = None;
        if self.core.limits.interim_responses_max > 0 && parts.head.version() != Version::HTTP_10 {
            (parts.interim, interim_queue) = interim(self.core.limits.interim_responses_max);
        }
        let request = Request { parts, body };
        let response =
            call_handler(&self.core, request, |slot| poll_handler::<H>(slot, content.as_ref(), cx));
        if let Some(queue) = &interim_queue
            && self.exchanges.is_empty()
        {
            self.send_interim(answer, queue, cx);
        }
        let response = match response {
            Ok(response) if self.exchanges.is_empty() => {
                match self.begin(answer, content.as_ref(), response) {
                    Some(response) => response,
                    None => return,
                }
            }
            Ok(mut response) => {
                response.hook.answered();
                PipelinedResponse::There(response)
            }
            Err(slot) => PipelinedResponse::Running(slot),
        };
        let (due, since) = (false, None);
        self.exchanges.push_back(PipelinedExchange {
            answer,
            response,
            content,
            interim: interim_queue,
            parallel,
            due,
            since,
        });
    }

    /// Reads content, for the handler if it wants any, and else to drop it.
    fn read_content(&mut self, cx: &mut Context<'_>) -> Read {
        let content = self.exchanges.back_mut().and_then(|exchange| exchange.content.as_mut());
        if let Some(content) = content {
            if content.is_dropped() || !content.is_wanted(cx) {
                self.timeouts.content_is_unwanted(&self.core.limits.time);
                return Read::Watches;
            }
            self.machine.send_continue(&mut OutputSink(&mut self.wire.out));
        } else if !matches!(self.stage, Http1Stage::Discarding { .. }) {
            return Read::Held;
        }
        let limits = &self.core.limits.wire;
        let received = self.machine.receive_content(self.wire.io.received(), limits);
        match received.event {
            h1::Event::Data(span) => {
                self.wire.io.consume(span.start);
                self.deliver(span.len(), cx);
                self.wire.io.consume(received.consumed - span.end);
            }
            h1::Event::End { .. } => {
                self.wire.io.consume(received.consumed);
                let trailers = self.machine.take_trailers();
                if let Some(exchange) = self.exchanges.back_mut()
                    && let Some(content) = exchange.content.take()
                {
                    exchange.due |= content.end(Ok(()), trailers, cx);
                }
                self.timeouts.restart();
            }
            h1::Event::Violation(violation) => self.content_violated(violation, cx),
            _ => {
                self.wire.io.consume(received.consumed);
                return Read::WantsContent;
            }
        }
        Read::Moved
    }

    fn deliver(&mut self, len: usize, cx: &mut Context<'_>) {
        self.timeouts.content_came(len, &self.core.limits.time);
        if let Some(exchange) = self.exchanges.back_mut()
            && let Some(content) = &exchange.content
        {
            exchange.due |= content.put(self.wire.io.take(len), cx);
            return;
        }
        self.wire.io.consume(len);
        if let Http1Stage::Discarding { left, .. } = &mut self.stage {
            match left.checked_sub(len as u64) {
                Some(less) => *left = less,
                None => self.begin_close(CloseReason::UnreadContent, true),
            }
        }
    }

    /// Content turned out malformed, or was cut short. If no response was begun, the violation is
    /// the response; else the client must see that the response is incomplete.
    fn content_violated(&mut self, violation: Violation, cx: &mut Context<'_>) {
        let error = Error::violation(violation, Phase::Receive);
        let dropped = DroppedHandler::new(CutShort::Client, violation.answer());
        if self.exchanges.is_empty() {
            // The response is out already: no handler wanted this content.
            self.begin_close(CloseReason::Violation, true);
            self.core.monitor.violated(self.peer(), Version::HTTP_11, violation, None, true);
        } else if self.stop_reader(error, dropped, cx) {
            self.abort(CutShort::Client);
            self.core.monitor.violated(self.peer(), Version::HTTP_11, violation, None, true);
        } else {
            (self.violation, self.is_violation_handled) = (Some(violation), true);
        }
    }

    /// The rest of the content will not come: its reader is told, so that it can clean up, and
    /// then stopped. Returns whether its response was begun.
    pub(super) fn stop_reader(
        &mut self,
        error: Error,
        dropped: DroppedHandler,
        cx: &mut Context<'_>,
    ) -> bool {
        let Some(mut exchange) = self.exchanges.pop_back() else { return false };
        if let Some(content) = exchange.content.take() {
            content.end(Err(error), None, cx);
        }
        match exchange.response {
            PipelinedResponse::Running(mut slot) => {
                match poll_handler::<H>(&mut slot, None, cx) {
                    // What it answers to that is not asked any more.
                    Poll::Ready(response) => {
                        dropped.in_scope(|| drop(response));
                        self.core.futures.drop_for(slot, dropped);
                    }
                    Poll::Pending => self.detached.take(&self.core, slot, dropped),
                }
                false
            }
            PipelinedResponse::There(response) => {
                dropped.in_scope(|| drop(response));
                false
            }
            PipelinedResponse::Sending(_) | PipelinedResponse::SendingFile(_) => true,
        }
    }

    /// The client will send no more. What it asked for is still answered.
    pub(super) fn ended(&mut self, cx: &mut Context<'_>) -> Http1Round {
        let in_body = self.machine.in_body();
        match self.machine.receive_end(self.wire.io.received()) {
            h1::Event::Violation(violation) if in_body => self.content_violated(violation, cx),
            h1::Event::Violation(violation) => self.violation = Some(violation),
            _ if self.exchanges.is_empty() => self.begin_close(CloseReason::PeerClosed, false),
            _ => {}
        }
        Http1Round::Again
    }
}
