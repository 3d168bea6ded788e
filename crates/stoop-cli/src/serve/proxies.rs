//! Where proxies are whose word on the client is taken.

use std::str::FromStr;

use stoop::Network;

/// Where a proxy is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TrustedProxy {
    In(Network),
    /// At the other end of a Unix socket.
    Unix,
}

impl FromStr for TrustedProxy {
    type Err = stoop::Error;

    fn from_str(text: &str) -> Result<Self, stoop::Error> {
        match text {
            "unix" => Ok(Self::Unix),
            network => network.parse().map(Self::In),
        }
    }
}
