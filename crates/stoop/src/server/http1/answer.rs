//! The answering half of a connection: from a handler's future to bytes in the output.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::StatusCode;
use http_body::Body as _;
use stoop_io::{Transport, now};
use stoop_proto::{CloseReason, Fields, ResponseParts, h1};

use crate::body::file_content::FileChunk;
use crate::body::request_body::RequestBodyWriter;
use crate::body::take_file;
use crate::conn::OutputSink;
use crate::handler::Handler;
use crate::header_map::from_map;
use crate::limits::after;
use crate::request::interim::InterimQueue;
use crate::response::{CutShort, Payload, Response};
use crate::server::call::{
    is_read_on, parts, poll_handler, read_small_file, send_head, set_polled,
};
use crate::server::control::Lifecycle;
use crate::server::http1::{Http1Driver, Http1Stage, PipelinedExchange, PipelinedResponse};
use crate::server::polled_body::poll_once;

/// Pieces of content in one go, after which there is a look at what else is to do.
const FRAMES_MAX: u32 = 64;

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
        for exchange in &mut self.exchanges {
            let PipelinedResponse::Running(slot) = &mut exchange.response else { continue };
            if !exchange.due {
                continue;
            }
            if polled > 0 && self.turn.step() {
                return moved;
            }
            exchange.due = false;
            polled += 1;
            let Poll::Ready(response) = poll_handler::<H>(slot, exchange.content.as_ref(), cx)
            else {
                continue;
            };
            moved = true;
            let done =
                std::mem::replace(&mut exchange.response, PipelinedResponse::There(response));
            if let PipelinedResponse::Running(slot) = done {
                self.core.futures.put_back(slot);
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
            response = Response::failure(StatusCode::NOT_IMPLEMENTED);
        }
        read_small_file(&mut response);
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
                match poll_once(body, content) {
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

    /// Sends content of the oldest response while there is room for it.
    fn send(&mut self, cx: &mut Context<'_>) -> Sent {
        let mut sent = Sent::Nothing;
        for frames in 0..FRAMES_MAX {
            if frames > 0 && self.turn.step() {
                return sent;
            }
            // An error shows again when everything is flushed.
            let has_ended = self.is_full() && self.has_ended();
            if self.is_full() && !has_ended && self.flush(cx) != Poll::Ready(true) {
                return sent;
            }
            let Some(exchange) = self.exchanges.front_mut() else { return sent };
            let body = match &mut exchange.response {
                PipelinedResponse::Sending(body) => body,
                PipelinedResponse::SendingFile(file) => {
                    let polled = file.poll_next(cx, self.wire.io.sends_files());
                    let Poll::Ready(chunk) = polled else { return sent };
                    let is_last = file.left() == 0;
                    sent = self.send_chunk(chunk, is_last);
                    match sent {
                        Sent::All => return Sent::All,
                        _ => continue,
                    }
                }
                _ => return sent,
            };
            set_polled(exchange.content.as_ref(), true);
            let polled = catch_unwind(AssertUnwindSafe(|| Pin::new(&mut *body).poll_frame(cx)));
            set_polled(exchange.content.as_ref(), false);
            let answer = exchange.answer;
            let frame = match polled {
                Ok(Poll::Pending) => return sent,
                Ok(Poll::Ready(Some(Ok(frame)))) => frame,
                Ok(Poll::Ready(None)) => {
                    self.exchanges.pop_front();
                    self.finish(answer, None, None);
                    return Sent::All;
                }
                // The content failed, or its source panicked: the client must not take it for whole.
                Ok(Poll::Ready(Some(Err(_)))) | Err(_) => {
                    self.abort(CutShort::Content);
                    return Sent::All;
                }
            };
            sent = Sent::Some;
            match frame.into_data() {
                Ok(data) => {
                    self.watches.add_content(data.len());
                    if self.machine.data(data, &mut OutputSink(&mut self.wire.out)).is_err() {
                        self.abort(CutShort::Content);
                        return Sent::All;
                    }
                    // `is_end_stream` was wrong: what is written is sent before the next piece.
                    if has_ended && self.flush(cx) != Poll::Ready(true) {
                        return sent;
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
        sent
    }

    /// Sends what comes next of the oldest response's file, and its end with the last of it.
    fn send_chunk(&mut self, chunk: Option<io::Result<FileChunk>>, is_last: bool) -> Sent {
        if let Some(Ok(chunk)) = &chunk {
            self.watches.add_content(chunk.len());
        }
        let out = &mut OutputSink(&mut self.wire.out);
        let sent = match chunk {
            None => Ok(()),
            Some(Ok(chunk)) => self
                .machine
                .data_by(chunk.len() as u64, out, |out| out.put_chunk(chunk))
                .map_err(drop),
            // The client must not take what it got for whole.
            Some(Err(_)) => Err(()),
        };
        if sent.is_err() {
            self.abort(CutShort::Content);
            return Sent::All;
        }
        if !is_last {
            return Sent::Some;
        }
        if let Some(exchange) = self.exchanges.pop_front() {
            self.finish(exchange.answer, None, None);
        }
        Sent::All
    }

    /// Whether the content being sent says that it has no more: then its end goes out with what is
    /// there, and not by itself.
    fn has_ended(&self) -> bool {
        let Some(PipelinedExchange { response: PipelinedResponse::Sending(body), .. }) =
            self.exchanges.front()
        else {
            return false;
        };
        catch_unwind(AssertUnwindSafe(|| body.is_end_stream())).unwrap_or(false)
    }

    /// Whether content of the request that is being answered is still to come: not of one that
    /// waits behind it.
    fn in_content(&self) -> bool {
        self.machine.in_body() && self.held.is_none()
    }

    /// Ends a response, and settles what becomes of the connection.
    fn finish(
        &mut self,
        answer: h1::ResponseContext,
        content: Option<Bytes>,
        trailers: Option<&Fields>,
    ) {
        let out = &mut OutputSink(&mut self.wire.out);
        let sent = content.map_or(Ok(()), |bytes| self.machine.data(bytes, out));
        if sent.and_then(|()| self.machine.finish(trailers, out)).is_err() {
            return self.abort(CutShort::Content);
        }
        self.watches.end(&self.wire);
        if self.machine.is_sent() {
            // A client that said it would send no more, and did not, needs no time to read: nothing
            // unread on our side will make the kernel reset the connection.
            let quiet = answer.close_reason().is_some()
                && !self.in_content()
                && self.wire.io.received().is_empty();
            self.begin_close(CloseReason::PeerClosed, !quiet && !self.at_end);
        } else if self.in_content() {
            let limits = &self.core.limits;
            let (left, by) = (limits.drain_bytes_max, after(now(), limits.time.drain));
            self.stage = Http1Stage::Discarding { left, by };
        }
    }
}

enum Sent {
    Nothing,
    Some,
    All,
}
