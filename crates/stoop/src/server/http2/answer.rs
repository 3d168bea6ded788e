//! Answering: what a handler returns becomes frames, and an exchange where it cannot be sent at once.

use std::task::{Context, Poll};

use bytes::Bytes;
use http::StatusCode;
use stoop_io::Transport;
use stoop_proto::h2::{ErrorCode, StreamKey};
use stoop_proto::{CloseReason, Fields, ResponseParts};

use super::ServerDriver;
use super::exchange::{ContentSource, ServerExchange, ServerTunnel, StreamResponse, WaitTimes};
use crate::body::request_body::{RequestBodyReader, RequestBodyWriter};
use crate::body::{Body, Kind, take_file};
use crate::conn::OutputSink;
use crate::conn::http2::outflow::{Outflow, TURN_BYTES};
use crate::conn::tunnel::{outgoing, tunnel};
use crate::handler::Handler;
use crate::request::interim::InterimQueue;
use crate::response::{Payload, Response, SentHook};
use crate::server::call::{
    NOT_SWITCHED, is_read_on, parts, poll_handler, read_small_file, send_head,
};
use crate::server::date;
use crate::server::polled_body::poll_once;
use crate::upgrade::{UpgradeSender, Upgraded};

impl<H: Handler> ServerDriver<H> {
    /// Polls an exchange, if there is one at that index.
    pub(super) fn run(&mut self, index: usize) {
        let Some(exchange) = self.exchanges.at(index) else { return };
        let key = exchange.key;
        match &mut exchange.response {
            StreamResponse::Sending(outflow) if outflow.needs_poll() => self.poll_content(key),
            StreamResponse::Running(_) => {
                self.run_handler(key);
                self.attend_to_content(key);
            }
            StreamResponse::Sending(_) | StreamResponse::Sent => self.attend_to_content(key),
        }
        self.remove_exchange(key);
    }

    fn run_handler(&mut self, key: StreamKey) {
        let waker = self.exchanges.waker(key.index());
        let mut cx = Context::from_waker(&waker);
        let Some(exchange) = self.exchanges.get(key) else { return };
        let StreamResponse::Running(future) = &mut exchange.response else { return };
        let polled = poll_handler::<H>(future, exchange.content.as_ref(), &mut cx);
        if let Some(interim) = exchange.interim.take() {
            self.send_interim(key, &interim);
            if let Some(exchange) = self.exchanges.get(key) {
                exchange.interim = Some(interim);
            }
        }
        let Poll::Ready(response) = polled else { return };
        let Some(exchange) = self.exchanges.take(key) else { return };
        let ServerExchange { content, tunnel, continue_owed, .. } = exchange;
        if let StreamResponse::Running(future) = exchange.response {
            self.role.core.futures.put_back(future, Some(&response));
        }
        self.begin(key, (content, tunnel), continue_owed, response);
    }

    /// Begins a handler's response. A client that waits for a 100 gets it before, if the content is
    /// read while the response is sent: after it would be too late.
    pub(super) fn begin(
        &mut self,
        key: StreamKey,
        (content, tunnel): (Option<RequestBodyWriter>, ServerTunnel),
        continue_owed: bool,
        mut response: Response<H::Body>,
    ) {
        if let Some(sender) = response.upgrade.take() {
            match tunnel {
                ServerTunnel::Asked(reader) => {
                    return self.open_tunnel(key, content, reader, response, sender);
                }
                // Only a CONNECT can be upgraded over HTTP/2.
                _ => {
                    let why = "over HTTP/2 only CONNECT can be upgraded (RFC 8441 §5)";
                    replace_by(&mut response, Response::failure(StatusCode::NOT_IMPLEMENTED, why));
                }
            }
        }
        if continue_owed && is_read_on(content.as_ref(), &response) {
            self.say_continue(key);
        }
        self.respond(key, content, response);
    }

