//! HTTP/1.0, HTTP/1.1 and HTTP/2 as state machines without I/O: bytes in, events out.
//!
//! In scope: the messages and connections of RFC 9110, RFC 9112 (HTTP/1.0 and HTTP/1.1) and RFC 9113
//! (HTTP/2), in both roles; and [`hpack`], HTTP/2's compression of field lines (RFC 7541). Out of scope:
//! sockets, TLS, time, threads, URLs, redirects, cookies, content codings. A machine never blocks,
//! never reads a clock and never allocates without a limit of [`Limits`].
//!
//! A machine reads from the front of a slice that its caller owns and returns how much it consumed; it
//! writes through a [`Sink`]. Content is never copied here: an event names it as a span of the input.
//!
//! ```
//! use stoop_proto::{BodySize, Limits, RequestHead, ResponseParts, h1};
//!
//! let wire = b"GET /hello HTTP/1.1\r\nHost: example.com\r\n\r\n";
//! let (mut server, mut head) = (h1::Server::new(), RequestHead::default());
//! let received = server.receive(wire, &mut head, &Limits::server());
//! assert_eq!(received.event, h1::Event::Head { end: true });
//! assert_eq!(head.target(), "/hello");
//!
//! let mut out = Vec::new();
//! let answer = server.answer();
//! server.respond(answer, &ResponseParts::new(http::StatusCode::OK), BodySize::Exact(2), &mut out)?;
//! server.data("hi".into(), &mut out)?;
//! server.finish(None, &mut out)?;
//! assert_eq!(out, b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi");
//! # Ok::<(), stoop_proto::Misuse>(())
//! ```

#![forbid(unsafe_code)]
// What ships does no I/O, reads no clock and never waits; clippy.toml lists the ways to.
#![cfg_attr(
    not(test),
    forbid(
        clippy::disallowed_methods,
        clippy::disallowed_types,
        clippy::print_stderr,
        clippy::print_stdout
    )
)]

mod error;
mod fields;
mod grammar;
pub mod h1;
pub mod h2;
mod hidden;
pub mod hpack;
mod limits;
mod message;
mod persistence;
mod semantics;

pub use error::{Misuse, Violation};
pub use fields::{Field, Fields};
pub use grammar::TargetForm;
pub use hidden::without_password;
pub use limits::{FIELDS_CEILING, Http2Limits, Limits, Rate, after};
pub use message::{BodySize, RequestHead, ResponseHead, ResponseParts};
pub use persistence::CloseReason;

use bytes::Bytes;

/// The output of a machine: bytes to be sent, in order.
pub trait Sink {
    /// Appends a copy of `bytes`.
    fn put(&mut self, bytes: &[u8]);
    /// Appends `bytes`, without a copy where that is cheaper.
    fn share(&mut self, bytes: Bytes);
}

impl Sink for Vec<u8> {
    #[inline]
    fn put(&mut self, bytes: &[u8]) {
        self.extend_from_slice(bytes);
    }
    fn share(&mut self, bytes: Bytes) {
        self.extend_from_slice(&bytes);
    }
}
