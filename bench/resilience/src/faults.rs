//! Requests of which three in ten meet a fault: of each, whether it ends in its deadline, and as it must.
//!
//! The servers are one process and the client another, so that what the client leaves behind can be counted.

mod client;
mod http2;
mod servers;
mod sockets;

pub(crate) use client::fetch;
pub(crate) use servers::serve;
