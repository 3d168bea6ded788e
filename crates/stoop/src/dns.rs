//! Name resolution: the servers, how long addresses are kept, and errors.
//!
//! A [`Client`](crate::Client) asks the system's name servers and keeps a cache of its own;
//! [`ClientBuilder::resolver`](crate::ClientBuilder::resolver) gives it another [`Resolver`], which several
//! clients may share. A lookup that fails is a [`DnsError`]; of a request it becomes an
//! [`Error`](crate::Error) in [`Phase::Dns`](crate::Phase::Dns).
//!
//! ```no_run
//! use std::time::Duration;
//! use stoop::Client;
//! use stoop::dns::Resolver;
//!
//! # #[cfg(feature = "dns")]
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let resolver = Resolver::builder().query_timeout(Duration::from_secs(2)).attempts(3).build()?;
//! let client = Client::builder().resolver(resolver).build()?;
//! # Ok(()) }
//! # #[cfg(not(feature = "dns"))]
//! # fn main() {}
//! ```
//!
//! `Resolver::https_records` reads the HTTPS records of a name (RFC 9460), with the feature `dns`. No client connects
//! by them yet.

use std::future::Future;
use std::net::IpAddr;
use std::pin::Pin;

use crate::error::BoxError;

pub use stoop_io::{
    Addresses, DnsError, DnsErrorKind, Families, Resolver, ResolverBuilder, ResolverStats,
    is_public,
};
#[cfg(feature = "dns")]
pub use stoop_io::{HttpsRecord, HttpsService};

/// Addresses that are being looked up.
pub type Resolving = Pin<Box<dyn Future<Output = Result<Addresses, BoxError>> + Send>>;

/// Finds the addresses of hosts for a client:
/// [`ClientBuilder::custom_resolver`](crate::ClientBuilder::custom_resolver). An asynchronous function from a
/// host to its addresses is one.
///
/// The time for it is [`ClientTime::dns`](crate::ClientTime::dns): beyond it the future is dropped. A
/// [`DnsError`] becomes an [`Error`](crate::Error) of its kind, an `Error` is told as it is, and any other is
/// [`DnsOther`](crate::ErrorKind::DnsOther).
pub trait Resolve: Send + Sync + 'static {
    /// Looks up a host, as it stands in a URL: a name, in lower case and in ASCII (RFC 5890). Addresses are not
    /// looked up.
    fn resolve(&self, host: String) -> Resolving;
}

impl<F, C, E> Resolve for F
where
    F: Fn(String) -> C + Send + Sync + 'static,
    C: Future<Output = Result<Addresses, E>> + Send + 'static,
    E: Into<BoxError>,
{
    fn resolve(&self, host: String) -> Resolving {
        let resolving = self(host);
        Box::pin(async move { resolving.await.map_err(Into::into) })
    }
}

/// The system's own resolver, getaddrinfo, which knows what this machine is configured with beyond DNS
/// (nsswitch.conf: LDAP, mDNS, files). Each lookup takes a thread of the runtime while it runs; nothing is
/// remembered.
#[derive(Clone, Debug, Default)]
pub struct SystemResolver(());

impl SystemResolver {
    /// The system's resolver.
    pub fn new() -> Self {
        Self(())
    }
}

impl Resolve for SystemResolver {
    fn resolve(&self, host: String) -> Resolving {
        Box::pin(async move {
            let found = tokio::net::lookup_host((host.as_str(), 0)).await?;
            let mut addresses: Vec<IpAddr> = Vec::new();
            for address in found {
                if !addresses.contains(&address.ip()) {
                    addresses.push(address.ip());
                }
            }
            Ok(addresses.into())
        })
    }
}
