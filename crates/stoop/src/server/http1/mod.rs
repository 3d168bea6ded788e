//! A connection that speaks HTTP/1: reads requests, runs handlers, writes responses.
//!
//! A round answers what can be answered and reads up to one event. When neither makes progress, everything
//! is sent in one call, and the connection waits for what comes first: bytes, room to send, a handler, a
//! deadline. Handlers are polled in the task of their connection: a request takes no task and no channel.
//!
//! `receive` is the reading half of a round, `answer` the other, with `send` for content that is no buffer; `state` is
//! what is kept between rounds; `ending` is how a connection ends, `timeouts` the limits of every wait, `refusing` what
//! is answered where one has passed.

mod answer;
mod ending;
mod receive;
mod refusing;
mod send;
mod state;
#[cfg(test)]
mod tests;
mod timeouts;

use std::collections::VecDeque;
use std::sync::Arc;
use std::task::{Context, Poll};

use stoop_io::{FillResult, Transport};
use stoop_proto::{CloseReason, Violation, h1};

use crate::conn::wire::Wire;
use crate::connection_info::ConnectionFacts;
#[cfg(any(feature = "tls", feature = "tls-ring"))]
use crate::connection_info::{ServerName, TlsFacts};
use crate::handler::Handler;
use crate::limits::unread_bytes_max;
use crate::response::CutShort;
use crate::server::control::Registration;
use crate::server::core::{self, Core};
use crate::server::detached::DetachedHandlers;
use crate::server::watches::Watches;
use crate::turn::{Turn, yield_turn};

use ending::End;
pub(in crate::server) use ending::Ended;
use state::{HeldRequest, Http1Round, Http1Stage, PipelinedExchange, PipelinedResponse, Read};
use timeouts::Http1Timeouts;

/// Rounds in a turn at most, however short they are.
const ROUNDS_MAX: u32 = 64;

/// Drives one connection.
pub(in crate::server) struct Http1Driver<H: Handler> {
    wire: Wire,
    core: Arc<Core<H>>,
    machine: h1::Server,
    /// Requests not answered to the end, oldest first. One that its handler answers at once, with a
    /// buffer, never comes here. More than one only if all are parallel.
    exchanges: VecDeque<PipelinedExchange<H>>,
    /// A request that was read and must wait until those before it are answered.
    held: Option<HeldRequest>,
    timeouts: Http1Timeouts,
    requests: u64,
    stage: Http1Stage,
    turn: Turn,
    /// All handlers are to be polled once those are that the last turn did not come to.
    sweeps_again: bool,
    /// What the client did wrong, to be answered once what came before it is.
    violation: Option<Violation>,
    /// It was in content that a handler was to read.
    is_violation_handled: bool,
    /// The client has said that it will send no more.
    at_end: bool,
    registration: Registration,
    facts: Arc<ConnectionFacts>,
    /// Handlers that run on although no response of theirs will be read.
    detached: DetachedHandlers<H>,
    watches: Watches,
    /// Its share of the load of its core, behind the transport because it is dropped after it.
    balance: Option<stoop_io::ConnectionSlot>,
}

impl<H: Handler> Http1Driver<H> {
    pub(in crate::server) fn new(parts: core::ConnectionParts<H>) -> Self {
        let core::ConnectionParts { wire, core, timer, registration, facts, balance } = parts;
        Self {
            wire,
            machine: h1::Server::new(),
            exchanges: VecDeque::new(),
            held: None,
            timeouts: Http1Timeouts::new(timer),
            requests: 0,
            stage: Http1Stage::Handshake { is_refused: false },
            turn: Turn::default(),
            sweeps_again: false,
            violation: None,
            is_violation_handled: false,
            at_end: false,
            registration,
            facts,
            watches: Watches::default(),
            detached: DetachedHandlers::default(),
            balance,
            core,
        }
    }

    pub(in crate::server) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<End> {
        self.registration.take(cx.waker());
        if self.core.control.has_signal()
            && let Some(end) = self.attend()
        {
            return Poll::Ready(end);
        }
        if !self.detached.is_empty() {
            let _ = self.detached.poll(&self.core, cx);
        }
        // What the last turn did not come to is first; whatever was woken since is behind it.
        if !self.exchanges.is_empty() {
            self.sweeps_again = self.exchanges.iter().any(|exchange| exchange.is_due());
            if !self.sweeps_again {
                self.exchanges.iter_mut().for_each(|exchange| exchange.due = true);
            }
        }
        self.turn.begin();
        for _ in 0..ROUNDS_MAX {
            match self.round(cx) {
                Http1Round::Again if self.turn.step() => break,
                Http1Round::Wait if self.turn.is_over() => break,
                Http1Round::Again => {}
                Http1Round::Wait => return Poll::Pending,
                Http1Round::End(end) => return Poll::Ready(end),
            }
        }
        yield_turn(cx);
        match self.flush(cx) {
            Poll::Ready(false) => Poll::Ready(End::Closed),
            _ => Poll::Pending,
        }
    }

    fn round(&mut self, cx: &mut Context<'_>) -> Http1Round {
        self.watches.begin_round();
        match self.stage {
            Http1Stage::Handshake { is_refused } => self.handshake(is_refused, cx),
            Http1Stage::Open | Http1Stage::Discarding { .. } => self.serve(cx),
            Http1Stage::Closing { linger } => self.close(linger, cx),
            Http1Stage::Lingering(_) => self.linger(cx),
            Http1Stage::Breaking => self.flush_and_end(End::Broken, cx),
            Http1Stage::Switching(_) => self.flush_and_end(End::Switched, cx),
            Http1Stage::Http2 => Http1Round::End(End::Http2),
        }
    }

