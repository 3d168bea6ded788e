//! An asynchronous HTTP client and server: HTTP/1.0, HTTP/1.1 and HTTP/2, TLS, streaming both ways.
//!
//! - [`Client`] sends [`Request`]s over connections it keeps and shares.
//! - [`Server`] answers them by a [`Handler`]: any function from [`Request`] to a response.
//! - [`Body`] is the content of both, streamed with back-pressure.
//! - [`Error`] says what failed, where and whose fault it is.
//! - [`body`] has what content is made of, [`files`] what opens files below a directory, [`limits`] what bounds
//!   connections, [`dns`] what finds their addresses, `tls` (a feature, on by default) what secures them,
//!   [`handler`] what handlers are made of, [`rt`] what has to do with tokio's own types.
//! - [`guide`] has a page for each part of the client, and tables for those who come from reqwest, hyper-util or curl.
//!
//! ```
//! use stoop::{Client, Request, Response};
//!
//! async fn hello(request: Request) -> Response {
//!     Response::from_text(format!("hello from {}", request.path()))
//! }
//!
//! # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
//! // No socket in between: the same machines, over memory.
//! let client = Client::builder().handler(hello).build()?;
//! let response = client.get("http://anywhere/here").await?;
//! assert_eq!(response.into_body().bytes(1024).await?, "hello from /here");
//! # Ok::<(), stoop::Error>(()) }).unwrap();
//! ```

#![forbid(unsafe_code)]
// What ships never prints, exits or reads the environment; crates/clippy.toml lists the ways to.
#![cfg_attr(
    not(test),
    forbid(clippy::disallowed_methods, clippy::print_stderr, clippy::print_stdout)
)]

#[cfg(feature = "blocking")]
pub mod blocking;
pub mod body;
#[cfg(feature = "charset")]
mod charset;
mod client;
mod conn;
mod connection_info;
pub mod dns;
mod drain;
mod endpoint;
mod error;
pub mod files;
#[cfg(any(doc, doctest))]
pub mod guide;
pub mod handler;
mod header_map;
pub mod limits;
mod local;
mod network;
mod request;
mod response;
pub mod rt;
mod server;
#[cfg(feature = "testing")]
pub mod testing;
mod timings;
#[cfg(any(feature = "tls", feature = "tls-ring"))]
pub mod tls;
#[cfg(feature = "tower")]
mod tower_service;
#[cfg(feature = "tracing")]
mod trace_context;
mod turn;
mod upgrade;
mod url;
mod versions;

// Messages, and what goes wrong with them.
pub use body::{Body, BodyDropped, BodySender, IntoBody};
#[cfg(feature = "charset")]
pub use charset::Charset;
pub use error::{BoxError, Culprit, Error, ErrorKind, Phase};
pub use http::{Method, StatusCode, Version};
pub use request::{ConnectProtocol, InterimError, InterimSender, PastRedirect, Request};
pub use response::{ContentError, CutShort, HandlerError, IntoResponse, Response, SentResponse};
pub use stoop_proto::{
    CloseReason, Field, Fields, Misuse, RequestHead, ResponseHead, TargetForm, Violation,
    without_password,
};
pub use timings::Timings;

// The client.
#[cfg(feature = "cookies")]
pub use client::CookieJar;
#[cfg(feature = "json")]
pub use client::Resource;
pub use client::{
    Client, ClientBuilder, ClientEvent, ClientStats, ConnectTarget, ConnectionCounts,
    ConnectionStats, EventSource, FollowUp, Hsts, Netrc, Next, OriginStats, RedirectAction,
    RedirectAttempt, Redirects, RequestBuilder, Retries, RetryAction, RetryAttempt, RetryBudget,
    ServerEvent, Switch, Validators,
};
#[cfg(feature = "proxy")]
pub use client::{NoProxy, Proxies, Proxy};
pub use dns::Resolver;
pub use limits::{ClientLimits, ClientTime, PoolLimits};
#[cfg(any(feature = "tls", feature = "tls-ring"))]
pub use tls::ClientTls;

// The server.
pub use handler::{Answer, Handler, IntoHandler};
pub use limits::{ServerLimits, ServerTime, SheddingLimits};
pub use local::LocalServer;
pub use server::{
    Binding, DroppedHandler, HandlerPanic, ListenError, PauseReason, ProxyProtocol, RefusalReason,
    ResponseCounts, Server, ServerHandle, ServerStats, ServerTimeout, ServingEvent, ShedReason,
    TimeoutCounts,
};
#[cfg(any(feature = "tls", feature = "tls-ring"))]
pub use tls::ServerTls;
#[cfg(feature = "tower")]
pub use tower_service::{TowerFuture, TowerHandler, from_tower};

// Both.
pub use connection_info::ConnectionInfo;
pub use drain::{DrainHold, Draining};
pub use endpoint::{Address, Endpoint};
pub use network::Network;
#[cfg(feature = "tracing")]
pub use trace_context::{TraceContext, TraceParent};
pub use upgrade::{OnUpgrade, Upgraded};
pub use versions::Versions;
