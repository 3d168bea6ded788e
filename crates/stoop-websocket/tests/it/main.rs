//! The machine and the socket, in the order of the RFCs; test names are their sentences.
//!
//! - [`deflate_ends`]: where a compressed message ends
//! - [`deflate_walk`]: the same by a reader of DEFLATE bit by bit
//! - [`handshake`]: RFC 6455 §4, in both roles
//! - [`rfc6455`]: framing, messages, closing
//! - [`rfc7692`]: permessage-deflate, negotiation and messages
//! - [`socket`]: the socket over streams in memory, with a paused clock
//! - [`stalls`]: peers that take nothing of what is sent
//! - [`turns`]: what a peer takes of a thread's time, and for how long of its memory

#![forbid(unsafe_code)]

mod deflate_ends;
mod deflate_walk;
mod handshake;
mod kit;
mod rfc6455;
mod rfc7692;
mod socket;
mod stalls;
mod turns;
