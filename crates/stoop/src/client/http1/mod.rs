//! A client's HTTP/1 connection, which serves one exchange after the other.

use std::time::{Duration, Instant};

use stoop_io::{AnyTransport, Liveness, LivenessCheck, PeerAddress, Timer, Transport, now};
#[cfg(any(feature = "tls", feature = "tls-ring"))]
use stoop_io::{PeerCertificate, TlsSession};
use stoop_proto::h1;
use tokio::runtime::{Handle, Id};

use crate::conn::wire::Wire;
use crate::turn::Turn;

mod content;
pub(crate) mod exchange;
mod upload;

/// A connection that speaks HTTP/1.
pub(crate) struct Http1 {
    wire: Wire,
    machine: h1::Client,
    timer: Timer,
    /// The runtime that the transport is registered with.
    runtime: Id,
    /// When it has served for as long as it may.
    expires_at: Option<Instant>,
    /// The [position](Wire::position) at which the request begins, until the server's kernel is known to have
    /// acknowledged some of it.
    unacknowledged_from: Option<i64>,
    /// Since when it idles, or when the exchange that it carries was called for.
    pub(crate) since: Instant,
    /// The attempt to send its request that the exchange is.
    attempt: u32,
    /// Of the task that reads the content.
    turn: Turn,
    /// What TLS has agreed on.
    #[cfg(any(feature = "tls", feature = "tls-ring"))]
    pub(crate) tls: Option<TlsSession>,
}

impl Http1 {
    /// A connection that was just made, on the runtime this is called on.
    pub(crate) fn new(io: AnyTransport, lifetime: Duration) -> Box<Self> {
        let now = now();
        Box::new(Self {
            #[cfg(any(feature = "tls", feature = "tls-ring"))]
            tls: io.tls_session(),
            wire: Wire::new(io).with_fixed_limit(),
            machine: h1::Client::new(),
            timer: Timer::coarse(),
            runtime: Handle::current().id(),
            expires_at: now.checked_add(lifetime),
            unacknowledged_from: None,
            since: now,
            attempt: 1,
            turn: Turn::default(),
        })
    }

    /// The address of the server.
    pub(crate) fn peer(&self) -> PeerAddress {
        self.wire.io.peer()
    }

    /// The certificate of the server, where it is kept.
    #[cfg(any(feature = "tls", feature = "tls-ring"))]
    pub(crate) fn certificate(&self) -> Option<&PeerCertificate> {
        self.wire.io.tls()?.kept_chain()
    }

    /// Whether another exchange may follow: there is no unsent output and no unread input.
    pub(crate) fn is_viable(&self) -> bool {
        self.machine.is_reusable() && self.wire.out.is_empty() && self.wire.io.received().is_empty()
    }

    /// Whether it has served for as long as it may.
    pub(crate) fn is_expired(&self, now: Instant) -> bool {
        self.expires_at.is_some_and(|at| at <= now)
    }

    /// Whether bytes arrived before the first request. Those that are still on their way cannot be told
    /// from a response.
    pub(crate) fn has_spoken(&mut self) -> bool {
        self.wire.io.liveness(LivenessCheck::Cached) == Liveness::Readable
            && self.wire.io.liveness(LivenessCheck::Kernel) == Liveness::Readable
    }

    /// Registers the transport with the runtime of the calling task: the one it is registered with may not
    /// be running any more. None if it cannot be, and then the connection is closed.
    pub(crate) fn rebind_to_current_runtime(self: Box<Self>) -> Option<Box<Self>> {
        if self.runtime == Handle::current().id() {
            return Some(self);
        }
        let Self { wire, machine, expires_at, .. } = *self;
        let mut rebound = Self::new(wire.io.move_to_current_runtime().ok()?, Duration::MAX);
        (rebound.machine, rebound.wire.out) = (machine, wire.out);
        rebound.expires_at = expires_at;
        Some(rebound)
    }

    /// Whether the transport is open and silent. What the event loop has noticed costs nothing to
    /// ask, but lags behind both ways: what it does not know of, or says is there, the kernel is
    /// asked about.
    pub(crate) fn is_quiet(&mut self, look: LivenessCheck) -> bool {
        match look {
            LivenessCheck::Cached
                if self.wire.io.liveness(LivenessCheck::Cached) == Liveness::Quiet =>
            {
                true
            }
            LivenessCheck::Cached | LivenessCheck::Kernel => {
                self.wire.io.liveness(LivenessCheck::Kernel) == Liveness::Quiet
            }
        }
    }
}
