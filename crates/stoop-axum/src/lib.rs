//! axum applications on stoop's server, unchanged.
//!
//! [`serve`] takes the place of `axum::serve`, and takes what that takes:
//!
//! ```no_run
//! use axum::{Router, routing::get};
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let app = Router::new().route("/", get(|| async { "hello" }));
//! let listener = tokio::net::TcpListener::bind("127.0.0.1:3000").await?;
//! stoop_axum::serve(listener, app).await?;
//! # Ok(()) }
//! ```
//!
//! [`handler`] makes an application a [handler](stoop::Handler), for a [`Server`](stoop::Server) with TLS, several
//! places to listen in, or a thread for each core. [`server_limits`] are those of [`serve`]: without them a
//! WebSocket opens over HTTP/1 alone, and a handler whose client has closed its connection runs on.
//!
//! ```no_run
//! # use axum::{Router, routing::get};
//! # fn example(tls: stoop::ServerTls) -> Result<(), stoop::Error> {
//! let app = Router::new().route("/", get(|| async { "hello" }));
//! let server = stoop::Server::listen("https://[::]:443")?
//!     .tls(tls)
//!     .limits(stoop_axum::server_limits())
//!     .run(stoop_axum::handler(app))?;
//! # server.join();
//! # Ok(()) }
//! ```
//!
//! `examples/app` is an application with JSON, server-sent events, a WebSocket, an upload and ranges; the tests open its
//! page in a browser, over HTTP/1.1 and HTTP/2.
//!
//! # From `axum::serve`
//!
//! | with axum's server | here |
//! |---|---|
//! | `axum::serve(listener, app)`, also of `MethodRouter`, of a handler with its state, of layered services by `into_make_service()` | [`serve(listener, app)`](serve) |
//! | `app.into_make_service_with_connect_info::<SocketAddr>()` | the same; or `app` alone, as `ConnectInfo<SocketAddr>` is there over TCP |
//! | `impl Connected<IncomingStream<'_, TcpListener>> for T` | the same, with `use stoop_axum::IncomingStream` ([`IncomingStream`] tells why) |
//! | `with_graceful_shutdown(signal)`, `local_addr()` | the same; what runs is cut off after [`grace`](Serve::grace) |
//! | `listener.tap_io(\|io\| io.set_nodelay(true))` | not needed; other options of sockets are set on the listener |
//! | a listener of one's own (`impl axum::serve::Listener`) | [`stoop::rt::serve`] for each connection, with [`handler`] |
//! | TLS by another crate | [`serve`] of a [`Binding`](stoop::Binding) with TLS, or a [`Server`](stoop::Server) |
//! | `axum::extract::ws::WebSocketUpgrade` | the same; or [`WebSocketUpgrade`], of `stoop-websocket`, with permessage-deflate |
//! | middleware of `stoop-web`: its access log, figures, status page, trusted proxies | `stoop_web::Router::new().layer(log).fallback(stoop_axum::handler(app))`, for a [`Server`](stoop::Server) |
//! | `hyper_util::server::conn::auto::Builder` | [`ServerLimits`](stoop::ServerLimits), by [`Serve::limits`] or [`Server::limits`](stoop::Server::limits) |
//!
//! # Differences
//!
//! Extractors, middleware and layers work as they do under `axum::serve`, with these differences:
//!
//! - Over a Unix socket there is no `ConnectInfo`, unless the application asks for one of its own. The
//!   [`ConnectionInfo`](stoop::ConnectionInfo) of stoop, with the session of TLS, is an extension of every request; over TLS so
//!   are the name that the client has asked for (`stoop::tls::ServerName`) and its certificate (`stoop::tls::PeerCertificate`).
//! - A make-service is called for each request, and not once for each connection. Those of axum do nothing by which that
//!   could be noticed.
//! - `WebSocketUpgrade`, and whatever else takes hyper's `OnUpgrade`, works over HTTP/1 and, with the feature `http2`
//!   (on by default) and [`server_limits`], over HTTP/2.
//! - The URI of a request over HTTP/2 is its path and query; host and port are the Host field's, in every version.
//! - Limits are those of [`ServerLimits`](stoop::ServerLimits): a client that sends or reads too slowly is answered 408 or
//!   cut off.
//! - A handler that panics is answered 500, where hyper breaks off the connection.
//! - An error of a service, or of content while it is sent, is told to [`Server::observe`](stoop::Server::observe), with its text.
//!   A handler that answers an error by a response of its own has it told too: by a [`HandlerError`](stoop::HandlerError)
//!   among the response's extensions.
//! - A graceful shutdown ends at the latest after its [`grace`](Serve::grace), also if streams have no end. Handlers learn of
//!   it by the extractor [`Draining`]; middleware and services of tower by
//!   [`ConnectionInfo::draining`](stoop::ConnectionInfo::draining).
//! - 103 (Early Hints) is sent by the extension [`InterimSender`](stoop::InterimSender), where
//!   [`interim_responses_max`](stoop::ServerLimits::interim_responses_max) allows it.
//! - A handler learns when its response was sent by [`on_sent`](stoop::Response::on_sent) of a [`Response`](stoop::Response)
//!   that it makes an `http::Response`, or one of `http` that it makes a `Response` and back.
//!
//! # Features
//!
//! `http2` and `websocket` are on by default: upgrades over HTTP/2 for axum's `WebSocketUpgrade`, and the
//! [`WebSocketUpgrade`] of this crate, over both versions.

#![forbid(unsafe_code)]
#![cfg_attr(
    not(test),
    forbid(clippy::disallowed_methods, clippy::print_stderr, clippy::print_stdout)
)]

/// The example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

mod draining;
mod incoming;
mod listen;
mod make_service;
mod serve;
mod service;
mod upgrade;
mod upgrade_io;
#[cfg(feature = "websocket")]
mod websocket;

pub use draining::Draining;
pub use incoming::IncomingStream;
pub use listen::Listen;
pub use make_service::{MakeFuture, MakeService, make_handler};
pub use serve::{Serve, Serving, serve, server_limits};
pub use service::{AxumFuture, AxumHandler, AxumService, handler};
#[cfg(feature = "websocket")]
pub use stoop_websocket;
#[cfg(feature = "websocket")]
pub use websocket::{WebSocketRejection, WebSocketUpgrade};
