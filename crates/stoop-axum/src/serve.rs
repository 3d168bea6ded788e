//! A server for an application in one line, as `axum::serve` is one.

use std::any::Any;
use std::convert::Infallible;
use std::fmt;
use std::future::{Future, IntoFuture, pending};
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use axum::Router;
use axum::body::{Bytes, HttpBody};
use axum::extract::Request;
use stoop::{Binding, BoxError, Server, ServerHandle, ServerLimits};
use tower_service::Service;

use crate::incoming::IncomingStream;
use crate::listen::Listen;
use crate::make_service::MakeService;
use crate::service::{AxumHandler, handler, with_state};

/// How long a graceful shutdown waits for what runs, unless [`Serve::grace`] says otherwise.
const GRACE: Duration = Duration::from_secs(30);

/// The limits that [`serve`] begins with, for a [`Server`]: the default ones, with two differences.
///
/// - Extended CONNECT is allowed, without which no WebSocket opens over HTTP/2 (RFC 8441 §3).
/// - A client that ends its half of an HTTP/1 connection counts as gone at once, as with hyper: applications of axum
///   expect that a handler, or a stream of events, is dropped when its client closes
///   ([`half_closed`](stoop::ServerTime::half_closed)).
///
/// ```
/// # fn example(app: axum::Router) -> Result<(), stoop::Error> {
/// let mut limits = stoop_axum::server_limits();
/// limits.connections_max = 50_000;
/// let server = stoop::Server::listen("127.0.0.1:0")?.limits(limits).run(stoop_axum::handler(app))?;
/// # Ok(()) }
/// ```
pub fn server_limits() -> ServerLimits {
    let mut limits = ServerLimits::default();
    limits.wire.http2.extended_connect = true;
    limits.time.half_closed = Duration::ZERO;
    limits
}

/// Serves an application on the runtime of the caller, until it is told to stop.
///
/// It takes what `axum::serve` takes, and with the same bounds but that a make-service is `Clone` and `Sync`: a `Router`,
/// a `MethodRouter`, a handler with its state, `into_make_service()` and `into_make_service_with_connect_info::<T>()` of
/// these, of services with layers around them, and other make-services, such as tower's `Shared`. A make-service is
/// called for each request, and not once for each connection; see [`make_handler`](crate::make_handler).
///
/// The result is a future: await it. Dropping it closes the server and cuts its connections off.
///
/// It speaks HTTP/1 and HTTP/2 on the same port, and lets WebSockets be opened over both. For several places, or
/// a thread for each core, give [`handler`](crate::handler) to a [`Server`].
///
/// ```no_run
/// use std::net::SocketAddr;
///
/// use axum::{Router, routing::get};
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let app = Router::new().route("/", get(|| async { "hello" }));
/// let listener = tokio::net::TcpListener::bind("127.0.0.1:3000").await?;
/// let stop = async { drop(tokio::signal::ctrl_c().await) };
/// stoop_axum::serve(listener, app.into_make_service_with_connect_info::<SocketAddr>())
///     .with_graceful_shutdown(stop)
///     .await?;
/// # Ok(()) }
/// ```
pub fn serve<L, M, S, B>(listener: L, make_service: M) -> Serve<L, M>
where
    L: Listen,
    M: Service<IncomingStream<'static, L>, Response = S, Error = Infallible>,
    S: Service<Request, Response = http::Response<B>>,
{
    let local_addr = listener.local_addr();
    let (binding, limits) = (listener.into_binding(), server_limits());
    Serve { binding, local_addr, make_service, limits, grace: GRACE, stop: None }
}

/// A server for an application, to be awaited: see [`serve`].
#[must_use = "a server does nothing unless it is awaited"]
pub struct Serve<L: Listen, M> {
    binding: Result<Binding, stoop::Error>,
    local_addr: io::Result<L::Addr>,
    make_service: M,
    limits: ServerLimits,
    grace: Duration,
    stop: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
}

impl<L: Listen, M> Serve<L, M> {
    /// Where it listens.
    ///
    /// # Errors
    /// As [`Listen::local_addr`].
    pub fn local_addr(&self) -> io::Result<L::Addr> {
        let copied = |error: &io::Error| io::Error::new(error.kind(), error.to_string());
        self.local_addr.as_ref().map(Clone::clone).map_err(copied)
    }

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

    /// Changes the limits, which are [`server_limits`].
    pub fn limits(mut self, change: impl FnOnce(&mut ServerLimits)) -> Self {
        change(&mut self.limits);
        self
    }
}

impl<L: Listen, M> fmt::Debug for Serve<L, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Serve({:?})", self.binding)
    }
}

impl<L, M, S, B> IntoFuture for Serve<L, M>
where
    L: Listen,
    M: Service<IncomingStream<'static, L>, Response = S, Error = Infallible>,
    M: Clone + Send + Sync + 'static,
    M::Future: Send + 'static,
    S: Service<Request, Response = http::Response<B>> + Send + 'static,
    S::Error: Into<BoxError>,
    S::Future: Send + 'static,
    B: HttpBody<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    type Output = io::Result<()>;
    type IntoFuture = Serving;

    fn into_future(self) -> Serving {
        let Self { binding, make_service, limits, grace, stop, .. } = self;
        Serving(Box::pin(async move {
            let server = Server::listen(binding.map_err(io::Error::other)?);
            let server = server.map_err(io::Error::other)?.limits(limits);
            let server = match (&make_service as &dyn Any).downcast_ref::<Router>() {
                // It makes itself: its requests need not wait for that.
                Some(router) => server.run_here(handler(router.clone())),
                None => {
                    let make_service = MakeService::<M, L>::new(with_state(make_service));
                    server.run_here(AxumHandler::new(make_service))
                }
            };
            let server = server.map_err(|error| io::Error::new(error.kind(), error))?;
            let running = Running(server);
            match stop {
                Some(stop) => stop.await,
                None => pending().await,
            }
            running.0.drain(grace).await;
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
