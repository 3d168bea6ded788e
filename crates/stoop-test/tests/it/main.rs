//! Every test that spans crates or follows an RFC, as one program.
//!
//! - [`client`]: the client and scripted servers, in memory and over sockets
//! - [`server`]: the running server, in memory and over sockets
//! - [`rfc7541`]: HPACK, in the order of the RFC, and header blocks of other encoders
//! - [`rfc9112`]: HTTP/1.1, in the order of the RFC; test names are its sentences
//! - [`rfc9113`]: HTTP/2, in the order of the RFC
//! - [`accepted`]: messages as real programs send them, which must be read
//! - [`any_handler`]: a handler whose type is forgotten, so that fewer servers are compiled
//! - [`bodies`]: bodies that count what is asked of them, panic, or misstate their length
//! - [`limits`]: each limit at its value, one beyond it, and without a limit
//! - [`machines`]: short ways to drive one HTTP/1 machine
//! - [`origins`]: HTTP/2 servers of other projects, to test clients with
//! - [`programs`]: runs programs of other projects
//! - [`properties`]: properties of every message, checked with random ones
//! - [`refetch`]: what a run asks for that follows on an earlier one
//! - [`rfc9110`]: the HTTP semantics that a connection has to keep
//! - [`robots`]: robots.txt files, as another project's reader decides
//! - [`splitting`]: no value that a caller passes can split a message
//! - [`tables`]: every decision of the machines, compared with `goldens/`
//! - [`tunnels`]: a server's end of a tunnel that sends back in capitals what it receives
//! - [`corpora`]: collections of bad requests of other projects, if they are there
//! - [`websocket`]: our server, our client and tungstenite over sockets
//! - [`seeds`]: the fuzz targets, with the inputs that are checked in

#![forbid(unsafe_code)]

mod accepted;
mod any_handler;
mod archives;
mod bodies;
mod client;
mod corpora;
mod free_port;
mod limits;
mod machines;
mod origins;
mod parquet;
mod programs;
mod properties;
mod refetch;
mod rfc7541;
mod rfc9110;
mod rfc9112;
mod rfc9113;
mod robots;
mod seeds;
mod server;
mod splitting;
mod tables;
mod tunnels;
mod websocket;