    /// Makes a stream a tunnel, of which the handler gets one end.
    fn open_tunnel(
        &mut self,
        key: StreamKey,
        content: Option<RequestBodyWriter>,
        reader: RequestBodyReader,
        mut response: Response<H::Body>,
        sender: UpgradeSender,
    ) {
        let date = date::now();
        let mut parts = ResponseParts { date: Some(&date), ..parts(&response) };
        // RFC 8441 §5: over HTTP/2, 200 says what 101 says over HTTP/1.
        if parts.status == StatusCode::SWITCHING_PROTOCOLS {
            parts.status = StatusCode::OK;
        }
        if self.machine.open_tunnel(key, &parts, &mut OutputSink(&mut self.wire.out)).is_err() {
            replace_by(&mut response, Response::failure(StatusCode::NOT_IMPLEMENTED, NOT_SWITCHED));
            return self.respond(key, content, response);
        }
        let (status, mut hook) = (parts.status, std::mem::take(&mut response.hook));
        hook.begin(status);
        self.role.watches.add_written(hook, &self.wire);
        let (writer, outgoing, progress) = outgoing(self.exchanges.ready().clone());
        let io = tunnel(Body(Kind::Request(reader)), writer, self.wire.io.peer());
        self.role.core.monitor.count_response(status);
        self.role.core.monitor.count_upgrade();
        // If the handler has dropped its receiver, the tunnel is dropped here, and ends.
        let _ = sender.send(Upgraded { io, keep: None, head: None, tunnel: Some(progress) });
        self.keep(ServerExchange {
            key,
            response: StreamResponse::Sending(Outflow::polled_from(ContentSource::Tunnel(
                outgoing,
            ))),
            content,
            tunnel: ServerTunnel::Open,
            continue_owed: false,
            interim: None,
            waited: WaitTimes::new(&self.role.core.limits.time),
            closes: response.close,
            hook: SentHook::default(),
        });
        self.poll_content(key);
    }

