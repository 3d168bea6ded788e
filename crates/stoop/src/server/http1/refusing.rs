//! Refusing: what is answered to a connection that is not served, and to a request that is not right.

use std::net::SocketAddr;

use http::{StatusCode, Version};
use stoop_io::Transport;
use stoop_proto::{CloseReason, Sink, Violation};

use crate::conn::OutputSink;
use crate::connection_info::CarriedBytes;
use crate::handler::Handler;
use crate::server::call::LATE_REQUEST;
use crate::server::date;
use crate::server::events::ServerTimeout;
use crate::server::http1::{Http1Driver, Http1Stage};
use crate::server::shedding::RETRY_AFTER_SECONDS;

/// Why a 429 is sent.
const TOO_MANY: &str =
    "429 Too Many Requests: this address has as many connections as it may have\n";

impl<H: Handler> Http1Driver<H> {
    /// Answers 429 once it can, and nothing else.
    pub(in crate::server) fn begin_refusal(&mut self) {
        self.stage = Http1Stage::Handshake { is_refused: true };
    }

    /// 429, and no more, whatever the client says. Where a caller's TLS has agreed on HTTP/2 all the same, a client
    /// would not understand that.
    pub(super) fn refuse_connection(&mut self) {
        if self.wire.io.alpn() == Some(b"h2") {
            return self.begin_close(CloseReason::CallerCloses, false);
        }
        let (date, length) = (date::now(), TOO_MANY.len());
        let out = &mut OutputSink(&mut self.wire.out);
        out.put(
            b"HTTP/1.1 429 Too Many Requests\r\ncontent-type: text/plain; charset=utf-8\r\ndate: ",
        );
        out.put(&date);
        let fields = format!(
            "\r\nretry-after: {RETRY_AFTER_SECONDS}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n"
        );
        out.put(fields.as_bytes());
        out.put(TOO_MANY.as_bytes());
        self.core.monitor.count_response(StatusCode::TOO_MANY_REQUESTS);
        self.begin_close(CloseReason::CallerCloses, true);
    }

    /// Answers what the client did wrong, and no more.
    pub(super) fn refuse_violation(&mut self, violation: Violation) {
        let (date, answer) = (date::now(), violation.answer());
        self.begin_close(CloseReason::Violation, true);
        self.machine.refuse(violation, Some(&date), &mut OutputSink(&mut self.wire.out));
        let (peer, is_handled) = (self.peer(), self.is_violation_handled);
        self.core.monitor.violated(peer, Version::HTTP_11, violation, answer, is_handled);
        if let Some(status) = answer {
            self.core.monitor.count_response(status);
        }
    }

    /// 408, and no more, because of that limit.
    pub(super) fn refuse_late(&mut self, timeout: ServerTimeout) {
        let status = StatusCode::REQUEST_TIMEOUT;
        self.begin_close(CloseReason::RequestTimeout, true);
        let (date, out) = (date::now(), &mut OutputSink(&mut self.wire.out));
        self.machine.refuse_with(status, LATE_REQUEST.into(), Some(&date), out);
        self.timed_out(timeout, Some(status));
        self.core.monitor.count_response(status);
    }

    /// Counts a time limit that has passed, and tells of it.
    pub(super) fn timed_out(&self, timeout: ServerTimeout, answer: Option<StatusCode>) {
        self.core.monitor.timed_out(self.peer(), timeout, answer);
    }

    /// The client's address.
    pub(super) fn peer(&self) -> Option<SocketAddr> {
        self.wire.io.peer().inet()
    }

    /// Why the connection ends, if the machine knows.
    pub(in crate::server) fn ended_for(&self) -> Option<CloseReason> {
        self.machine.close_reason()
    }

    /// What it has carried.
    pub(in crate::server) fn carried(&self) -> CarriedBytes {
        self.wire.carried()
    }
}
