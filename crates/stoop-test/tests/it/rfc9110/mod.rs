//! The HTTP semantics that a connection has to keep, in the order of RFC 9110.

mod connect;
pub(crate) mod content_length;
mod expect;
mod interim;
mod no_content;
mod trailers;
mod upgrade;
