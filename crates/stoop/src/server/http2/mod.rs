//! A server's HTTP/2 connection: many exchanges at a time, polled in the connection's task.
//!
//! The driver is [`StreamDriver`]; this is its server role. `receive` runs handlers and feeds them content,
//! `answer` sends their responses, `exchange` is what is kept of a request until it is answered, `timeouts`
//! has the limits of every wait. A request that is answered at once, with a buffer that the windows have
//! room for, is never an exchange: it is answered where it was read.

mod answer;
mod exchange;
mod receive;
mod timeouts;

use std::ops::ControlFlow;
use std::sync::Arc;
use std::task::Context;
use std::time::Instant;

use stoop_io::{Liveness, LivenessCheck, Transport};
use stoop_proto::CloseReason;
use stoop_proto::h2::{self, ErrorCode, Event, Fault, StreamKey};

use crate::conn::http2::driver::{
    DriverRole, Round, SendFailure, SourceError, StreamDriver, TransportFailure,
};
use crate::conn::http2::exchanges::Exchanges;
use crate::conn::linger::Linger;
use crate::conn::wire::Wire;
use crate::connection_info::ConnectionFacts;
use crate::handler::Handler;
use crate::response::CutShort;
use crate::server::control::{Lifecycle, Registration};
use crate::server::core::{ConnectionParts, Core};
use crate::server::counters::Counted;
use crate::server::detached::{DetachedConnection, DetachedHandlers};
use crate::server::watches::Watches;

use exchange::{ServerExchange, ServerTunnel, StreamResponse};
use timeouts::Http2Timeouts;

/// Drives one connection.
pub(in crate::server) type ServerDriver<H> = StreamDriver<ServerRole<H>>;

/// What a connection has because it is a server's.
pub(in crate::server) struct ServerRole<H: Handler> {
    core: Arc<Core<H>>,
    timeouts: Http2Timeouts,
    registration: Registration,
    facts: Arc<ConnectionFacts>,
    watches: Watches,
    /// Handlers whose clients have reset their streams, or gone.
    detached: DetachedHandlers<H>,
    /// It has had a request.
    is_used: bool,
    /// Another connection has its place when it is closed, which is therefore at once.
    is_evicted: bool,
    /// Its share of the load of its core.
    _balance: Option<stoop_io::ConnectionSlot>,
}

impl<H: Handler> ServerDriver<H> {
    pub(in crate::server) fn from_parts(parts: ConnectionParts<H>) -> Self {
        let ConnectionParts { wire, core, timer, registration, facts, balance } = parts;
        let machine = h2::Connection::server(core.wire_limits.clone());
        let timeouts = Http2Timeouts::new(timer);
        let role = ServerRole {
            core,
            timeouts,
            registration,
            facts,
            watches: Watches::default(),
            detached: DetachedHandlers::default(),
            is_used: false,
            is_evicted: false,
            _balance: balance,
        };
        Self::new(wire, machine, Exchanges::new(Arc::default()), role)
    }

    /// Tells that the response of an exchange that was taken out is not sent to its end.
    pub(super) fn cut(&self, exchange: Option<ServerExchange<H>>, why: CutShort) {
        let Some(mut exchange) = exchange else { return };
        if let StreamResponse::Sending(outflow) = &exchange.response {
            exchange.hook.add_content(outflow.cut_bytes());
        }
        exchange.hook.cut(why, self.wire.unsent() as u64);
    }

    /// Tells of requests that were refused, and counts their answers.
    #[cold]
    fn tell_refused(&self, refused: h2::RefusedRequests) {
        let h2::RefusedRequests { fault, answer, has_begun, requests } = refused;
        let monitor = &self.role.core.monitor;
        monitor.malformed(self.wire.io.peer().inet(), fault, answer, requests, has_begun);
        if let Some(status) = answer {
            (0..requests).for_each(|_| monitor.count_response(status));
        }
    }

    /// Does what the server calls its connections for. Breaks off if it is over.
    #[cold]
    fn attend(&mut self) -> ControlFlow<()> {
        match self.role.core.control.lifecycle() {
            Lifecycle::Running => self.make_room(),
            Lifecycle::Draining => self.machine.drain(self.now, CloseReason::Draining),
            Lifecycle::Closing => {
                if self.machine.streams() > 0 || self.wire.unsent() > 0 {
                    self.role.core.control.count_aborted();
                }
                self.cut_all(CutShort::Server);
                self.wire.io.reset_on_close();
                return ControlFlow::Break(());
            }
        }
        ControlFlow::Continue(())
    }

    /// Tells the server whether the connection is idle, and closes it if another one is to have its place.
    fn make_room(&mut self) {
        if self.role.registration.tell_idle(self.idle_since())
            && self.wire.io.liveness(LivenessCheck::Kernel) != Liveness::Readable
        {
            self.role.core.monitor.count(Counted::Evicted);
            self.role.is_evicted = true;
            self.machine.close(ErrorCode::NO_ERROR, CloseReason::Evicted);
        }
    }

    /// Ends all exchanges, when nothing at all is sent any more.
    fn cut_all(&mut self, why: CutShort) {
        self.detach_all(why);
        self.role.watches.cut_all(why, &self.wire);
    }
}

