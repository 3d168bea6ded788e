//! The kit of the tests that span crates, and of those that follow the RFCs.
//!
//! - [`feed`]: one literal message, every way it can arrive
//! - [`frames`]: HTTP/2 frames as bytes, and as text
//! - [`pair`]: a client and a server over a wire that cuts as it likes
//! - [`peer`]: a peer that says what it is told to, byte for byte
//! - [`http2`]: a client of HTTP/2 that decides nothing
//! - [`golden`]: a text to compare with a file that is checked in
//! - [`random`]: numbers that are the same in every run
//!
//! The tests are in `tests/it`, whose `main.rs` lists them.

#![forbid(unsafe_code)]

pub mod feed;
pub mod frames;
pub mod golden;
pub mod http2;
pub mod pair;
pub mod peer;
pub mod random;
