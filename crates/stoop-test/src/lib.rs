//! Helpers for the tests that span crates and for those that follow the RFCs.
//!
//! - [`feed`]: feeds a machine one message in every way it can arrive
//! - [`frames`]: HTTP/2 frames as bytes and as text
//! - [`pair`]: the HTTP/1 machines of a client and a server, which exchange random messages
//! - [`peer`]: a client over HTTP/1 that sends the bytes a test gives it and reads responses
//! - [`http2`]: a client over HTTP/2 that a test drives step by step
//! - [`golden`]: compares a text with a file that is checked in
//! - [`random`]: random numbers that are the same in every run
//!
//! The tests are in `tests/it`, whose `main.rs` lists them.

#![forbid(unsafe_code)]

/// Examples of the guide of `stoop-websocket` that need `stoop-web` as well: neither crate depends on the other.
#[cfg(doctest)]
#[doc = include_str!("../../stoop-websocket/docs/router.md")]
struct WebSocketsInRouters;

pub mod feed;
pub mod frames;
pub mod golden;
pub mod http2;
pub mod pair;
pub mod peer;
pub mod random;
