//! The server: listeners, cores, connections.
//!
//! `run` has the ways to run it. `listening` opens the sockets, `accept` takes connections from them, and `connection`
//! begins each and gives it to the driver of its version (`http1`, `http2`), which calls the handler by `call`. What
//! the connections of one core share is in `core`, what those of all cores share in `control`; `monitor` counts what
//! happens, tells observers of it, and sheds load.

mod accept;
mod binding;
mod call;
mod connection;
mod control;
mod core;
mod counters;
mod date;
mod detached;
mod dropped;
mod events;
mod eviction;
mod future_pool;
mod handle;
mod handler_panic;
mod http1;
mod http2;
mod idlers;
mod listening;
mod monitor;
mod monitors;
mod observe;
mod per_address;
mod polled_body;
mod proxy_protocol;
mod refusals;
mod run;
mod server_workers;
mod shedding;
mod waiters;
mod watches;

use std::num::NonZeroUsize;
use std::sync::Arc;

#[cfg(any(feature = "tls", feature = "tls-ring"))]
use stoop_io::ServerTls;

use crate::drain::Draining;
use crate::error::Error;
use crate::limits::ServerLimits;
use crate::versions::Versions;

pub use binding::Binding;
pub(crate) use connection::ServerConnection;
pub(crate) use control::{Control, Registration};
pub(crate) use core::Core;
pub use counters::{ResponseCounts, ServerStats, TimeoutCounts};
pub use dropped::DroppedHandler;
use events::ServingObserver;
pub use events::{PauseReason, RefusalReason, ServerTimeout, ServingEvent, ShedReason};
pub use handle::ServerHandle;
pub use handler_panic::HandlerPanic;
pub use listening::ListenError;
use monitor::Exempt;
pub use proxy_protocol::ProxyProtocol;

/// A server to be described, then run.
///
/// There are three ways to run it, chosen by name and never detected: [`run`](Server::run) on
/// threads of its own, or on those and the caller's ([`run_blocking`](Server::run_blocking));
/// [`run_local`](Server::run_local) on the caller's local runtime; and
/// [`run_here`](Server::run_here) on the caller's runtime, whatever that is.
///
/// ```no_run
/// use stoop::{Request, Response, Server};
///
/// # async fn example() -> Result<(), stoop::Error> {
/// let server = Server::listen("127.0.0.1:8080")?
///     .run(|request: Request| Response::from_text(format!("you asked for {}", request.path())))?;
/// println!("listening on {}", server.endpoint());
/// server.ended().await;
/// # Ok(()) }
/// ```
///
/// It may listen in several places, with TLS in some:
///
/// ```no_run
/// # fn example(tls: stoop::ServerTls) -> Result<(), stoop::Error> {
/// use stoop::{Request, Server};
///
/// let server = Server::listen("http://0.0.0.0:80")?
///     .also_listen("https://0.0.0.0:443")?
///     .also_listen("unix:/run/app.sock")?
///     .tls(tls)
///     .run(|_: Request| "hello")?;
/// # Ok(()) }
/// ```
pub struct Server {
    bindings: Vec<Binding>,
    workers: usize,
    limits: ServerLimits,
    versions: Versions,
    observers: Vec<ServingObserver>,
    exempt: Option<Exempt>,
    control: Arc<Control>,
    #[cfg(any(feature = "tls", feature = "tls-ring"))]
    tls: Option<ServerTls>,
}

impl Server {
    /// A server that will listen in `place`: on what [`ToSocketAddrs`](std::net::ToSocketAddrs) takes, on an
    /// [`Endpoint`](crate::Endpoint) in its notation, or with a listener of the caller's; see [`Binding`]. Port 0 is one
    /// that is free, and [`ServerHandle::port`] tells which.
    ///
    /// # Errors
    /// As [`Binding::new`].
    pub fn listen<B>(place: B) -> Result<Self, Error>
    where
        B: TryInto<Binding>,
        Error: From<B::Error>,
    {
        Ok(Self {
            bindings: vec![Binding::new(place)?],
            workers: std::thread::available_parallelism().map_or(1, NonZeroUsize::get),
            limits: ServerLimits::default(),
            versions: Versions::default(),
            observers: Vec::new(),
            exempt: None,
            control: Arc::default(),
            #[cfg(any(feature = "tls", feature = "tls-ring"))]
            tls: None,
        })
    }

    /// Listens in `place` too. All places have the handler and the limits in common.
    ///
    /// # Errors
    /// As [`Binding::new`].
    pub fn also_listen<B>(mut self, place: B) -> Result<Self, Error>
    where
        B: TryInto<Binding>,
        Error: From<B::Error>,
    {
        self.bindings.push(Binding::new(place)?);
        Ok(self)
    }

    /// How many threads [`run`](Server::run) starts: one for each core the process may use.
    ///
    /// # Panics
    /// If zero.
    pub fn workers(mut self, workers: usize) -> Self {
        assert!(workers > 0, "a server needs at least one worker");
        self.workers = workers;
        self
    }

    /// Replaces the limits.
    pub fn limits(mut self, limits: ServerLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Which versions of HTTP are spoken: both, unless this says otherwise.
    pub fn versions(mut self, versions: Versions) -> Self {
        self.versions = versions;
        self
    }

    /// A future that is done once the server drains, for handlers that have no [`Request`](crate::Request) of this
    /// crate: applications of axum and tower, which keep it in their state.
    pub fn draining(&self) -> Draining {
        Draining::new(Some(self.control.drain.clone()))
    }

    /// The certificate of this server. TLS is spoken in each place that is written `https://`, or without a
    /// scheme; in none that is written `http://`, nor where the [`Binding`] has a choice of its own.
    #[cfg(any(feature = "tls", feature = "tls-ring"))]
    pub fn tls(mut self, tls: ServerTls) -> Self {
        self.tls = Some(tls);
        self
    }
}
