//! Behaviours that go wrong over HTTP/2 alone, frame by frame.
//!
//! Each answers the requests of a connection one after the other. A client that does not begin as
//! one of HTTP/2 does (RFC 9113 §3.4) gets a good response, over HTTP/1.1.

mod connection;
mod frames;
mod kind;
mod script;

pub use kind::BadHttp2;

pub(crate) use frames::PREFACE;
pub(super) use script::serve_http2;
