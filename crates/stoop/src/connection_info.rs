//! The connection that a response came over.

use std::net::SocketAddr;

use http::Version;
#[cfg(any(feature = "tls", feature = "tls-ring"))]
use stoop_io::TlsSession;

/// The connection that a response came over: [`Response::connection`](crate::Response::connection).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConnectionInfo {
    pub(crate) remote: Option<SocketAddr>,
    pub(crate) version: Version,
    pub(crate) is_reused: bool,
    #[cfg(any(feature = "tls", feature = "tls-ring"))]
    pub(crate) tls: Option<TlsSession>,
}

impl ConnectionInfo {
    /// The address of the server, if it came over TCP. Through a tunnel or a proxy it is theirs.
    pub fn remote_address(&self) -> Option<SocketAddr> {
        self.remote
    }

    /// The version of HTTP that the server speaks.
    pub fn version(&self) -> Version {
        self.version
    }

    /// Whether the connection had served before, or other exchanges share it.
    pub fn is_reused(&self) -> bool {
        self.is_reused
    }

    /// What TLS has agreed on, over TLS.
    #[cfg(any(feature = "tls", feature = "tls-ring"))]
    pub fn tls(&self) -> Option<TlsSession> {
        self.tls
    }
}