    fn handshake(&mut self, is_refused: bool, cx: &mut Context<'_>) -> Http1Round {
        match self.wire.io.poll_handshake(cx) {
            Poll::Ready(Ok(())) => {
                self.timeouts.restart();
                if is_refused {
                    self.refuse_connection();
                    return Http1Round::Again;
                }
                self.note_session();
                let alpn = self.wire.io.alpn();
                self.stage = match self.core.versions.begin_with_http2(alpn) {
                    true => Http1Stage::Http2,
                    false => Http1Stage::Open,
                };
                // The first request may have come with the handshake's last message: then what TLS
                // still has to send leaves with its answer. What fails here fails again.
                let _ = self.wire.poll_fill(cx, self.room());
                Http1Round::Again
            }
            Poll::Ready(Err(error)) => {
                self.core.monitor.handshake_failed(self.peer(), Some(&error));
                Http1Round::End(End::Closed)
            }
            Poll::Pending => self.wait(cx, Read::Held),
        }
    }

    /// Notes what TLS has agreed on, for the handlers.
    fn note_session(&mut self) {
        #[cfg(any(feature = "tls", feature = "tls-ring"))]
        if let Some(tls) = self.wire.io.tls() {
            let facts = TlsFacts {
                session: tls.session(),
                server_name: tls.server_name().map(ServerName::new),
                client_certificate: tls.peer_chain(),
            };
            Arc::make_mut(&mut self.facts).tls = Some(Box::new(facts));
        }
    }

    fn serve(&mut self, cx: &mut Context<'_>) -> Http1Round {
        let answered = self.answer(cx);
        if !self.is_serving() {
            return Http1Round::Again;
        }
        let read = self.read(cx);
        if answered || read == Read::Moved {
            return Http1Round::Again;
        }
        let was_full = self.is_full();
        if self.flush(cx) == Poll::Ready(false) {
            return Http1Round::End(End::Closed);
        }
        if was_full && !self.is_full() {
            // There is room again, and nothing else would wake the task to use it.
            return Http1Round::Again;
        }
        match read {
            Read::Held | Read::Moved => return self.wait(cx, read),
            Read::Watches if self.at_end || !self.wire.io.received().is_empty() => {
                return self.wait(cx, read);
            }
            Read::WantsHead | Read::WantsContent if self.at_end => return self.ended(cx),
            Read::Watches | Read::WantsHead | Read::WantsContent => {}
        }
        match self.wire.poll_fill(cx, self.room()) {
            Poll::Ready(Ok(FillResult::Bytes(_))) => Http1Round::Again,
            // What follows from it is seen when more is wanted.
            Poll::Ready(Ok(FillResult::End)) => {
                self.at_end = true;
                Http1Round::Again
            }
            Poll::Ready(Ok(FillResult::Full) | Err(_)) => {
                self.watches.cut_all(CutShort::Client, &self.wire);
                Http1Round::End(End::Closed)
            }
            Poll::Pending if self.is_drained() => {
                // Its next request may cross with this, and would be answered by a reset.
                self.begin_close(CloseReason::Draining, true);
                Http1Round::Again
            }
            Poll::Pending => self.wait(cx, read),
        }
    }

    fn is_serving(&self) -> bool {
        matches!(self.stage, Http1Stage::Open | Http1Stage::Discarding { .. })
    }

    /// How many bytes may wait unread.
    fn room(&self) -> usize {
        unread_bytes_max(&self.core.limits.wire)
    }

    /// Whether so much is on its way to the client that nothing more is begun.
    #[inline]
    fn is_full(&self) -> bool {
        self.wire.is_full(self.core.limits.output_bytes_max)
    }

    /// Sends what there is. Ready with whether all of it is gone, rather than the client.
    fn flush(&mut self, cx: &mut Context<'_>) -> Poll<bool> {
        let flushed = self.wire.flush(cx, self.core.limits.output_bytes_max);
        self.note_flush(flushed)
    }

    /// Tells of the responses that were sent, or no longer can be.
    #[inline]
    fn note_flush(&mut self, flushed: Poll<bool>) -> Poll<bool> {
        match flushed {
            Poll::Ready(false) => self.sending_failed(),
            _ => self.watches.flushed(&self.wire),
        }
        flushed
    }

    /// The client is gone, or a file became shorter while it was sent.
    #[cold]
    fn sending_failed(&mut self) {
        let Some(error) = self.wire.take_file_error() else {
            return self.watches.cut_all(CutShort::Client, &self.wire);
        };
        let (monitor, peer) = (self.core.monitor.clone(), self.peer());
        let error = Some(error.into());
        monitor.content_failed(peer, error, || self.watches.cut_all(CutShort::Content, &self.wire));
    }

    /// Waits for a wake-up, or the nearest deadline.
    fn wait(&mut self, cx: &mut Context<'_>, read: Read) -> Http1Round {
        match self.poll_late(cx, read) {
            Poll::Pending => Http1Round::Wait,
            Poll::Ready(round) => round,
        }
    }
}
