//! The machine and the socket, in the order of the RFCs; test names are their sentences.
//!
//! - [`handshake`]: RFC 6455 §4, in both roles
//! - [`rfc6455`]: framing, messages, closing
//! - [`rfc7692`]: permessage-deflate, negotiation and messages
//! - [`socket`]: the socket over streams in memory, with a paused clock
//! - [`stalls`]: peers that take nothing of what is sent
//! - [`turns`]: what a peer takes of a thread's time, and for how long of its memory

#![forbid(unsafe_code)]

mod handshake;
mod kit;
mod rfc6455;
mod rfc7692;
mod socket;
mod stalls;
mod turns;
