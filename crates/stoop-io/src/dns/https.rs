//! HTTPS records: what a zone says of how its https server is reached (RFC 9460).

use std::net::{Ipv4Addr, Ipv6Addr};

/// A record of type HTTPS (65), RFC 9460 §9: [`Resolver::https_records`](crate::Resolver::https_records).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HttpsRecord {
    /// AliasMode (§2.4.2, priority 0): what is asked for is found at another name.
    Alias {
        /// That name, without the root's dot. None: the service is not available (§2.5.1).
        target: Option<String>,
    },
    /// ServiceMode (§2.4.3): one way to reach the service.
    Service(HttpsService),
}

impl HttpsRecord {
    /// SvcPriority: less is better, and 0 is an alias.
    pub fn priority(&self) -> u16 {
        match self {
            Self::Alias { .. } => 0,
            Self::Service(service) => service.priority,
        }
    }
}

/// One way to reach a service: an [`HttpsRecord`] in ServiceMode. What a record does not say is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct HttpsService {
    /// SvcPriority, from 1: less is better.
    pub priority: u16,
    /// The name whose addresses serve, without the root's dot: that of the record itself if it names no
    /// other (§2.5.2).
    pub target: String,
    /// `alpn`: the protocols that are spoken beside the default one, `http/1.1` (§7.1).
    pub alpn: Vec<String>,
    /// `no-default-alpn`: the default one is not spoken (§7.1).
    pub no_default_alpn: bool,
    /// `port`: another one than the URL's (§7.2).
    pub port: Option<u16>,
    /// `ipv4hint`: addresses to begin with, until the target's are known (§7.3).
    pub ipv4_hints: Vec<Ipv4Addr>,
    /// `ipv6hint`, as above.
    pub ipv6_hints: Vec<Ipv6Addr>,
    /// `ech`: an ECHConfigList for Encrypted Client Hello, as it came (RFC 9848).
    pub ech: Option<Vec<u8>>,
    /// `mandatory`: the keys without which the record must not be used (§8). All of them are known.
    pub mandatory: Vec<u16>,
}
