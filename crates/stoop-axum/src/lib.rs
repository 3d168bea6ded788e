//! axum applications on stoop's server, unchanged.
//!
//! [`serve`] takes the place of `axum::serve`:
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
//! places to listen in, limits of one's own, or a thread for each core:
//!
//! ```no_run
//! # use axum::{Router, routing::get};
//! # fn example(tls: stoop::ServerTls) -> Result<(), stoop::Error> {
//! let app = Router::new().route("/", get(|| async { "hello" }));
//! let server = stoop::Server::listen("https://[::]:443")?.tls(tls).run(stoop_axum::handler(app))?;
//! # server.join();
//! # Ok(()) }
//! ```
//!
//! `examples/app` is an application with JSON, server-sent events, a WebSocket, an upload and ranges; the tests open its
//! page in a browser, over HTTP/1.1 and HTTP/2.
//!
//! Extractors, middleware and layers work as they do under `axum::serve`, with these differences:
//!
//! - `ConnectInfo<SocketAddr>` is there without `into_make_service_with_connect_info`, which is not used. Over a Unix
//!   socket there is none. The [`ConnectionInfo`](stoop::ConnectionInfo) of stoop is an extension of every request.
//! - `WebSocketUpgrade`, and whatever else takes hyper's `OnUpgrade`, works over HTTP/1 and, with the feature `http2`
//!   (on by default), over HTTP/2.
//! - The URI of a request over HTTP/2 is its path and query; host and port are the Host field's, in every version.
//! - Limits are those of [`ServerLimits`](stoop::ServerLimits): a client that sends or reads too slowly is answered 408 or
//!   cut off.

#![forbid(unsafe_code)]
#![cfg_attr(
    not(test),
    forbid(clippy::disallowed_methods, clippy::print_stderr, clippy::print_stdout)
)]

mod serve;
mod service;
mod upgrade;
mod upgrade_io;

pub use serve::{Listen, Serve, Serving, serve};
pub use service::{AxumFuture, AxumHandler, AxumService, handler};
