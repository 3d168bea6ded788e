//! The server: listeners, cores, connections.

mod accept;
mod answer;
mod connection;
mod control;
mod ending;
mod listening;
mod receive;
mod shelf;
mod waits;

use std::fmt;
use std::future::{Future, poll_fn};
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

#[cfg(any(feature = "tls", feature = "tls-ring"))]
use stoop_io::ServerTls;
use stoop_io::{Balance, Listener, Timer, Worker, WorkerOptions, Workers};

use crate::endpoint::Endpoint;
use crate::error::Error;
use crate::handler::{Handler, IntoHandler};
use crate::limits::ServerLimits;

use accept::Acceptor;
pub(crate) use connection::{Connection, Core};
pub(crate) use control::{Control, Course};
pub use listening::ListenError;

/// A server to be described, then run.
///
/// There are three ways to run it, chosen by name and never detected: [`run`](Server::run) on
/// threads of its own, [`run_local`](Server::run_local) on the caller's thread, and
/// [`run_here`](Server::run_here) on the caller's runtime, whatever that is.
///
/// ```no_run
/// use stoop::{Request, Response, Server};
///
/// # async fn example() -> Result<(), stoop::Error> {
/// let server = Server::listen("127.0.0.1:8080")?
///     .run(|request: Request| Response::text(format!("you asked for {}", request.path())))?;
/// println!("listening on {}", server.endpoint());
/// server.ended().await;
/// # Ok(()) }
/// ```
pub struct Server {
    endpoint: Endpoint,
    workers: usize,
    limits: ServerLimits,
    #[cfg(any(feature = "tls", feature = "tls-ring"))]
    tls: Option<ServerTls>,
}

