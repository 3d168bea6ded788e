//! Where a client would connect to, for callers that want to know beforehand.

use std::net::IpAddr;
use std::time::Duration;

use stoop_io::Addresses;
use url::{Host, Url};

use super::{Connector, Route};
use crate::client::Client;
use crate::error::{Error, ErrorKind, Phase};

impl Client {
    /// The addresses that a request for `url`, a whole one, would connect to, in the order in which they are tried: found
    /// as requests find them, by the host's [own addresses](crate::ClientBuilder::resolve), what is
    /// [connected to in its place](crate::ClientBuilder::connect_to), or the resolver, and those alone that the
    /// [local address](crate::ClientBuilder::local_address) can reach and the
    /// [filter](crate::ClientBuilder::address_filter) allows. Nothing is connected. A resolver of ours remembers what it
    /// finds, so that requests that follow soon do not wait for it again.
    ///
    /// A proxy changes nothing: what is told is where `url` itself leads. The time for a name is
    /// [`ClientTime::dns`](crate::ClientTime::dns).
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// let client = stoop::Client::builder().resolve("a.example", [[192, 0, 2, 7].into()]).build()?;
    /// let addresses = client.addresses_of("https://a.example/page").await?;
    /// assert_eq!(addresses[..], [std::net::IpAddr::from([192, 0, 2, 7])]);
    /// # Ok::<(), stoop::Error>(()) }).unwrap();
    /// ```
    ///
    /// # Errors
    /// [`InvalidUrl`](crate::ErrorKind::InvalidUrl), those of [`Phase::Dns`](crate::Phase::Dns), and
    /// [`ConnectUnreachable`](crate::ErrorKind::ConnectUnreachable) where the local address can reach none;
    /// [`DnsOther`](crate::ErrorKind::DnsOther) for a client that connects to no address, but to a
    /// [Unix socket](crate::ClientBuilder::unix_socket), a [handler](crate::ClientBuilder::handler) or by a
    /// [connector](crate::rt::connector).
    pub async fn addresses_of(&self, url: &str) -> Result<Addresses, Error> {
        let url = crate::url::parse(url)?;
        self.0.connector.addresses_of(&url, self.0.limits.time.dns).await
    }
}

impl Connector {
    /// The addresses of a URL's host that may be connected to, where a name may take so long.
    async fn addresses_of(&self, url: &Url, limit: Option<Duration>) -> Result<Addresses, Error> {
        if !matches!(self.route, Route::Network) {
            let error = Error::new(ErrorKind::DnsOther, Phase::Dns);
            return Err(error.with_detail("the client connects to no address"));
        }
        let replaced = self.replaced(url);
        let url = replaced.as_ref().unwrap_or(url);
        let addresses = match url.host() {
            Some(Host::Ipv4(address)) => IpAddr::V4(address).into(),
            Some(Host::Ipv6(address)) => IpAddr::V6(address).into(),
            Some(Host::Domain(name)) => {
                let looking_up = self.names.lookup(name, url.port_or_known_default().unwrap_or(80));
                match limit {
                    None => looking_up.await?,
                    Some(limit) => {
                        let found = tokio::time::timeout(limit, looking_up).await;
                        found.map_err(|_| {
                            Error::new(ErrorKind::DnsTimeout, Phase::Dns).with_detail(name)
                        })??
                    }
                }
            }
            None => return Err(Error::new(ErrorKind::InvalidUrl, Phase::Request)),
        };
        self.names.permitted(addresses, self.is_to_servers)
    }
}
