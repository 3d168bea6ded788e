//! [`ProxyProtocol`]: which peers are believed to be proxies, and what becomes of others.

use stoop_io::PeerAddress;

use crate::network::Network;

/// Which connections of a [`Binding`](crate::Binding) begin with a header of the PROXY protocol, version 1 or 2, by which
/// a proxy tells the address of the client: HAProxy's `send-proxy` and `send-proxy-v2`, and what load balancers of clouds
/// have of it.
///
/// The header comes before TLS. It must have come whole within [`ServerTime::head`](crate::ServerTime::head), and
/// have 4096 bytes at most; a connection without one, or with a malformed one, is closed without a word,
/// [counted](crate::ServerHandle::proxy_refusals), and told as [refused](crate::RefusalReason). Handlers then see the
/// client's address as [`Request::remote_address`](crate::Request::remote_address), and the proxy's as
/// [`ConnectionInfo::proxy_address`](crate::ConnectionInfo::proxy_address). A header that names no client, `LOCAL` or
/// `UNKNOWN` or one of another family, leaves the proxy's address in place. What else version 2 has in TLVs is read
/// past, but for its checksum, which has to be right.
///
/// ```
/// use stoop::{Binding, ProxyProtocol, Server};
///
/// let behind = ProxyProtocol::from_networks(["10.0.0.0/8".parse()?]);
/// let binding = Binding::new("127.0.0.1:0")?.proxy_protocol(behind);
/// let server = Server::listen(binding)?;
/// # Ok::<(), stoop::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct ProxyProtocol {
    trusted: Vec<Network>,
    admits_others: bool,
}

impl ProxyProtocol {
    /// Every connection comes from a proxy in one of these networks, or over a Unix socket, and begins with a header;
    /// others are closed.
    pub fn from_networks(trusted: impl IntoIterator<Item = Network>) -> Self {
        Self { trusted: trusted.into_iter().collect(), admits_others: false }
    }

    /// Whether connections from elsewhere are served too, without a header: one that they send all the same is no
    /// header to them, and no HTTP either. Default: false.
    ///
    /// Whether a header is there is never guessed from the bytes, which the protocol forbids: a client could name any
    /// address.
    pub fn admit_others(mut self, admitted: bool) -> Self {
        self.admits_others = admitted;
        self
    }

    pub(in crate::server) fn claim(&self, peer: PeerAddress) -> HeaderClaim {
        let is_trusted = match peer {
            PeerAddress::Inet(address) => {
                self.trusted.iter().any(|network| network.contains(address.ip()))
            }
            PeerAddress::Unix | PeerAddress::Memory => true,
        };
        match (is_trusted, self.admits_others) {
            (true, _) => HeaderClaim::Required,
            (false, true) => HeaderClaim::Absent,
            (false, false) => HeaderClaim::Refused,
        }
    }
}

/// What a connection has to begin with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::server) enum HeaderClaim {
    Required,
    Absent,
    /// Nothing that it could begin with would be believed.
    Refused,
}
