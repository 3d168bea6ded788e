//! Every test that spans crates or follows an RFC, as one program.
//!
//! - [`client`]: the client against scripted peers, over memory and over sockets
//! - [`server`]: the running server, over memory and over sockets
//! - [`rfc7541`]: HPACK, in the order of the RFC, and what other encoders write
//! - [`rfc9112`]: HTTP/1.1, in the order of the RFC; test names are its sentences
//! - [`rfc9113`]: HTTP/2, in the order of the RFC
//! - [`accepted`]: what real programs send must be read
//! - [`limits`]: each limit at its value, one beyond, and without
//! - [`machines`]: short ways to drive one machine
//! - [`origins`]: servers of HTTP/2 that others wrote, for clients to be tested with
//! - [`programs`]: how the tests talk to programs that others wrote
//! - [`properties`]: what holds for every message, by way of many
//! - [`rfc9110`]: what of HTTP's semantics a connection has to keep
//! - [`splitting`]: nothing a caller passes can split a message
//! - [`tables`]: every decision of the machines, compared with `goldens/`
//! - [`corpora`]: other projects' bad requests, if they are at hand
//! - [`seeds`]: the fuzz targets, over the inputs that are checked in

#![forbid(unsafe_code)]

mod accepted;
mod bodies;
mod client;
mod corpora;
mod limits;
mod machines;
mod origins;
mod programs;
mod properties;
mod rfc7541;
mod rfc9110;
mod rfc9112;
mod rfc9113;
mod seeds;
mod server;
mod splitting;
mod tables;
