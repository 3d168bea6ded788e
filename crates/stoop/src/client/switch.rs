//! [`Switch`]: the outcome of a request to switch protocols.

use crate::response::Response;
use crate::upgrade::Upgraded;

/// What a server makes of a request to switch protocols, which [`Client::switch`](crate::Client::switch)
/// sends.
#[derive(Debug)]
pub enum Switch {
    /// It has switched: the connection, or the stream over HTTP/2, is the caller's.
    Accepted(Upgraded),
    /// It has not: this is its response.
    Declined(Response),
}
