//! Running a [`Server`]: on threads of its own, on the caller's thread, or on the caller's runtime.

use std::sync::Arc;

use stoop_io::{RunError, Timer, Workers};

use super::Server;
use crate::handler::{Handler, IntoHandler};
use crate::server::accept::{Accepting, Acceptor, BoundListener, WorkerListeners};
#[cfg(any(feature = "tls", feature = "tls-ring"))]
use crate::server::core::SpokenTls;
use crate::server::core::{ServerShared, Spoken};
use crate::server::counters::Threads;
use crate::server::handle::{self, ServerHandle};
use crate::server::listening::{self, ListenError};
use crate::server::monitors::Monitors;
use crate::server::server_workers::ServerWorkers;

impl Server {
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
        self.run_blocking_with(move || handler.clone().into_handler(), started)
    }

    /// The same with handlers that are made on their threads, as those of [`run_with`](Server::run_with): with one
    /// worker there is one of them, on the calling thread.
    ///
    /// ```no_run
    /// use std::{cell::Cell, rc::Rc};
    /// use stoop::{IntoHandler, Request, Server};
    ///
    /// Server::listen("127.0.0.1:8080")?.workers(1).run_blocking_with(
    ///     || {
    ///         let count = Rc::new(Cell::new(0));
    ///         let handler = move |_: Request| {
    ///             count.set(count.get() + 1);
    ///             count.get().to_string()
    ///         };
    ///         handler.into_handler()
    ///     },
    ///     |handle| println!("listening on {}", handle.endpoint()),
    /// )?;
    /// # Ok::<(), stoop::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Server::run`].
    ///
    /// # Panics
    /// As [`run_blocking`](Server::run_blocking).
    pub fn run_blocking_with<H, M>(
        self,
        make: M,
        started: impl FnOnce(ServerHandle),
    ) -> Result<(), ListenError>
    where
        H: Handler,
        M: Fn() -> H + Send + Sync + 'static,
    {
        let (handle, server_workers) = self.prepare(make)?;
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
        let core = shared.core(handler.into_handler(), Threads::One);
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
        let core = shared.core(handler.into_handler(), Threads::Many);
        let acceptor = Acceptor::new(listening, core, shared, None);
        let spawn = |connection| drop(tokio::spawn(connection));
        drop(tokio::spawn(acceptor.run(Timer::precise, spawn)));
        Ok(handle)
    }

    fn prepare<M>(self, make: M) -> Result<(ServerHandle, Arc<ServerWorkers<M>>), ListenError> {
        let (handle, shared, listeners) = self.start()?;
        Ok((handle, Arc::new(ServerWorkers::new(listeners, shared, make))))
    }

    fn start_one(mut self) -> Result<(ServerHandle, ServerShared, WorkerListeners), ListenError> {
        self.workers = 1;
        let (handle, shared, listeners) = self.start()?;
        let listeners = listeners.into_iter().flatten().collect();
        let accepting = Accepting::new(shared.control.clone());
        Ok((handle, shared, (listeners, accepting)))
    }

    /// Listens everywhere: the listeners of each worker.
    fn start(self) -> Result<(ServerHandle, ServerShared, Vec<Vec<BoundListener>>), ListenError> {
        #[cfg(any(feature = "tls", feature = "tls-ring"))]
        let tls = self.tls.as_ref();
        #[cfg(not(any(feature = "tls", feature = "tls-ring")))]
        let tls = None;
        let (mut endpoints, mut spoken, mut sockets) = (Vec::new(), Vec::new(), Vec::new());
        let mut listeners: Vec<_> = (0..self.workers).map(|_| Vec::new()).collect();
        listening::check_certificates(&self.bindings, tls)?;
        for (index, binding) in self.bindings.into_iter().enumerate() {
            let proxy_protocol = binding.proxy_protocol.clone();
            let bound = listening::listen(binding, self.workers, tls)?;
            let mut copiers = Vec::new();
            for (worker, listeners) in listeners.iter_mut().zip(bound.listeners) {
                for listener in listeners {
                    copiers.push(listener.copier());
                    worker.push(BoundListener { listener, binding: index });
                }
            }
            sockets.push(copiers);
            endpoints.push(bound.endpoint);
            spoken.push(Spoken {
                proxy_protocol,
                #[cfg(any(feature = "tls", feature = "tls-ring"))]
                tls: bound.tls.map(|tls| SpokenTls::new(tls, self.versions)),
            });
        }
        let control = self.control;
        let monitors = Monitors::new(self.observers, self.exempt, &self.limits, endpoints.len());
        let shared = ServerShared {
            control: control.clone(),
            limits: Arc::new(self.limits),
            versions: self.versions,
            spoken: spoken.into(),
            monitors: monitors.clone(),
        };
        Ok((ServerHandle::new(endpoints, sockets, control, monitors), shared, listeners))
    }
}
