//! Counters of a server: connections, requests, responses, and the limits and faults that ended them.
//!
//! Each core counts for itself, and the counts are added up when they are asked for. Where only one thread counts, an
//! addition is a load and a store; where connections move between threads, it is one atomic addition.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use http::StatusCode;

use super::events::ServerTimeout;

/// What a server's connections are doing, and what became of those before them, since it was started.
///
/// Its counts are gathered core by core while these go on, so that two of them may differ by what happens meanwhile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServerStats {
    /// Connections that are open, as [`ServerHandle::connections`](crate::ServerHandle::connections) says.
    pub open: usize,
    /// Handlers that have been called and have not answered yet.
    pub running: usize,
    /// Those of them that run on after their clients have left, as
    /// [`ServerHandle::detached_handlers`](crate::ServerHandle::detached_handlers) says.
    pub detached: usize,
    /// Connections that were accepted, without those that were refused, and those whose
    /// [proxy](crate::ProxyProtocol) has not named the client.
    pub accepted: u64,
    /// Connections that were refused because of their address.
    pub refused: u64,
    /// Connections that were closed because they did not begin with a proxy's header, as
    /// [`ServerHandle::proxy_refusals`](crate::ServerHandle::proxy_refusals) says.
    pub proxy_refusals: u64,
    /// Times that accepting paused at [`connections_max`](crate::ServerLimits::connections_max), on each thread.
    pub paused: u64,
    /// Idle connections that were closed because another one waited for a place among the
    /// [`connections_max`](crate::ServerLimits::connections_max).
    pub evicted: u64,
    /// Times that accepting failed for want of a descriptor or memory.
    pub starved: u64,
    /// TLS handshakes that failed, those included that took too long.
    pub handshakes_failed: u64,
    /// Connections, and streams of HTTP/2, that were upgraded.
    pub upgraded: u64,
    /// Responses that were begun, the server's own included; without the 429 of connections that are
    /// [refused](Self::refused), which have not asked for anything.
    pub responses: ResponseCounts,
    /// Requests that were malformed, or exceeded one of the [`WireLimits`](crate::limits::WireLimits).
    pub malformed: u64,
    /// Connections of HTTP/2 that ended because the client broke the protocol.
    pub http2_faults: u64,
    /// Those of them where the client has caused more work than the limits allow.
    pub http2_abuses: u64,
    /// Requests that were answered 503 because the server had too much to do.
    pub shed: u64,
    /// Handlers that panicked, and responses whose content did while it was sent.
    pub panics: u64,
    /// Responses whose content failed while it was sent, by an error. Handlers that fail are among the
    /// [`responses`](Self::responses).
    pub content_failures: u64,
    /// Calls of an [observer](crate::Server::observe), or of what [exempts](crate::Server::never_shed) requests, that
    /// panicked.
    pub observer_panics: u64,
    /// Time limits that have passed.
    pub timeouts: TimeoutCounts,
}

/// Numbers of responses, by the class of their status.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ResponseCounts {
    /// 2xx, and 101.
    pub success: u64,
    /// 3xx.
    pub redirection: u64,
    /// 4xx.
    pub client_error: u64,
    /// 5xx, and whatever is no other class.
    pub server_error: u64,
}

/// How often each [time limit](ServerTimeout) of a server has passed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TimeoutCounts {
    /// [`ServerTimeout::Handshake`].
    pub handshake: u64,
    /// [`ServerTimeout::Head`].
    pub head: u64,
    /// [`ServerTimeout::Idle`].
    pub idle: u64,
    /// [`ServerTimeout::BodyIdle`].
    pub body_idle: u64,
    /// [`ServerTimeout::BodyRate`].
    pub body_rate: u64,
    /// [`ServerTimeout::Send`].
    pub send: u64,
    /// [`ServerTimeout::Handler`].
    pub handler: u64,
    /// [`ServerTimeout::Drain`].
    pub drain: u64,
}

/// The threads that use the counts of one core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Threads {
    One,
    Many,
}

/// What is counted.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Counted {
    Accepted,
    Refused,
    Paused,
    Evicted,
    HandshakeFailed,
    Upgraded,
    Success,
    Redirection,
    ClientError,
    ServerError,
    Malformed,
    Http2Fault,
    Http2Abuse,
    Shed,
    Panic,
    ContentFailure,
    ObserverPanic,
    Handshake,
    Head,
    Idle,
    BodyIdle,
    BodyRate,
    Send,
    Handler,
    /// The last of them.
    Drain,
}

impl Counted {
    const ALL: usize = Self::Drain as usize + 1;

    #[inline]
    pub(super) fn response(status: StatusCode) -> Self {
        match status.as_u16() {
            100..300 => Self::Success,
            300..400 => Self::Redirection,
            400..500 => Self::ClientError,
            _ => Self::ServerError,
        }
    }

    pub(super) fn timeout(timeout: ServerTimeout) -> Self {
        match timeout {
            ServerTimeout::Handshake => Self::Handshake,
            ServerTimeout::Head => Self::Head,
            ServerTimeout::Idle => Self::Idle,
            ServerTimeout::BodyIdle => Self::BodyIdle,
            ServerTimeout::BodyRate => Self::BodyRate,
            ServerTimeout::Send => Self::Send,
            ServerTimeout::Handler => Self::Handler,
            ServerTimeout::Drain => Self::Drain,
        }
    }
}

/// The counts of one core.
pub(super) struct Counters {
    threads: Threads,
    values: [AtomicU64; Counted::ALL],
}

impl Counters {
    pub(super) fn new(threads: Threads) -> Self {
        Self { threads, values: [const { AtomicU64::new(0) }; Counted::ALL] }
    }

    #[inline]
    pub(super) fn add(&self, counted: Counted, times: u64) {
        let value = &self.values[counted as usize];
        match self.threads {
            Threads::One => value.store(value.load(Relaxed).wrapping_add(times), Relaxed),
            Threads::Many => {
                value.fetch_add(times, Relaxed);
            }
        }
    }

    /// Adds these counts to `stats`.
    pub(super) fn add_to(&self, stats: &mut ServerStats) {
        let count = |counted: Counted| self.values[counted as usize].load(Relaxed);
        let ServerStats { responses, timeouts, .. } = stats;
        responses.success += count(Counted::Success);
        responses.redirection += count(Counted::Redirection);
        responses.client_error += count(Counted::ClientError);
        responses.server_error += count(Counted::ServerError);
        timeouts.handshake += count(Counted::Handshake);
        timeouts.head += count(Counted::Head);
        timeouts.idle += count(Counted::Idle);
        timeouts.body_idle += count(Counted::BodyIdle);
        timeouts.body_rate += count(Counted::BodyRate);
        timeouts.send += count(Counted::Send);
        timeouts.handler += count(Counted::Handler);
        timeouts.drain += count(Counted::Drain);
        stats.accepted += count(Counted::Accepted);
        stats.refused += count(Counted::Refused);
        stats.paused += count(Counted::Paused);
        stats.evicted += count(Counted::Evicted);
        stats.handshakes_failed += count(Counted::HandshakeFailed);
        stats.upgraded += count(Counted::Upgraded);
        stats.malformed += count(Counted::Malformed);
        stats.http2_faults += count(Counted::Http2Fault);
        stats.http2_abuses += count(Counted::Http2Abuse);
        stats.shed += count(Counted::Shed);
        stats.panics += count(Counted::Panic);
        stats.content_failures += count(Counted::ContentFailure);
        stats.observer_panics += count(Counted::ObserverPanic);
    }
}
