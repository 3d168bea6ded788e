//! What a server counts, tells and sheds: one [`Monitor`] for each core.

mod failures;

use std::any::Any;
use std::io;
use std::net::SocketAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Instant;

use http::{Method, StatusCode, Version};
use stoop_io::now;
use stoop_proto::h2::{ErrorCode, Fault};
use stoop_proto::{CloseReason, RequestHead, Violation};

use super::counters::{Counted, Counters, ServerStats, Threads};
use super::events::{
    PauseReason, RefusalReason, ServerTimeout, ServingEvent, ServingObservers, ShedReason,
};
use super::handler_panic::HandlerPanic;
use super::refusals::Refusals;
use super::shedding::CoreLoad;
use crate::connection_info::CarriedBytes;
use crate::limits::SheddingLimits;

/// Says of a request that it is never shed.
pub(crate) type Exempt = Arc<dyn Fn(&RequestHead) -> bool + Send + Sync>;

/// What one core counts, and where it tells what happens. Where nothing listens, telling is a look at an empty option.
pub(crate) struct Monitor {
    counters: Counters,
    observers: ServingObservers,
    exempt: Option<Exempt>,
    pub(super) load: CoreLoad,
    refusals: Refusals,
}

impl Monitor {
    /// One that tells nothing.
    pub(super) fn unheard() -> Arc<Self> {
        Arc::new(Self::with(ServingObservers::default(), None, Threads::Many))
    }

    /// One of a core whose connections these threads serve.
    pub(super) fn with(
        observers: ServingObservers,
        exempt: Option<Exempt>,
        threads: Threads,
    ) -> Self {
        let (counters, load) = (Counters::new(threads), CoreLoad::new());
        Self { counters, observers, exempt, load, refusals: Refusals::new() }
    }

    /// Adds the counts of this core to `stats`.
    pub(super) fn add_to(&self, stats: &mut ServerStats) {
        self.counters.add_to(stats);
        stats.running += self.load.running();
    }

    /// Whether what happens is told.
    #[inline]
    pub(super) fn is_heard(&self) -> bool {
        self.observers.is_heard()
    }

    /// Tells what happens.
    fn tell(&self, peer: Option<SocketAddr>, event: &ServingEvent<'_>) {
        match self.observers.tell(peer, event) {
            0 => {}
            panicked => self.counters.add(Counted::ObserverPanic, panicked),
        }
    }

    #[inline]
    pub(super) fn count(&self, counted: Counted) {
        self.counters.add(counted, 1);
    }

    #[inline]
    pub(super) fn count_response(&self, status: StatusCode) {
        self.count(Counted::response(status));
    }

    pub(super) fn count_upgrade(&self) {
        self.count(Counted::Upgraded);
    }

    /// A connection was accepted. What is returned tells of its end.
    pub(super) fn accepted(self: &Arc<Self>, peer: Option<SocketAddr>) -> Option<Watched> {
        self.count(Counted::Accepted);
        if !self.is_heard() {
            return None;
        }
        self.tell(peer, &ServingEvent::Accepted {});
        let (monitor, carried) = (self.clone(), CarriedBytes::default());
        Some(Watched { monitor, peer, since: now(), reason: None, carried })
    }

    /// A connection is refused. What is returned permits to answer it, over TLS once a handshake is done; without, it is to
    /// be closed.
    pub(super) fn refused(
        self: &Arc<Self>,
        peer: Option<SocketAddr>,
        reason: RefusalReason,
        is_secure: bool,
    ) -> Option<RefusalPermit> {
        self.count(Counted::Refused);
        let permit = self.refusals.begin(is_secure).then(|| RefusalPermit(self.clone()));
        let answer = permit.as_ref().map(|_| StatusCode::TOO_MANY_REQUESTS);
        self.tell(peer, &ServingEvent::Refused { reason, answer });
        permit
    }

    /// A connection is closed without a word, for a reason that is counted elsewhere.
    pub(super) fn refused_silently(&self, peer: Option<SocketAddr>, reason: RefusalReason) {
        self.tell(peer, &ServingEvent::Refused { reason, answer: None });
    }

    pub(super) fn paused(&self, reason: PauseReason) {
        if reason == PauseReason::ConnectionsMax {
            self.count(Counted::Paused);
        }
        self.tell(None, &ServingEvent::Paused { reason });
    }

    /// A TLS handshake failed, or took too long.
    pub(super) fn handshake_failed(&self, peer: Option<SocketAddr>, error: Option<&io::Error>) {
        self.count(Counted::HandshakeFailed);
        self.tell(peer, &ServingEvent::HandshakeFailed { error });
    }

    /// A time limit has passed.
    #[cold]
    pub(super) fn timed_out(
        &self,
        peer: Option<SocketAddr>,
        timeout: ServerTimeout,
        answer: Option<StatusCode>,
    ) {
        self.count(Counted::timeout(timeout));
        self.tell(peer, &ServingEvent::TimedOut { timeout, answer });
    }

