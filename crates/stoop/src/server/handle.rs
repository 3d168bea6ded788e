//! The handle of a running server: where it listens, and how it is stopped.

use std::fmt;
use std::future::{Future, poll_fn};
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use stoop_io::{ListenerCopier, Panicked, Workers};

use crate::drain::Draining;
use crate::endpoint::{Address, Endpoint};
use crate::server::control::{Control, Lifecycle};
use crate::server::counters::ServerStats;
use crate::server::monitors::Monitors;

/// A running server. Dropping it leaves the server running.
pub struct ServerHandle {
    /// One at least.
    endpoints: Vec<Endpoint>,
    /// What copies the sockets of each place.
    sockets: Vec<Vec<ListenerCopier>>,
    control: Arc<Control>,
    monitors: Arc<Monitors>,
    /// The threads, where they are the server's own.
    workers: Option<Workers>,
}

impl ServerHandle {
    pub(super) fn new(
        endpoints: Vec<Endpoint>,
        sockets: Vec<Vec<ListenerCopier>>,
        control: Arc<Control>,
        monitors: Arc<Monitors>,
    ) -> Self {
        Self { endpoints, sockets, control, monitors, workers: None }
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

    /// Copies of its listening sockets, for each place in the order of [`endpoints`](Self::endpoints): to hand them to the
    /// process that takes this one's place, which listens by [`Binding::from_sockets`](crate::Binding::from_sockets).
    ///
    /// On Linux a place has a socket for each worker, with a queue of its own of connections that wait to be accepted. A
    /// socket that is closed everywhere resets those, so that all copies have to be handed over, and be used; then this
    /// server [drains](Self::drain), and no client is refused or reset. The file of a Unix socket stays from then on. A
    /// server that has stopped has no sockets.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// use std::time::Duration;
    /// use stoop::{Binding, Request, Server};
    ///
    /// let old = Server::listen("127.0.0.1:0")?.run(|_: Request| "old")?;
    /// let mut places = old.sockets()?;
    /// let new = Server::listen(Binding::from_sockets(places.remove(0))?)?.run(|_: Request| "new")?;
    /// old.drain(Duration::from_secs(30)).await;
    /// assert_eq!(new.port(), old.port());
    /// # new.close().await;
    /// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
    /// ```
    ///
    /// # Errors
    /// Those of the system: no descriptor is left.
    pub fn sockets(&self) -> io::Result<Vec<Vec<OwnedFd>>> {
        let copies = |place: &Vec<ListenerCopier>| {
            place.iter().filter_map(|listener| listener.copy().transpose()).collect()
        };
        self.sockets.iter().map(copies).collect()
    }

    /// How many connections were closed because they did not begin with the header that
    /// [`Binding::proxy_protocol`](crate::Binding::proxy_protocol) asks for, or came from elsewhere than a proxy.
    pub fn proxy_refusals(&self) -> u64 {
        self.control.proxy_refusals.load(Ordering::Relaxed)
    }

    /// How many handlers run on after their clients have left: see
    /// [`ServerLimits::detached_handlers_max`](crate::ServerLimits::detached_handlers_max).
    pub fn detached_handlers(&self) -> usize {
        self.control.detached.load(Ordering::Relaxed)
    }

    /// Whether the server accepts connections, and will for now: until a drain is announced or has begun, or it closes.
    pub fn is_ready(&self) -> bool {
        self.control.drain.is_ready()
    }

    /// A future that is done once the server drains; of the server's own, and not of a request.
    pub fn draining(&self) -> Draining {
        Draining::new(Some(self.control.drain.clone()))
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
        self.monitors.stats(&self.control)
    }

    /// A function that gives what [`stats`](Self::stats) does, also once the handle has gone elsewhere or the server has
    /// stopped: for what shows these figures as long as the program runs.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// let server = stoop::Server::listen("127.0.0.1:0")?.run_here(|_: stoop::Request| "hello")?;
    /// let stats = server.stats_source();
    /// # server.close().await;
    /// drop(server);
    /// assert_eq!(stats().open, 0);
    /// # Ok::<(), stoop::Error>(()) }).unwrap();
    /// ```
    pub fn stats_source(&self) -> impl Fn() -> ServerStats + Clone + Send + Sync + 'static {
        let (control, monitors) = (self.control.clone(), self.monitors.clone());
        move || monitors.stats(&control)
    }

    /// Stops gracefully: accepts nothing more, closes idle connections, finishes what runs and says
    /// `Connection: close` with it. What is not finished after `grace` is cut off; returns how many
    /// connections that were. Clients get [`ServerTime::linger`](crate::ServerTime::linger) to close their end too.
    ///
    /// Handlers learn of it by [`Request::draining`](crate::Request::draining). Upgraded connections are their owners':
    /// over HTTP/1 they are not waited for, unless their owner [holds](Draining::hold) the drain up, and with
    /// [`Server::run`](crate::Server::run) their tasks end with the server's threads. Over HTTP/2 they are streams of a
    /// connection, which is waited for.
    ///
    /// What waits to be accepted still is; a connection that has said nothing yet gets a second for
    /// it. May be called again, with another grace.
    ///
    /// A handler that blocks its thread can neither be finished nor cut off: then this waits for it, longer than `grace`.
    ///
    /// # Panics
    /// Outside a tokio runtime that has time enabled. Unlike this, [`close`](Self::close) and [`ended`](Self::ended) need none.
    pub async fn drain(&self, grace: Duration) -> usize {
        self.control.advance_to(Lifecycle::Draining);
        if tokio::time::timeout(grace, self.idle()).await.is_ok() {
            return 0;
        }
        self.close().await;
        self.control.take_aborted()
    }

    /// Announces that the server will stop, goes on as before for `notice`, and drains: for load balancers, which ask
    /// whether a server is ready and send clients to it until they have asked again. Handlers that they ask answer by
    /// [`Draining::is_ready`]; without one that does, this is of no use. Returns as [`drain`](Self::drain).
    ///
    /// # Panics
    /// As [`drain`](Self::drain).
    pub async fn drain_after(&self, notice: Duration, grace: Duration) -> usize {
        self.control.drain.announce();
        let has_begun = poll_fn(|cx| self.control.poll_lifecycle(Lifecycle::Draining, cx));
        // Not longer, if it is told to stop at once.
        let _ = tokio::time::timeout(notice, has_begun).await;
        self.drain(grace).await
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