    /// Begins a response, and ends it too if its content is a buffer that fits; else it becomes an
    /// exchange's.
    pub(super) fn respond(
        &mut self,
        key: StreamKey,
        content: Option<RequestBodyWriter>,
        mut response: Response<H::Body>,
    ) {
        let (closes, mut hook) = (response.close, std::mem::take(&mut response.hook));
        read_small_file(
            &mut response,
            || self.machine.window_of(key),
            |error, answer| {
                let peer = self.wire.io.peer().inet();
                self.role.core.monitor.file_failed(peer, error, answer);
            },
        );
        let Self { machine, wire, .. } = self;
        let send = |parts: &ResponseParts<'_>, size| {
            machine.respond(key, parts, size, &mut OutputSink(&mut wire.out))
        };
        let Some(has_content) = send_head(&mut response, None, send) else {
            self.machine.reset(key, ErrorCode::INTERNAL_ERROR);
            if closes {
                self.machine.drain(self.now, CloseReason::CallerCloses);
            }
            return;
        };
        self.role.core.monitor.count_response(response.status());
        hook.begin(response.status());
        let polled = match response.payload {
            Payload::Full(bytes) => Ok(bytes),
            Payload::Stream(_) if !has_content => Ok(Bytes::new()),
            Payload::Stream(mut body) => match take_file(&mut body) {
                Some(file) => Err(ContentSource::File(file)),
                None => poll_once(&self.role.core.body_place, body, content.as_ref())
                    .map_err(ContentSource::Body),
            },
        };
        let outflow = match polled {
            Ok(_) if !has_content => None,
            Ok(bytes) if bytes.len() <= self.machine.sendable(key).min(TURN_BYTES) => {
                hook.add_content(bytes.len() as u64);
                let _ = self.machine.data(key, bytes, true, &mut OutputSink(&mut self.wire.out));
                None
            }
            Ok(piece) => Some(Outflow::of(piece)),
            Err(source) => Some(Outflow::polled_from(source)),
        };
        if outflow.is_none() {
            if closes {
                self.machine.drain(self.now, CloseReason::CallerCloses);
            }
            self.role.watches.add_written(std::mem::take(&mut hook), &self.wire);
            if content.is_none() && !self.machine.is_open(key) {
                return;
            }
        }
        // The client needs no 100 any more: the final response is out.
        let (continue_owed, waited, tunnel) =
            (false, WaitTimes::new(&self.role.core.limits.time), ServerTunnel::No);
        let keep = |response| ServerExchange {
            key,
            response,
            content,
            tunnel,
            continue_owed,
            interim: None,
            waited,
            closes,
            hook,
        };
        match outflow {
            None => {
                self.keep(keep(StreamResponse::Sent));
                self.attend_to_content(key);
                self.remove_exchange(key);
            }
            Some(outflow) => {
                let needs_poll = outflow.needs_poll();
                self.keep(keep(StreamResponse::Sending(outflow)));
                if needs_poll {
                    self.poll_content(key);
                } else {
                    self.machine.want_to_send(key, true);
                    self.attend_to_content(key);
                }
            }
        }
    }

    /// Sends the interim responses that a handler has sent so far.
    pub(super) fn send_interim(&mut self, key: StreamKey, interim: &InterimQueue) {
        let waker = self.exchanges.waker(key.index());
        while let Some((status, fields)) = interim.next(&Context::from_waker(&waker)) {
            let out = &mut OutputSink(&mut self.wire.out);
            // It fails only where no response is due, and there it is of no use.
            let _ = self.machine.send_interim(key, status, &fields, out);
        }
    }

    pub(super) fn say_continue(&mut self, key: StreamKey) {
        let out = &mut OutputSink(&mut self.wire.out);
        // It fails only where no response is due, and there a 100 is of no use.
        let _ = self.machine.send_interim(key, StatusCode::CONTINUE, &Fields::new(), out);
    }

    /// A response was sent to its end.
    pub(super) fn sent(&mut self, key: StreamKey) {
        if let Some(exchange) = self.exchanges.get(key) {
            let mut hook = std::mem::take(&mut exchange.hook);
            if let StreamResponse::Sending(outflow) = &exchange.response {
                hook.add_content(outflow.cut_bytes());
            }
            self.role.watches.add_written(hook, &self.wire);
            exchange.response = StreamResponse::Sent;
            // Clients take a GOAWAY before the end of a response for its end.
            if exchange.closes {
                self.machine.drain(self.now, CloseReason::CallerCloses);
            }
        }
        self.remove_exchange(key);
    }

    /// Forgets an exchange whose response is sent and whose request was read. Content that no handler reads
    /// is thrown away up to a limit; then the client is told that it need not send more (RFC 9113 §8.1).
    fn remove_exchange(&mut self, key: StreamKey) {
        let Some(exchange) = self.exchanges.get(key) else { return };
        if !matches!(exchange.response, StreamResponse::Sent) {
            return;
        }
        let is_read = |content: &RequestBodyWriter| !content.is_dropped();
        let is_open = self.machine.is_open(key);
        if is_open {
            let is_too_much = exchange.waited.drained_bytes > self.role.core.limits.drain_bytes_max;
            if exchange.content.as_ref().is_some_and(is_read) || !is_too_much {
                return;
            }
            self.machine.reset(key, ErrorCode::NO_ERROR);
        }
        let exchange = self.exchanges.take(key);
        // Content that has come to its end, and was not read.
        let unread = exchange.and_then(|exchange| exchange.content).map(RequestBodyWriter::abandon);
        if !is_open {
            self.credit(key, unread.unwrap_or(0));
        }
    }
}

/// Replaces a response that cannot be sent by a failure, of which the same are told.
fn replace_by<B>(response: &mut Response<B>, failure: Response<B>) {
    let hook = std::mem::take(&mut response.hook);
    *response = failure;
    response.hook = hook;
}
