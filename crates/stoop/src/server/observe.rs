//! Methods of [`Server`] by which a caller is told what happens, and exempts requests from load shedding.

use std::net::SocketAddr;
use std::sync::Arc;

use stoop_proto::RequestHead;

use super::Server;
use super::events::ServingEvent;

impl Server {
    /// Calls `observer` with what happens to the connections, as it happens, and with the address of the client if it came
    /// over TCP. It is called on the thread of the connection, which it holds up: it should be quick, and not block. Called
    /// several times, all of them are. A panic in it is caught, and
    /// [counted](crate::ServerStats::observer_panics).
    ///
    /// Without an observer nothing is made for it. With one, each request has its method and path copied, so that
    /// [`ServingEvent::Panicked`] and [`ServingEvent::HandlerFailed`] have them. How often each thing has happened, [`ServerHandle::stats`](crate::ServerHandle::stats) tells without.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// use stoop::{Request, Server, ServingEvent};
    ///
    /// let server = Server::listen("127.0.0.1:0")?
    ///     .observe(|client, event| match event {
    ///         ServingEvent::Malformed { reason, .. } => println!("{client:?}: {reason}"),
    ///         ServingEvent::TimedOut { timeout, .. } => println!("{client:?}: {timeout}"),
    ///         ServingEvent::HandlerFailed { path, error, .. } => println!("{path}: {error}"),
    ///         ServingEvent::Panicked { path, message, .. } => println!("{path}: {message}"),
    ///         _ => {}
    ///     })
    ///     .run_here(|_: Request| "hello")?;
    /// # server.close().await;
    /// # Ok::<(), stoop::Error>(()) }).unwrap();
    /// ```
    pub fn observe(
        mut self,
        observer: impl Fn(Option<SocketAddr>, &ServingEvent<'_>) + Send + Sync + 'static,
    ) -> Self {
        self.observers.push(Box::new(observer));
        self
    }

    /// Requests for which `is_exempt` is true are never shed, whatever the [`SheddingLimits`](crate::limits::SheddingLimits)
    /// are: health checks, by which an overloaded server would be taken for a dead one. It is called only where a request
    /// is about to be shed. One that it panics at is shed, and [counted](crate::ServerStats::observer_panics).
    ///
    /// ```
    /// # fn example() -> Result<(), stoop::Error> {
    /// let server = stoop::Server::listen("127.0.0.1:0")?.never_shed(|head| head.path() == "/healthz");
    /// # Ok(()) }
    /// ```
    pub fn never_shed(
        mut self,
        is_exempt: impl Fn(&RequestHead) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.exempt = Some(Arc::new(is_exempt));
        self
    }
}
