//! Every test that spans crates or follows an RFC, as one program.
//!
//! - [`server`]: the running server, over memory and over sockets
//! - [`rfc9112`]: HTTP/1.1, in the order of the RFC; test names are its sentences

#![forbid(unsafe_code)]

mod rfc9112;
mod server;
