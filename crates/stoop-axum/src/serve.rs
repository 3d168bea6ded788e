//! A server for an application in one line, as `axum::serve` is one.

use std::fmt;
use std::future::{Future, IntoFuture, pending};
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use axum::Router;
use stoop::{Binding, Server, ServerHandle, ServerLimits};

use crate::service::handler;

/// How long a graceful shutdown waits for what runs, unless [`Serve::grace`] says otherwise.
const GRACE: Duration = Duration::from_secs(30);

/// What [`serve`] accepts connections from: a listener of tokio's or of `std`'s, or an address.
pub trait Listen {
    /// Makes it a place for a server to listen in.
    ///
    /// # Errors
    /// If it is no place, or the listener cannot be taken from its runtime.
    fn into_binding(self) -> Result<Binding, stoop::Error>;
}

impl Listen for Binding {
    fn into_binding(self) -> Result<Binding, stoop::Error> {
        Ok(self)
    }
}

impl Listen for &str {
    fn into_binding(self) -> Result<Binding, stoop::Error> {
        Binding::new(self)
    }
}

impl Listen for SocketAddr {
    fn into_binding(self) -> Result<Binding, stoop::Error> {
        Binding::new(self)
    }
}

impl Listen for std::net::TcpListener {
    fn into_binding(self) -> Result<Binding, stoop::Error> {
        Binding::new(self)
    }
}

impl Listen for std::os::unix::net::UnixListener {
    fn into_binding(self) -> Result<Binding, stoop::Error> {
        Binding::new(self)
    }
}

impl Listen for tokio::net::TcpListener {
    fn into_binding(self) -> Result<Binding, stoop::Error> {
        self.into_std().map_err(not_taken)?.into_binding()
    }
}

impl Listen for tokio::net::UnixListener {
    fn into_binding(self) -> Result<Binding, stoop::Error> {
        self.into_std().map_err(not_taken)?.into_binding()
    }
}

fn not_taken(error: io::Error) -> stoop::Error {
    stoop::Error::new(stoop::ErrorKind::ConnectUnreachable, stoop::Phase::Connect)
        .with_source(error)
}

/// Serves an application on the runtime of the caller, until it is told to stop.
///
/// The result is a future: await it. Dropping it closes the server and cuts its connections off.
///
/// It speaks HTTP/1 and HTTP/2 on the same port, and lets WebSockets be opened over both. For TLS, several places, or
/// a thread for each core, give [`handler`] to a [`Server`].
///
/// ```no_run
/// use axum::{Router, routing::get};
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let app = Router::new().route("/", get(|| async { "hello" }));
/// let listener = tokio::net::TcpListener::bind("127.0.0.1:3000").await?;
/// let stop = async { drop(tokio::signal::ctrl_c().await) };
/// stoop_axum::serve(listener, app).with_graceful_shutdown(stop).await?;
/// # Ok(()) }
/// ```
pub fn serve(listener: impl Listen, app: Router) -> Serve {
    let mut limits = ServerLimits::default();
    limits.wire.http2.extended_connect = true;
    let binding = listener.into_binding();
    Serve { binding, app, limits, grace: GRACE, stop: None }
}

/// A server for an application, to be awaited: see [`serve`].
#[must_use = "a server does nothing unless it is awaited"]
pub struct Serve {
    binding: Result<Binding, stoop::Error>,
    app: Router,
    limits: ServerLimits,
    grace: Duration,
    stop: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
}

impl Serve {
    /// Stops once `signal` is done: accepts nothing more, finishes what runs, and ends.
    pub fn with_graceful_shutdown<F>(mut self, signal: F) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        self.stop = Some(Box::pin(signal));
        self
    }

    /// How long a graceful shutdown waits for what runs, before it is cut off: 30 seconds unless this says
    /// otherwise.
    pub fn grace(mut self, grace: Duration) -> Self {
        self.grace = grace;
        self
    }

    /// Changes the limits: they are the default ones, and extended CONNECT is allowed.
    pub fn limits(mut self, change: impl FnOnce(&mut ServerLimits)) -> Self {
        change(&mut self.limits);
        self
    }
}

impl fmt::Debug for Serve {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Serve({:?})", self.binding)
    }
}

impl IntoFuture for Serve {
    type Output = io::Result<()>;
    type IntoFuture = Serving;

    fn into_future(self) -> Serving {
        Serving(Box::pin(async move {
            let server = Server::listen(self.binding.map_err(io::Error::other)?);
            let server = server.map_err(io::Error::other)?.limits(self.limits);
            let server = server.run_here(handler(self.app));
            let server = server.map_err(|error| io::Error::new(error.kind(), error))?;
            let running = Running(server);
            match self.stop {
                Some(stop) => stop.await,
                None => pending().await,
            }
            running.0.drain(self.grace).await;
            Ok(())
        }))
    }
}

/// The future of a server: see [`serve`].
pub struct Serving(Pin<Box<dyn Future<Output = io::Result<()>> + Send>>);

impl Future for Serving {
    type Output = io::Result<()>;
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.0.as_mut().poll(cx)
    }
}

/// A server that is closed when this is dropped.
struct Running(ServerHandle);

impl Drop for Running {
    fn drop(&mut self) {
        // The first poll tells it to close; the rest would wait for the end.
        let close = std::pin::pin!(self.0.close());
        let _ = close.poll(&mut Context::from_waker(Waker::noop()));
    }
}
