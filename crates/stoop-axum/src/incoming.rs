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
/// The lifetime is there for axum's sake; it borrows nothing.
///
/// # No `io()`
///
/// axum lends a make-service the stream of its listener before HTTP is spoken on it. Here a make-service is called when a
/// request has come, and by then the stream is its connection's: that reads and writes it, speaks TLS on it, may have it on
/// another core, and over HTTP/2 serves other requests at the same time. To read or write it beside that would break
/// HTTP. What `io()` is mostly asked for is elsewhere:
///
/// | of axum's `io()` | here |
/// |---|---|
/// | `peer_addr()` | [`remote_addr`](Self::remote_addr) |
/// | the session of TLS, of a listener with TLS | [`connection`](Self::connection), which has it with the feature `tls` of `stoop` |
/// | the certificate of a client | the extension `stoop::tls::PeerCertificate` of the request |
/// | the name that a client has asked for by SNI | the extension `stoop::tls::ServerName` of the request |
/// | `set_nodelay(true)` | always set |
/// | `local_addr()` | [`Serve::local_addr`](crate::Serve::local_addr); a make-service for each place |
/// | `peer_cred()` of a Unix socket | no counterpart: let the permissions of its path say who may connect |
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

/// Applications that axum serves as they are: each makes itself.
macro_rules! makes_itself {
    ($($app:ty $(, $parameters:ident $(: $bound:ident)?)*;)*) => {$(
        impl<L: Listen $(, $parameters $(: $bound)?)*> Service<IncomingStream<'_, L>> for $app {
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
    )*};
}

makes_itself! {
    Router;
    MethodRouter;
    HandlerService<H, T, S>, H: Clone, T, S: Clone;
}