    /// A request broke the rules of HTTP/1, or one that both versions have.
    #[cold]
    pub(super) fn violated(
        &self,
        peer: Option<SocketAddr>,
        version: Version,
        violation: Violation,
        answer: Option<StatusCode>,
        is_handled: bool,
    ) {
        self.count(Counted::Malformed);
        if self.is_heard() {
            let reason = &violation.to_string();
            let (violation, requests) = ((version != Version::HTTP_2).then_some(violation), 1);
            let event = ServingEvent::Malformed {
                version,
                violation,
                reason,
                answer,
                requests,
                is_handled,
            };
            self.tell(peer, &event);
        }
    }

    /// So many requests of HTTP/2 were malformed, the last one by this fault.
    #[cold]
    pub(super) fn malformed(
        &self,
        peer: Option<SocketAddr>,
        fault: Fault,
        answer: Option<StatusCode>,
        requests: u32,
        is_handled: bool,
    ) {
        self.counters.add(Counted::Malformed, requests.into());
        let (version, violation, reason) = (Version::HTTP_2, None, fault.explain());
        self.tell(
            peer,
            &ServingEvent::Malformed { version, violation, reason, answer, requests, is_handled },
        );
    }

    /// A connection of HTTP/2 ends by a fault of the client.
    #[cold]
    pub(super) fn faulted(&self, peer: Option<SocketAddr>, fault: Fault) {
        let (reason, is_abuse) = (fault.explain(), fault.code() == ErrorCode::ENHANCE_YOUR_CALM);
        self.count(Counted::Http2Fault);
        if is_abuse {
            self.count(Counted::Http2Abuse);
        }
        self.tell(peer, &ServingEvent::Http2Fault { reason, is_abuse });
    }

    /// Whether a request is not to be given to its handler, because the core has too much to do.
    #[inline]
    pub(super) fn sheds(
        &self,
        limits: &SheddingLimits,
        peer: Option<SocketAddr>,
        head: &RequestHead,
    ) -> bool {
        let reason = self.load.shed_reason(limits);
        reason.is_some_and(|reason| self.shed(reason, peer, head))
    }

    #[cold]
    fn shed(&self, reason: ShedReason, peer: Option<SocketAddr>, head: &RequestHead) -> bool {
        if self.exempt.as_ref().is_some_and(|is_exempt| self.is_exempt(is_exempt, head)) {
            return false;
        }
        self.count(Counted::Shed);
        self.tell(peer, &ServingEvent::Shed { head, reason });
        true
    }

    /// The caller's code: a request that it panics at is shed, and the connection stays.
    fn is_exempt(&self, is_exempt: &Exempt, head: &RequestHead) -> bool {
        catch_unwind(AssertUnwindSafe(|| is_exempt(head))).unwrap_or_else(|_| {
            self.count(Counted::ObserverPanic);
            false
        })
    }

    /// A handler panicked, with what it answered: nothing, unless what happens is told.
    #[cold]
    pub(super) fn panicked(&self, request: Option<&HandledRequest>, payload: &(dyn Any + Send)) {
        self.count(Counted::Panic);
        if let Some(HandledRequest { peer, method, path }) = request {
            let message = message_of(payload);
            self.tell(*peer, &ServingEvent::Panicked { method, path, message });
        }
    }
}

/// The message of a panic, if it is a text.
fn message_of(payload: &(dyn Any + Send)) -> &str {
    let payload = HandlerPanic::payload_of(payload);
    let text = payload.downcast_ref::<&'static str>().copied();
    text.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or_default()
}

/// The request of a handler, kept where its panic or its error is to be told.
pub(super) struct HandledRequest {
    pub(super) peer: Option<SocketAddr>,
    pub(super) method: Method,
    pub(super) path: Box<str>,
}

/// The right to tell a connection why it is refused.
pub(super) struct RefusalPermit(Arc<Monitor>);

impl Drop for RefusalPermit {
    fn drop(&mut self) {
        self.0.refusals.end();
    }
}

/// A handler that has not answered yet, among those of its core.
pub(super) struct RunningHandler(Arc<Monitor>);

impl RunningHandler {
    pub(super) fn new(monitor: &Arc<Monitor>) -> Self {
        monitor.load.begin_handler();
        Self(monitor.clone())
    }
}

impl Drop for RunningHandler {
    fn drop(&mut self) {
        self.0.load.end_handler();
    }
}

/// A connection whose end is to be told: when this is dropped.
pub(super) struct Watched {
    monitor: Arc<Monitor>,
    peer: Option<SocketAddr>,
    since: Instant,
    reason: Option<CloseReason>,
    carried: CarriedBytes,
}

impl Watched {
    /// Notes how the connection ended.
    pub(super) fn ended(&mut self, reason: Option<CloseReason>, carried: CarriedBytes) {
        (self.reason, self.carried) = (reason, carried);
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        let CarriedBytes { sent, received } = self.carried;
        let (reason, lasted) = (self.reason, now().saturating_duration_since(self.since));
        let event = ServingEvent::Closed { reason, lasted, sent, received };
        self.monitor.tell(self.peer, &event);
    }
}
