//! The server: listeners, cores, connections.

mod accept;
mod answer;
mod connection;
mod control;
mod ending;
mod handle;
mod listening;
mod receive;
mod shelf;
mod waits;

use std::future::poll_fn;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, PoisonError};

#[cfg(any(feature = "tls", feature = "tls-ring"))]
use stoop_io::ServerTls;
use stoop_io::{Balance, Listener, Timer, Worker, WorkerOptions, Workers};

use crate::endpoint::Endpoint;
use crate::error::Error;
use crate::handler::{Handler, IntoHandler};
use crate::limits::ServerLimits;

use accept::{Accepting, Acceptor};
pub(crate) use connection::{Connection, Core};
pub(crate) use control::{Control, Course};
pub use handle::ServerHandle;
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
        let control = shared.control.clone();
        // They count as accepting from now on, for whoever stops the server before they start.
        let accepting = |listener| Some((listener, Accepting::new(control.clone())));
        let listeners = Mutex::new(listeners.into_iter().map(accepting).collect::<Vec<_>>());
        let work = move |worker: Worker| {
            let mut listeners = listeners.lock().unwrap_or_else(PoisonError::into_inner);
            let listening = listeners[worker.index()].take().expect("each worker starts once");
            drop(listeners);
            let core = Core::new(make(), shared.limits.clone(), shared.control.clone());
            let post = balance.post(worker.index());
            let acceptor = Acceptor::new(listening, core, shared.clone(), Some(post));
            let control = shared.control.clone();
            async move {
                let spawn = |connection| drop(::tokio::task::spawn_local(connection));
                acceptor.run(Timer::coarse, spawn).await;
                poll_fn(|cx| control.poll_over(cx)).await;
            }
        };
        let workers = Workers::start(&options, work).map_err(|error| {
            // Those that were started must not go on without anybody to stop them.
            control.steer(Course::Closing);
            ListenError::thread(handle.endpoint(), error)
        });
        handle.own(workers?);
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
        let (handle, shared, listening) = self.start_one()?;
        let core = Core::new(handler.into_handler(), shared.limits.clone(), shared.control.clone());
        let acceptor = Acceptor::new(listening, core, shared, None);
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
        let (handle, shared, listening) = self.start_one()?;
        let core = Core::new(handler.into_handler(), shared.limits.clone(), shared.control.clone());
        let acceptor = Acceptor::new(listening, core, shared, None);
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

    fn start_one(self) -> Result<(ServerHandle, Shared, (Listener, Accepting)), ListenError> {
        let listeners = self.bind(1)?;
        let (handle, shared) = self.start(&listeners);
        let listener = listeners.into_iter().next().expect("one was asked for");
        let accepting = Accepting::new(shared.control.clone());
        Ok((handle, shared, (listener, accepting)))
    }

    fn start(self, listeners: &[Listener]) -> (ServerHandle, Shared) {
        let control = Arc::new(Control::default());
        let mut endpoint = self.endpoint;
        if let Some(stoop_io::Address::Inet(address)) = listeners.first().map(Listener::address) {
            endpoint = endpoint.at(*address);
        }
        #[cfg(any(feature = "tls", feature = "tls-ring"))]
        if self.tls.is_some() {
            endpoint = endpoint.secured();
        }
        let shared = Shared {
            control: control.clone(),
            limits: Arc::new(self.limits),
            #[cfg(any(feature = "tls", feature = "tls-ring"))]
            tls: self.tls,
        };
        (ServerHandle::new(endpoint, control), shared)
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
