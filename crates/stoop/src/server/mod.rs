//! The server: listeners, cores, connections.

mod accept;
mod call;
mod connection;
mod control;
mod core;
mod date;
mod future_pool;
mod handle;
mod http1;
mod http2;
mod listening;
mod server_workers;

use std::num::NonZeroUsize;
use std::sync::Arc;

#[cfg(any(feature = "tls", feature = "tls-ring"))]
use stoop_io::ServerTls;
use stoop_io::{Listener, RunError, Timer, Workers};

use crate::endpoint::Endpoint;
use crate::error::Error;
use crate::handler::{Handler, IntoHandler};
use crate::limits::ServerLimits;
use crate::versions::Versions;

use accept::{Accepting, Acceptor};
pub(crate) use connection::ServerConnection;
pub(crate) use control::{Control, Registration};
pub(crate) use core::Core;
use core::ServerShared;
pub use handle::ServerHandle;
pub use listening::ListenError;
use server_workers::ServerWorkers;

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
pub struct Server {
    endpoint: Endpoint,
    workers: usize,
    limits: ServerLimits,
    versions: Versions,
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
            versions: Versions::default(),
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

    /// Which versions of HTTP are spoken: both, unless this says otherwise.
    pub fn versions(mut self, versions: Versions) -> Self {
        self.versions = versions;
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
    /// A panic while the handler is copied or made closes the server. One of its calls answers 500.
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
        let (mut handle, server_workers) = self.prepare(make)?;
        let served = server_workers.clone();
        let workers = Workers::start(&server_workers.options(), move |worker| served.work(&worker));
        let refused = |error| server_workers.without_threads(handle.endpoint(), error);
        let workers = workers.map_err(refused)?;
        handle.own(workers);
        Ok(handle)
    }

    /// As [`run`](Server::run), with the calling thread as one of the threads: returns when the
    /// server has stopped. `started` is called once it listens, with what stops it.
    ///
    /// With one worker no thread is started, and system calls cost less: a small request some 2 %.
    ///
    /// ```no_run
    /// let server = stoop::Server::listen("127.0.0.1:8080")?;
    /// server.run_blocking(
    ///     |request: stoop::Request| stoop::Response::from_text(request.path().to_owned()),
    ///     |handle| println!("listening on {}", handle.endpoint()),
    /// )?;
    /// # Ok::<(), stoop::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Server::run`].
    ///
    /// # Panics
    /// Within an asynchronous task; and if `started`, or copying the handler, panics, which closes
    /// the server. What a handler's calls do is caught.
    pub fn run_blocking<K, T>(
        self,
        handler: T,
        started: impl FnOnce(ServerHandle),
    ) -> Result<(), ListenError>
    where
        T: IntoHandler<K> + Clone + Send + Sync + 'static,
    {
        let (handle, server_workers) = self.prepare(move || handler.clone().into_handler())?;
        let _on_panic = server_workers.given_up_on_panic();
        let (served, endpoint) = (server_workers.clone(), handle.endpoint().clone());
        let started = |_| started(handle);
        let ended =
            Workers::run(&server_workers.options(), move |worker| served.work(&worker), started);
        match ended {
            Ok(()) => Ok(()),
            Err(RunError::NotStarted(error)) => {
                Err(server_workers.without_threads(&endpoint, error))
            }
            Err(RunError::Panicked(panicked)) => handle::panicked(panicked),
        }
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
        let core = shared.core(handler.into_handler());
        let acceptor = Acceptor::new(listening, core, shared, None);
        let spawn = |connection| drop(tokio::task::spawn_local(connection));
        drop(tokio::task::spawn_local(acceptor.run(Timer::precise, spawn)));
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
        let core = shared.core(handler.into_handler());
        let acceptor = Acceptor::new(listening, core, shared, None);
        let spawn = |connection| drop(tokio::spawn(connection));
        drop(tokio::spawn(acceptor.run(Timer::precise, spawn)));
        Ok(handle)
    }

    fn prepare<M>(self, make: M) -> Result<(ServerHandle, Arc<ServerWorkers<M>>), ListenError> {
        let listeners = self.bind(self.workers)?;
        let (handle, shared) = self.start(&listeners);
        Ok((handle, Arc::new(ServerWorkers::new(listeners, shared, make))))
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

    fn start_one(self) -> Result<(ServerHandle, ServerShared, (Listener, Accepting)), ListenError> {
        let listeners = self.bind(1)?;
        let (handle, shared) = self.start(&listeners);
        let listener = listeners.into_iter().next().expect("one was asked for");
        let accepting = Accepting::new(shared.control.clone());
        Ok((handle, shared, (listener, accepting)))
    }

    fn start(self, listeners: &[Listener]) -> (ServerHandle, ServerShared) {
        let control = Arc::new(Control::default());
        let mut endpoint = self.endpoint;
        if let Some(stoop_io::ListenAddress::Inet(address)) =
            listeners.first().map(Listener::address)
        {
            endpoint = endpoint.at(*address);
        }
        #[cfg(any(feature = "tls", feature = "tls-ring"))]
        if self.tls.is_some() {
            endpoint = endpoint.secured();
        }
        let shared = ServerShared {
            control: control.clone(),
            limits: Arc::new(self.limits),
            versions: self.versions,
            #[cfg(any(feature = "tls", feature = "tls-ring"))]
            tls: self.tls.map(|tls| tls.with_alpn_default(self.versions.alpn())),
        };
        (ServerHandle::new(endpoint, control), shared)
    }
}