impl Server {
    /// A server that will listen on `endpoint`, see [`Endpoint`] for the notation. Port 0 is one
    /// that is free.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidUrl`](crate::ErrorKind::InvalidUrl) if it is no endpoint.
    pub fn listen<E>(endpoint: E) -> Result<Self, Error>
    where
        E: TryInto<Endpoint>,
        Error: From<E::Error>,
    {
        Ok(Self {
            endpoint: endpoint.try_into()?,
            workers: std::thread::available_parallelism().map_or(1, NonZeroUsize::get),
            limits: ServerLimits::default(),
            #[cfg(any(feature = "tls", feature = "tls-ring"))]
            tls: None,
        })
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

    /// Speaks TLS, whatever the endpoint's scheme.
    #[cfg(any(feature = "tls", feature = "tls-ring"))]
    pub fn tls(mut self, tls: ServerTls) -> Self {
        self.tls = Some(tls);
        self
    }

    /// Runs on threads of its own, each with its listener and a copy of the handler. Connections
    /// are spread evenly over them, and each stays on its thread.
    ///
    /// # Errors
    /// If the address cannot be listened on, or a thread cannot be started.
    pub fn run<K, T>(self, handler: T) -> Result<ServerHandle, ListenError>
    where
        T: IntoHandler<K> + Clone + Send + Sync + 'static,
    {
        self.run_with(move || handler.clone().into_handler())
    }

    /// The same with handlers that are made on their threads, so that they may hold what cannot be
    /// sent, such as an `Rc`.
    ///
    /// # Errors
    /// As [`Server::run`].
    pub fn run_with<H, M>(self, make: M) -> Result<ServerHandle, ListenError>
    where
        H: Handler,
        M: Fn() -> H + Send + Sync + 'static,
    {
        let listeners = self.bind(self.workers)?;
        let (mut handle, shared) = self.start(&listeners);
        let balance = Balance::new(listeners.len());
        let options = WorkerOptions { count: listeners.len(), ..WorkerOptions::default() };
        let listeners = Mutex::new(listeners.into_iter().map(Some).collect::<Vec<_>>());
        let work = move |worker: Worker| {
            let mut listeners = listeners.lock().unwrap_or_else(PoisonError::into_inner);
            let listener = listeners[worker.index()].take().expect("each worker starts once");
            drop(listeners);
            let core = Core::new(make(), shared.limits.clone(), shared.control.clone());
            let post = balance.post(worker.index());
            let acceptor = Acceptor::new(listener, core, shared.clone(), Some(post));
            let control = shared.control.clone();
            async move {
                let spawn = |connection| drop(::tokio::task::spawn_local(connection));
                acceptor.run(Timer::coarse, spawn).await;
                poll_fn(|cx| control.poll_over(cx)).await;
            }
        };
        let workers = Workers::start(&options, work).map_err(|error| {
            // Those that were started must not go on without anybody to stop them.
            handle.control.steer(Course::Closing);
            ListenError::thread(&handle.endpoint, error)
        });
        handle.workers = Some(workers?);
        Ok(handle)
    }

    /// Runs on the thread this is called on, under a `LocalRuntime` or in a `LocalSet` of tokio's.
    /// The handler need not be `Send`.
    ///
    /// # Errors
    /// If the address cannot be listened on.
    ///
    /// # Panics
    /// Where tasks that are not `Send` cannot be spawned.
    pub fn run_local<K, T: IntoHandler<K>>(self, handler: T) -> Result<ServerHandle, ListenError> {
        let (handle, shared, listener) = self.start_one()?;
        let core = Core::new(handler.into_handler(), shared.limits.clone(), shared.control.clone());
        let acceptor = Acceptor::new(listener, core, shared, None);
        let spawn = |connection| drop(::tokio::task::spawn_local(connection));
        drop(::tokio::task::spawn_local(acceptor.run(Timer::precise, spawn)));
        Ok(handle)
    }

    /// Runs on the runtime this is called on, beside whatever else runs there. Each connection is a
    /// task, which may move between threads.
    ///
    /// # Errors
    /// If the address cannot be listened on.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub fn run_here<K, T>(self, handler: T) -> Result<ServerHandle, ListenError>
    where
        T: IntoHandler<K>,
        T::Handler: Send + Sync,
        <T::Handler as Handler>::Future: Send,
        <T::Handler as Handler>::Body: Send,
    {
        let (handle, shared, listener) = self.start_one()?;
        let core = Core::new(handler.into_handler(), shared.limits.clone(), shared.control.clone());
        let acceptor = Acceptor::new(listener, core, shared, None);
        let spawn = |connection| drop(::tokio::spawn(connection));
        drop(::tokio::spawn(acceptor.run(Timer::precise, spawn)));
        Ok(handle)
    }

    fn bind(&self, count: usize) -> Result<Vec<Listener>, ListenError> {
        #[cfg(any(feature = "tls", feature = "tls-ring"))]
        let has_certificate = self.tls.is_some();
        #[cfg(not(any(feature = "tls", feature = "tls-ring")))]
        let has_certificate = false;
        if self.endpoint.is_secure() && !has_certificate {
            return Err(ListenError::certificate(&self.endpoint));
        }
        listening::listen(&self.endpoint, count)
    }

    fn start_one(self) -> Result<(ServerHandle, Shared, Listener), ListenError> {
        let listeners = self.bind(1)?;
        let (handle, shared) = self.start(&listeners);
        let listener = listeners.into_iter().next().expect("one was asked for");
        Ok((handle, shared, listener))
    }

    fn start(self, listeners: &[Listener]) -> (ServerHandle, Shared) {
        let control = Arc::new(Control::default());
        let mut endpoint = self.endpoint;
        if let Some(stoop_io::Address::Inet(address)) = listeners.first().map(Listener::address) {
            endpoint = endpoint.at(*address);
        }
        let shared = Shared {
            control: control.clone(),
            limits: Arc::new(self.limits),
            #[cfg(any(feature = "tls", feature = "tls-ring"))]
            tls: self.tls,
        };
        (ServerHandle { endpoint, control, workers: None }, shared)
    }
}

/// What all cores of a server share.
#[derive(Clone)]
pub(crate) struct Shared {
    control: Arc<Control>,
    limits: Arc<ServerLimits>,
    #[cfg(any(feature = "tls", feature = "tls-ring"))]
    tls: Option<ServerTls>,
}

/// A running server. Dropping it leaves the server running.
pub struct ServerHandle {
    endpoint: Endpoint,
    control: Arc<Control>,
    /// The threads, where they are the server's own.
    workers: Option<Workers>,
}

impl ServerHandle {
    /// Where it listens, with the port that was chosen.
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// How many connections are open.
    pub fn connections(&self) -> usize {
        self.control.connections()
    }

    /// Stops gracefully: accepts nothing more, closes idle connections, finishes what runs and says
    /// `Connection: close` with it. What is not finished after `grace` is cut off; returns how many
    /// connections that were. Upgraded connections are their owners' and not waited for.
    ///
    /// What waits to be accepted still is; a connection that has said nothing yet gets a second for
    /// it. May be called again, with another grace.
    pub async fn drain(&self, grace: Duration) -> usize {
        self.control.steer(Course::Draining);
        if ::tokio::time::timeout(grace, self.idle()).await.is_ok() {
            return 0;
        }
        self.close().await;
        self.control.take_cut_off()
    }

    /// Stops at once: every connection is cut off.
    pub async fn close(&self) {
        self.control.steer(Course::Closing);
        self.idle().await;
    }

    /// Waits until the server has stopped.
    pub async fn ended(&self) {
        poll_fn(|cx| self.control.poll_course(Course::Draining, cx)).await;
        self.idle().await;
    }

    fn idle(&self) -> impl Future<Output = ()> {
        poll_fn(|cx| self.control.poll_over(cx))
    }

    /// Waits for the server's threads to end, once it was told to stop; blocks the caller.
    ///
    /// # Panics
    /// Within an asynchronous task.
    pub fn join(self) {
        if let Some(workers) = self.workers {
            // Workers do not panic: handlers' panics are caught.
            let _ = workers.wait();
        }
    }
}

impl fmt::Debug for ServerHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ServerHandle({}, {} connections)", self.endpoint, self.connections())
    }
}
