//! A client's HTTP/2 connection, which many exchanges share.
//!
//! One task, the [`driver`], owns the transport and the machine. The owner of a response has an
//! [`exchange`]; it and the driver share a [`SharedExchange`], which hands the request to the driver and the
//! response to its owner. New requests wait in the [`SharedConnection`].

mod driver;
pub(crate) mod exchange;
mod shared_exchange;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use stoop_io::PeerAddress;
#[cfg(any(feature = "tls", feature = "tls-ring"))]
use stoop_io::{PeerCertificate, TlsSession};
use stoop_proto::BodySize;
use tokio::runtime::Id;

use crate::body::Body;
use crate::conn::http2::ready::WokenExchanges;

pub(crate) use driver::connect;
use shared_exchange::SharedExchange;

/// How many streams are used of a connection before its server's SETTINGS say how many it allows: the
/// least that RFC 9113 §6.5.2 recommends.
const STREAMS_ASSUMED: usize = 100;

/// A connection, as its exchanges and the pool have it.
pub(crate) struct SharedConnection {
    state: Mutex<SharedState>,
    ready: Arc<WokenExchanges>,
    pub(crate) peer: PeerAddress,
    /// What TLS has agreed on.
    #[cfg(any(feature = "tls", feature = "tls-ring"))]
    pub(crate) tls: Option<TlsSession>,
    /// The certificate of the server, where it is kept.
    #[cfg(any(feature = "tls", feature = "tls-ring"))]
    pub(crate) certificate: Option<PeerCertificate>,
    /// The runtime whose task drives it.
    runtime: Id,
}

#[derive(Default)]
struct SharedState {
    /// Requests for the driver, oldest first.
    submitted: Vec<PendingRequest>,
    /// Bytes of content that were used up, of streams that are over.
    consumed: u32,
    /// How many exchanges have content that its owner does not read for a while.
    paused: u32,
    /// No further requests will come.
    closes: bool,
    /// The client was closed, and waits no longer for the exchanges.
    aborts: bool,
    /// The driver is gone.
    is_terminated: bool,
}

/// A request to be sent. Its head is in the shared exchange.
pub(in crate::client) struct PendingRequest {
    shared: Arc<SharedExchange>,
    body: Body,
    size: BodySize,
    /// The deadline of everything.
    until: Option<Instant>,
}

impl SharedConnection {
    fn state(&self) -> MutexGuard<'_, SharedState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a task of that runtime may use it. The runtime that drives it may run only while its own
    /// tasks do.
    pub(crate) fn is_of(&self, runtime: Id) -> bool {
        self.runtime == runtime
    }

    /// Ends the connection once the exchanges that it has are over.
    pub(crate) fn close(&self) {
        self.state().closes = true;
        self.ready.wake_task();
    }

    /// Ends the connection and the exchanges that it has.
    pub(crate) fn abort(&self) {
        self.state().aborts = true;
        self.ready.wake_task();
    }

    /// Hands a request to the driver, or returns it if the connection is gone.
    pub(in crate::client) fn submit(&self, pending: PendingRequest) -> Result<(), PendingRequest> {
        let mut state = self.state();
        if state.is_terminated {
            return Err(pending);
        }
        state.submitted.push(pending);
        drop(state);
        self.ready.wake_task();
        Ok(())
    }

    /// The owner of an exchange does not read its content for a while: there must be room for that of the others.
    fn paused(&self) {
        self.state().paused += 1;
        self.ready.wake_task();
    }

    /// The owner of an exchange that was paused reads again, or has left.
    fn resumed(&self) {
        self.state().paused -= 1;
    }

    /// So much content of streams that are over was used up.
    fn consumed(&self, bytes: u32) {
        let mut state = self.state();
        state.consumed = state.consumed.saturating_add(bytes);
        drop(state);
        self.ready.wake_task();
    }
}
