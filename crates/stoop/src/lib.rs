//! An asynchronous HTTP client and server: HTTP/1.0, HTTP/1.1 and HTTP/2, TLS, streaming both ways.
//!
//! - [`Client`] sends [`Request`]s over connections it keeps and shares.
//! - [`Server`] answers them by a [`Handler`]: any function from [`Request`] to a response.
//! - [`Body`] is the content of both, streamed with back-pressure.
//! - [`Error`] says what failed, where and whose fault it is.
//!
//! ```
//! use stoop::{Client, Request, Response};
//!
//! async fn hello(request: Request) -> Response {
//!     Response::text(format!("hello from {}", request.path()))
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

mod body;
mod client;
mod conn;
mod endpoint;
mod error;
mod handler;
mod header_map;
mod limits;
mod local;
mod request;
mod response;
mod server;
mod timings;
mod upgrade;
mod url;
mod versions;

pub mod tokio;

pub use body::{Body, BodySender, BoxError, Unwanted};
pub use client::{Client, ClientBuilder, Redirects};
pub use endpoint::{Address, Endpoint};
pub use error::{Culprit, Error, ErrorKind, Phase};
pub use handler::{Answer, Async, AsyncHandler, Handler, IntoHandler, Itself, Plain, PlainHandler};
pub use limits::{ClientLimits, ClientTime, PoolLimits, ServerLimits, ServerTime};
pub use request::Request;
pub use response::{IntoResponse, Response};
pub use server::{ListenError, Server, ServerHandle};
pub use stoop_io::Resolver;
#[cfg(any(feature = "tls", feature = "tls-ring"))]
pub use stoop_io::{ClientTls, ServerTls, TlsConfigError};
pub use stoop_proto::{
    Field, Fields, Limits as WireLimits, Misuse, RequestHead, ResponseHead, without_password,
};
pub use timings::Timings;
pub use upgrade::{OnUpgrade, Upgraded};
pub use versions::Versions;

pub use http::{Method, StatusCode, Version};

/// The README's examples are compiled with the documentation's.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
