//! [`IncomingStream`]: what a make-service is called with, and the applications of axum as make-services.

use std::convert::Infallible;
use std::fmt;
use std::future::{Ready, ready};
use std::marker::PhantomData;
use std::net::SocketAddr;
use std::task::{Context, Poll};

use axum::Router;
use axum::extract::connect_info::Connected;
use axum::handler::HandlerService;
use axum::routing::MethodRouter;
use stoop::{Binding, ConnectionInfo};
use tower_service::Service;

use crate::listen::Listen;

/// The connection that a make-service is called with, in place of `axum::serve::IncomingStream`, which no other
/// crate can make: with [`serve`](crate::serve) of the listener `L`, with
/// [`make_handler`](crate::make_handler) of a [`Binding`].
///
/// An implementation of axum's `Connected` that was written for the stream of axum is one for this by its import:
///
/// ```
/// use std::net::SocketAddr;
///
/// use axum::extract::connect_info::Connected;
/// use stoop_axum::IncomingStream; // It was `axum::serve::IncomingStream`.
/// use tokio::net::TcpListener;
///
/// #[derive(Clone)]
/// struct Peer(SocketAddr);
///
/// impl Connected<IncomingStream<'_, TcpListener>> for Peer {
///     fn connect_info(stream: IncomingStream<'_, TcpListener>) -> Self {
///         Peer(*stream.remote_addr())
///     }
/// }
/// # async fn example(app: axum::Router, listener: TcpListener) -> std::io::Result<()> {
/// stoop_axum::serve(listener, app.into_make_service_with_connect_info::<Peer>()).await
/// # }
/// ```
///
/// There is no `io()`: the socket is the server's. What else is known of the connection is its
/// [`connection`](Self::connection). The lifetime is there for axum's sake; it borrows nothing.
pub struct IncomingStream<'a, L: Listen = Binding> {
    connection: Option<ConnectionInfo>,
    remote_addr: L::Addr,
    lifetime: PhantomData<&'a ()>,
}

impl<L: Listen> IncomingStream<'_, L> {
    pub(crate) fn new(connection: Option<ConnectionInfo>) -> Self {
        let remote_addr = L::remote_addr(connection.as_ref());
        Self { connection, remote_addr, lifetime: PhantomData }
    }

    /// The address of the client.
    pub fn remote_addr(&self) -> &L::Addr {
        &self.remote_addr
    }

    /// What is known of the connection, such as the session of TLS. `None` where a
    /// [`Client`](stoop::ClientBuilder::handler) calls the application, without a connection.
    pub fn connection(&self) -> Option<&ConnectionInfo> {
        self.connection.as_ref()
    }
}

impl<L: Listen> fmt::Debug for IncomingStream<'_, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IncomingStream").field("remote_addr", &self.remote_addr).finish()
    }
}

/// The address of a client over TCP.
impl<L: Listen<Addr = SocketAddr>> Connected<IncomingStream<'_, L>> for SocketAddr {
    fn connect_info(stream: IncomingStream<'_, L>) -> Self {
        stream.remote_addr
    }
}

impl<L: Listen> Service<IncomingStream<'_, L>> for Router {
    type Response = Self;
    type Error = Infallible;
    type Future = Ready<Result<Self, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: IncomingStream<'_, L>) -> Self::Future {
        ready(Ok(self.clone()))
    }
}

impl<L: Listen> Service<IncomingStream<'_, L>> for MethodRouter {
    type Response = Self;
    type Error = Infallible;
    type Future = Ready<Result<Self, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: IncomingStream<'_, L>) -> Self::Future {
        ready(Ok(self.clone()))
    }
}

impl<L: Listen, H: Clone, T, S: Clone> Service<IncomingStream<'_, L>> for HandlerService<H, T, S> {
    type Response = Self;
    type Error = Infallible;
    type Future = Ready<Result<Self, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: IncomingStream<'_, L>) -> Self::Future {
        ready(Ok(self.clone()))
    }
}
