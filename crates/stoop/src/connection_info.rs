//! The connection that a message came over.

use std::net::SocketAddr;

use http::Version;
#[cfg(any(feature = "tls", feature = "tls-ring"))]
use stoop_io::TlsSession;

/// Bytes of HTTP that a connection has carried in all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CarriedBytes {
    pub(crate) sent: u64,
    pub(crate) received: u64,
}

/// What the requests of one connection of a server have in common, where it is more than an address.
#[derive(Debug, Default)]
pub(crate) struct ConnectionFacts {
    #[cfg(any(feature = "tls", feature = "tls-ring"))]
    pub(crate) tls: Option<TlsSession>,
}

/// The connection that a message came over: [`Response::connection`](crate::Response::connection) of a client,
/// [`Request::connection`](crate::Request::connection) of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConnectionInfo {
    pub(crate) remote: Option<SocketAddr>,
    pub(crate) version: Version,
    pub(crate) is_reused: bool,
    pub(crate) carried: CarriedBytes,
    #[cfg(any(feature = "tls", feature = "tls-ring"))]
    pub(crate) tls: Option<TlsSession>,
}

impl ConnectionInfo {
    /// The address of the peer, if it came over TCP. Through a tunnel or a proxy it is theirs.
    pub fn remote_address(&self) -> Option<SocketAddr> {
        self.remote
    }

    /// The version of HTTP that the peer speaks.
    pub fn version(&self) -> Version {
        self.version
    }

    /// Whether the connection had served before, or other exchanges share it.
    pub fn is_reused(&self) -> bool {
        self.is_reused
    }

    /// Bytes of HTTP that this connection had sent when the head of the message had come: heads and content,
    /// of exchanges before it and beside it too, and without what TLS adds.
    pub fn bytes_sent(&self) -> u64 {
        self.carried.sent
    }

    /// Bytes of HTTP that this connection had received when the head of the message had come, counted like
    /// [`bytes_sent`](Self::bytes_sent). Content that came with the head is among them; how long content is in all,
    /// [`Body::wire_bytes`](crate::Body::wire_bytes) tells where it is decoded.
    pub fn bytes_received(&self) -> u64 {
        self.carried.received
    }

    /// What TLS has agreed on, over TLS.
    #[cfg(any(feature = "tls", feature = "tls-ring"))]
    pub fn tls(&self) -> Option<TlsSession> {
        self.tls
    }
}