/// What goes on of a connection that is closed, if handlers do.
pub(in crate::server) fn detached<H: Handler>(
    mut driver: ServerDriver<H>,
) -> Option<DetachedConnection<H>> {
    driver.detach_all(CutShort::Server);
    let ServerRole { core, registration, detached, .. } = driver.into_role();
    DetachedConnection::new(detached, core, registration)
}

impl<H: Handler> DriverRole for ServerRole<H> {
    type Exchange = ServerExchange<H>;

    const EVENTS_MAX: u32 = 256;
    const PEER_OPENS_STREAMS: bool = true;

    #[inline]
    fn output_bytes_max(&self) -> usize {
        self.core.limits.output_bytes_max
    }

    fn begin_poll(driver: &mut ServerDriver<H>, cx: &mut Context<'_>) -> ControlFlow<()> {
        driver.role.registration.take(cx.waker());
        if driver.role.core.control.has_signal() {
            driver.attend()?;
        }
        if !driver.role.detached.is_empty() {
            let _ = driver.role.detached.poll(&driver.role.core, cx);
        }
        ControlFlow::Continue(())
    }

    #[inline]
    fn received(&mut self, _: Instant) {
        self.timeouts.received();
    }

    #[inline]
    fn event(driver: &mut ServerDriver<H>, event: Event) {
        match event {
            Event::Request { key, end } => driver.start(key, end),
            Event::Trailers { key } => {
                let trailers = driver.machine.take_trailers();
                driver.end_content(key, |content, cx| content.end(Ok(()), trailers, cx));
            }
            Event::Reset { key, reason, answer } => driver.reset(key, reason, answer),
            _ => {}
        }
    }

    #[inline]
    fn deliver(driver: &mut ServerDriver<H>, key: StreamKey, len: usize, end: bool) {
        driver.deliver(key, len, end);
    }

    #[inline]
    fn run(driver: &mut ServerDriver<H>, index: usize) {
        driver.run(index);
    }

    #[inline]
    fn piece_sent(&mut self, exchange: &mut ServerExchange<H>, _: &Wire, _: Instant) {
        exchange.waited.blocked = 0;
    }

    #[inline]
    fn flushed(&mut self, wire: &Wire, is_ok: bool) {
        match is_ok {
            true => self.watches.flushed(wire),
            false => self.watches.cut_all(CutShort::Client, wire),
        }
    }

    /// The content may be the request's own, which the client waits to send more of.
    #[inline]
    fn source_polled(driver: &mut ServerDriver<H>, key: StreamKey) {
        driver.attend_to_content(key);
    }

    #[inline]
    fn sent(driver: &mut ServerDriver<H>, key: StreamKey) {
        driver.sent(key);
    }

    /// The client must not take the response for complete.
    fn send_failed(
        driver: &mut ServerDriver<H>,
        key: StreamKey,
        failure: SendFailure<SourceError<Self>>,
    ) {
        let exchange = driver.reset_exchange(key, ErrorCode::INTERNAL_ERROR);
        // A tunnel's owner knows what it did.
        let is_tunnel =
            |exchange: &ServerExchange<H>| matches!(exchange.tunnel, ServerTunnel::Open);
        if exchange.as_ref().is_some_and(is_tunnel) {
            return driver.cut(exchange, CutShort::Content);
        }
        let error = match failure {
            SendFailure::Source(error) => Some(error),
            SendFailure::Misuse(misuse) => Some(misuse.into()),
            SendFailure::Panic => None,
        };
        let (monitor, peer) = (&driver.role.core.monitor, driver.wire.io.peer().inet());
        monitor.content_failed(peer, error, || driver.cut(exchange, CutShort::Content));
    }

    fn exchange_taken(driver: &mut ServerDriver<H>, exchange: &ServerExchange<H>) {
        if exchange.closes {
            driver.machine.drain(driver.now, CloseReason::CallerCloses);
        }
    }

    /// Tells of requests that the machine has refused.
    #[inline]
    fn end_round(driver: &mut ServerDriver<H>) {
        while let Some(refused) = driver.machine.take_refused() {
            driver.tell_refused(refused);
        }
    }

    /// What is left of exchanges is over: their handlers are dropped, or run on by themselves.
    fn machine_ended(driver: &mut ServerDriver<H>) {
        let why = match driver.machine.close_reason() {
            // A header block that was begun and did not end.
            Some(CloseReason::RequestTimeout) => CutShort::Timeout,
            _ => CutShort::Client,
        };
        driver.detach_all(why);
        // One that is gone has broken no rule.
        if let Some(fault) = driver.machine.fault().filter(|fault| *fault != Fault::CutShort) {
            driver.role.core.monitor.faulted(driver.wire.io.peer().inet(), fault);
        }
    }

    fn transport_failed(driver: &mut ServerDriver<H>, _: TransportFailure) {
        driver.cut_all(CutShort::Client);
    }

    fn linger(driver: &ServerDriver<H>) -> Option<Linger> {
        if driver.role.is_evicted {
            return None;
        }
        let limits = &driver.role.core.limits;
        Some(Linger::new(limits.drain_bytes_max, driver.now, limits.time.linger))
    }

    fn wait(driver: &mut ServerDriver<H>, cx: &mut Context<'_>) -> Round {
        driver.wait(cx)
    }
}
