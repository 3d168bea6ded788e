//! The PROXY protocol, versions 1 and 2: how a proxy tells whose connection it passes on.
//!
//! Written by HAProxy's specification (`doc/proxy-protocol.txt` of 2020/03/05), whose sections the comments name. What
//! is left out: the sending side, and what the TLVs of version 2 say, but for the checksum.

mod checksum;
mod parsed;
mod policy;
mod reading;
mod v1;
mod v2;

use parsed::Parsed;
pub(in crate::server) use policy::HeaderClaim;
pub use policy::ProxyProtocol;
pub(in crate::server) use reading::{HeaderReader, HeaderResult};

/// Reads a header of either version at the front of `received`, which may go on with anything (§2).
fn parse(received: &[u8]) -> Parsed {
    let begins = |signature: &[u8]| {
        let both = signature.len().min(received.len());
        signature[..both] == received[..both]
    };
    if begins(v2::SIGNATURE) {
        v2::parse(received)
    } else if begins(v1::SIGNATURE) {
        v1::parse(received)
    } else {
        Parsed::Malformed
    }
}

#[cfg(test)]
mod tests;
