//! WebSocket for stoop, in both roles: RFC 6455 over HTTP/1.1, RFC 8441 over HTTP/2, permessage-deflate (RFC 7692).
//!
//! - [`accept`] opens a WebSocket in a handler of [`stoop::Server`], [`ServerHandshake`] on one's own terms; in a handler
//!   of axum the extractor `WebSocketUpgrade` of `stoop-axum` does.
//! - [`connect`] opens one with a [`stoop::Client`], [`ClientHandshake`] on one's own terms.
//! - [`WebSocket`] receives and sends [`Message`]s, over any stream of tokio's; [`WebSocket::split`] is for two tasks.
//! - [`Limits`] bounds what a peer may send, what waits for it, and how long it may be silent or take nothing.
//! - [`Deflate`] is what an end wants of compression.
//! - [`Error`] says what failed and whose fault it is, [`Fault`] what a peer did against the RFCs.
//! - [`machine`] is the protocol without I/O.
//! - [`guide`] has a page on WebSockets in a router of `stoop-web`.
//!
//! What it costs: a message is copied once when it is received, and a large binary one is read into its own memory. A
//! server sends large messages from where they are. A peer that sends without end has a quarter of a millisecond at a
//! time; then the other tasks of the thread have their turns. A connection holds, beside its stream:
//!
//! | while | memory | bounded by |
//! |---|---|---|
//! | it waits | its state, less than a KiB, and a timer; no buffer and no compressor | |
//! | a message has begun | what has come of it, up to twice that while it grows | [`message_bytes_max`](Limits::message_bytes_max), 16 MiB, for [`message_timeout`](Limits::message_timeout), 60 s |
//! | that is compressed | the same and a window of 48 KiB | [`inflated_message_bytes_max`](Limits::inflated_message_bytes_max), 1 MiB, for as long |
//! | messages came together | those that were not asked for yet, as they came | 64 KiB |
//! | the peer does not read | what is to be sent, and a timer | [`write_buffer_bytes_max`](Limits::write_buffer_bytes_max), 1 MiB, and one message, for [`send_timeout`](Limits::send_timeout), 30 s |
//! | [`Deflate`] keeps its context | 48 KiB for what is received, 320 KiB for what is sent | `Deflate`'s window sizes |
//!
//! So peers that mean harm take 16 MiB per connection, each for a minute: where messages are small,
//! [`message_bytes_max`](Limits::message_bytes_max) should say so.
//!
//! What it leaves out: messages that are handed on before they are complete, and other extensions.
//!
//! ```
//! use stoop::{Client, Request, Response};
//! use stoop_websocket::{CloseCode, Message, accept, connect};
//!
//! fn shout(request: Request) -> Response {
//!     accept(&request, |mut socket| async move {
//!         while let Ok(Some(Message::Text(text))) = socket.recv().await {
//!             if socket.send_text(&text.to_uppercase()).await.is_err() {
//!                 return;
//!             }
//!         }
//!     })
//! }
//!
//! # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
//! let client = Client::builder().handler(shout).build()?;
//! let mut socket = connect(&client, "ws://anywhere/").await?;
//! socket.send_text("hello").await?;
//! assert_eq!(socket.recv().await?, Some(Message::from("HELLO")));
//! socket.close(CloseCode::NORMAL, "").await?;
//! # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
//! ```

#![forbid(unsafe_code)]
// What ships never prints, exits or reads the environment; crates/clippy.toml lists the ways to.
#![cfg_attr(
    not(test),
    forbid(clippy::disallowed_methods, clippy::print_stderr, clippy::print_stdout)
)]

/// The example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

mod error;
mod grammar;
// Its examples use stoop-web too, which this crate does not depend on: stoop-test runs them.
#[cfg(all(doc, not(doctest)))]
pub mod guide;
mod handshake;
mod keys;
mod limits;
pub mod machine;
mod message;
mod socket;

pub use error::Error;
pub use handshake::{
    AnswerFault, ClientHandshake, ConnectError, Origins, PendingWebSocket, Refusal,
    ServerHandshake, accept, connect,
};
pub use limits::Limits;
pub use machine::{AgreedDeflate, CloseCode, CloseReason, Deflate, Event, Fault, NotAgreed};
pub use message::{Message, MessageKind, Misuse};
pub use socket::{MessageReceiver, MessageSender, WebSocket};
