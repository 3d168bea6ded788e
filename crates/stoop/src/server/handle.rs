//! The handle of a running server: where it listens, and how it is stopped.

use std::fmt;
use std::future::{Future, poll_fn};
use std::sync::Arc;
use std::time::Duration;

use stoop_io::{Panicked, Workers};

use crate::endpoint::{Address, Endpoint};
use crate::server::control::{Control, Lifecycle};
use crate::server::counters::ServerStats;
use crate::server::monitors::Monitors;

/// A running server. Dropping it leaves the server running.
pub struct ServerHandle {
    /// One at least.
    endpoints: Vec<Endpoint>,
    control: Arc<Control>,
    monitors: Arc<Monitors>,
    /// The threads, where they are the server's own.
    workers: Option<Workers>,
}

impl ServerHandle {
    pub(super) fn new(
        endpoints: Vec<Endpoint>,
        control: Arc<Control>,
        monitors: Arc<Monitors>,
    ) -> Self {
        Self { endpoints, control, monitors, workers: None }
    }

    /// Threads that are to be waited for.
    pub(super) fn own(&mut self, workers: Workers) {
        self.workers = Some(workers);
    }

    /// Where it listens, with the port that was chosen; of several places the first.
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoints[0]
    }

    /// All places where it listens, in the order in which they were given.
    pub fn endpoints(&self) -> &[Endpoint] {
        &self.endpoints
    }

    /// The port it listens on, the first if there are several; 0 if it has Unix sockets alone.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// let server = stoop::Server::listen("127.0.0.1:0")?.run_here(|_: stoop::Request| "hello")?;
    /// let url = format!("http://localhost:{}/", server.port());
    /// assert_eq!(stoop::Client::new().get(&url).await?.status(), 200);
    /// # server.close().await;
    /// # Ok::<(), stoop::Error>(()) }).unwrap();
    /// ```
    pub fn port(&self) -> u16 {
        let port = |endpoint: &Endpoint| match endpoint.address() {
            Address::Inet(address) => Some(address.port()),
            Address::Unix(_) => None,
        };
        self.endpoints.iter().find_map(port).unwrap_or(0)
    }

    /// How many connections are open. Upgraded ones are their owners' and not among them, though
    /// [`ServerLimits::connections_max`](crate::ServerLimits) bounds them too.
    pub fn connections(&self) -> usize {
        self.control.connections()
    }

    /// What the connections are doing, and what became of those before them. Costs a look at some twenty numbers of each
    /// core.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// let server = stoop::Server::listen("127.0.0.1:0")?.run_here(|_: stoop::Request| "hello")?;
    /// let url = format!("http://localhost:{}/", server.port());
    /// stoop::Client::new().get(&url).await?.text().await?;
    /// let stats = server.stats();
    /// assert_eq!((stats.accepted, stats.responses.success, stats.malformed), (1, 1, 0));
    /// # server.close().await;
    /// # Ok::<(), stoop::Error>(()) }).unwrap();
    /// ```
    pub fn stats(&self) -> ServerStats {
        self.monitors.stats(self.connections())
    }

    /// Stops gracefully: accepts nothing more, closes idle connections, finishes what runs and says
    /// `Connection: close` with it. What is not finished after `grace` is cut off; returns how many
    /// connections that were. Upgraded connections are their owners' and not waited for.
    ///
    /// What waits to be accepted still is; a connection that has said nothing yet gets a second for
    /// it. May be called again, with another grace.
    pub async fn drain(&self, grace: Duration) -> usize {
        self.control.advance_to(Lifecycle::Draining);
        if tokio::time::timeout(grace, self.idle()).await.is_ok() {
            return 0;
        }
        self.close().await;
        self.control.take_aborted()
    }

    /// Stops at once: every connection is cut off.
    pub async fn close(&self) {
        self.control.advance_to(Lifecycle::Closing);
        self.idle().await;
    }

    /// Waits until the server has stopped.
    pub async fn ended(&self) {
        poll_fn(|cx| self.control.poll_lifecycle(Lifecycle::Draining, cx)).await;
        self.idle().await;
    }

    fn idle(&self) -> impl Future<Output = ()> {
        poll_fn(|cx| self.control.poll_over(cx))
    }

    /// Waits for the server's threads to end, once it was told to stop; blocks the caller.
    ///
    /// # Panics
    /// Within an asynchronous task, and if a thread could not make its handler.
    pub fn join(self) {
        if let Some(workers) = self.workers {
            workers.wait().unwrap_or_else(|thread| panicked(thread));
        }
    }
}

/// What made a thread end. Handlers' panics are caught; this one is passed on.
pub(super) fn panicked(thread: Panicked) -> ! {
    panic!("{thread}");
}

impl fmt::Debug for ServerHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ServerHandle({}", self.endpoint())?;
        self.endpoints[1..].iter().try_for_each(|endpoint| write!(f, ", {endpoint}"))?;
        write!(f, ", {} connections)", self.connections())
    }
}
