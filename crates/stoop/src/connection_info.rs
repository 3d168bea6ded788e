//! The connection that a message came over.

use std::net::SocketAddr;
use std::sync::Arc;

use http::Version;
use stoop_io::PeerAddress;
#[cfg(any(feature = "tls", feature = "tls-ring"))]
use stoop_io::{PeerCertificate, TlsSession};

use crate::drain::{DrainNumber, DrainState, Draining};

/// Bytes of HTTP that a connection has carried in all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CarriedBytes {
    pub(crate) sent: u64,
    pub(crate) received: u64,
}

/// What the requests of one connection of a server have in common, where it is more than an address. Small, because an
/// idle connection may keep one of its own.
#[derive(Clone, Default)]
pub(crate) struct ConnectionFacts {
    /// How its server tells of its end.
    pub(crate) drain: Option<Arc<DrainState>>,
    /// The other end of the socket, where a proxy there has named the client.
    pub(crate) proxy: Option<Box<PeerAddress>>,
    #[cfg(any(feature = "tls", feature = "tls-ring"))]
    pub(crate) tls: Option<Box<TlsFacts>>,
}

impl ConnectionFacts {
    pub(crate) fn new(drain: Arc<DrainState>, proxy: Option<PeerAddress>) -> Self {
        Self {
            drain: Some(drain),
            proxy: proxy.map(Box::new),
            #[cfg(any(feature = "tls", feature = "tls-ring"))]
            tls: None,
        }
    }
}

/// What a TLS handshake has told a server.
#[cfg(any(feature = "tls", feature = "tls-ring"))]
#[derive(Clone)]
pub(crate) struct TlsFacts {
    pub(crate) session: Option<TlsSession>,
    /// The name that the client has asked for by SNI.
    pub(crate) server_name: Option<ServerName>,
    pub(crate) client_certificate: Option<PeerCertificate>,
}

/// The name of the server that a client has asked for in the TLS handshake, as an extension of an `http::Request`:
/// [`Request::server_name`](crate::Request::server_name) for services of tower and applications of axum.
///
/// ```
/// use stoop::Body;
/// use stoop::tls::ServerName;
///
/// fn tenant(request: &http::Request<Body>) -> &str {
///     request.extensions().get::<ServerName>().map_or("default", ServerName::as_str)
/// }
/// ```
#[cfg(any(feature = "tls", feature = "tls-ring"))]
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ServerName(Arc<str>);

#[cfg(any(feature = "tls", feature = "tls-ring"))]
impl ServerName {
    pub(crate) fn new(name: &str) -> Self {
        Self(name.into())
    }

    /// The name, in lower case.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

#[cfg(any(feature = "tls", feature = "tls-ring"))]
impl std::fmt::Display for ServerName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// The connection that a message came over: [`Response::connection`](crate::Response::connection) of a client,
/// [`Request::connection`](crate::Request::connection) of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConnectionInfo {
    pub(crate) remote: Option<SocketAddr>,
    pub(crate) proxy: Option<PeerAddress>,
    pub(crate) version: Version,
    pub(crate) is_reused: bool,
    pub(crate) carried: CarriedBytes,
    /// The server that it is one of.
    pub(crate) drain: Option<DrainNumber>,
    #[cfg(any(feature = "tls", feature = "tls-ring"))]
    pub(crate) tls: Option<TlsSession>,
}

impl ConnectionInfo {
    /// The address of the peer, if it came over TCP. Through a tunnel or a proxy it is theirs.
    pub fn remote_address(&self) -> Option<SocketAddr> {
        self.remote
    }

    /// The other end of the socket, if the [PROXY protocol](crate::Binding::proxy_protocol) is spoken there and it has
    /// named the client, which is the [`remote_address`](Self::remote_address) then. Of a proxy that came over a Unix
    /// socket it is none either.
    pub fn proxy_address(&self) -> Option<SocketAddr> {
        self.proxy?.inet()
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

    /// A future that is done once the server drains whose connection it is, as
    /// [`Request::draining`](crate::Request::draining): for what has no request of ours, such as a service of tower, whose
    /// requests have this as an extension. That of a client's connection never ends.
    pub fn draining(&self) -> Draining {
        Draining::new(self.drain.map(DrainState::of))
    }

    /// Whether the connection is over TLS; without the features `tls` and `tls-ring` none is. A proxy in front of a server may
    /// have ended that of the client.
    pub fn is_secure(&self) -> bool {
        #[cfg(any(feature = "tls", feature = "tls-ring"))]
        return self.tls.is_some();
        #[cfg(not(any(feature = "tls", feature = "tls-ring")))]
        false
    }

    /// What TLS has agreed on, over TLS.
    #[cfg(any(feature = "tls", feature = "tls-ring"))]
    pub fn tls(&self) -> Option<TlsSession> {
        self.tls
    }
}
