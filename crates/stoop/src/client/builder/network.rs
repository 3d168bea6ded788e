//! Where a client's connections lead: names and addresses, proxies, TLS, and what stands in for a network.

use std::net::IpAddr;
#[cfg(feature = "dns")]
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

#[cfg(any(feature = "tls", feature = "tls-ring"))]
use stoop_io::ClientTls;
use stoop_io::{AnyTransport, Resolver};

use super::ClientBuilder;
use crate::client::connect::{Connecting, Route};
use crate::client::connect_target::ConnectTarget;
use crate::client::names::{HostAndPort, Replacement};
#[cfg(feature = "proxy")]
use crate::client::proxy::{Proxies, Proxy};
use crate::dns::Resolve;
use crate::error::Error;
use crate::request::relay::ExtensionRelay;

impl ClientBuilder {
    /// The resolver of names: by default the system's name servers and hosts file.
    pub fn resolver(mut self, resolver: Resolver) -> Self {
        self.names.resolver = Some(resolver);
        self.names.source = None;
        self
    }

    /// Resolves names by `resolver` in place of [a resolver of ours](Self::resolver): the
    /// [system's](crate::dns::SystemResolver), a service registry, a function. What it finds is not
    /// remembered here.
    ///
    /// ```
    /// # async fn example() -> Result<(), stoop::Error> {
    /// use std::net::IpAddr;
    /// use stoop::{Client, dns};
    ///
    /// let client = Client::builder().custom_resolver(dns::SystemResolver::new()).build()?;
    ///
    /// let registry = |host: String| async move {
    ///     let all: Vec<IpAddr> = match &*host {
    ///         "orders" => vec![[10, 0, 0, 7].into(), [10, 0, 0, 8].into()],
    ///         other => return Err(format!("there is no service {other}")),
    ///     };
    ///     Ok(all.into())
    /// };
    /// let client = Client::builder().custom_resolver(registry).build()?;
    /// # Ok(()) }
    /// ```
    pub fn custom_resolver(mut self, resolver: impl Resolve) -> Self {
        self.names.source = Some(Box::new(resolver));
        self
    }

    /// Sets the addresses of `host`, which is then not looked up: they are tried in this order, and with none of them
    /// the name does not exist. `host:port` sets those for one port alone, and `*` in place of the host those of all
    /// hosts that have none. A name in Unicode is the same as in Punycode. An address in a URL is connected to as it is:
    /// [`connect_to`](Self::connect_to) replaces it.
    ///
    /// A host that no URL can have, such as `bad host`, has [`build`](Self::build) fail with
    /// [`InvalidUrl`](crate::ErrorKind::InvalidUrl).
    pub fn resolve(mut self, host: &str, addresses: impl IntoIterator<Item = IpAddr>) -> Self {
        if let Err(error) = self.names.set(host, addresses.into_iter().collect()) {
            self.failed.get_or_insert(error);
        }
        self
    }

    /// Connects to the host and port `to` in place of `from`, both written `host:port`: TLS, Host and the pool keep those
    /// of the URL. Of `from`, an empty host or port stands for any; of `to`, it stays as it is. An IPv6 address is in
    /// brackets. Called several times, the first that fits holds. Through a proxy, `to` is what the proxy is asked for.
    ///
    /// ```
    /// // The new server, asked as the old one is.
    /// let client = stoop::Client::builder().connect_to("example.com:443", "10.0.0.7:8443")?.build()?;
    /// # Ok::<(), stoop::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`InvalidUrl`](crate::ErrorKind::InvalidUrl) if either is not of that form, or has a host that no URL can have.
    /// The text says which part is wrong.
    pub fn connect_to(mut self, from: &str, to: &str) -> Result<Self, Error> {
        let (from, to) = (HostAndPort::read(from)?, HostAndPort::read(to)?);
        self.names.replaced.push(Replacement { from, to });
        Ok(self)
    }

    /// Connects only to addresses for which `allows` returns true: it is called with every address that a
    /// URL, or a redirect, leads to, after its name was resolved, so that a name cannot lead elsewhere; an IPv4
    /// address that is written as one of IPv6 (`::ffff:127.0.0.1`) is shown as IPv4. If none
    /// is left: [`AddressDenied`](crate::ErrorKind::AddressDenied). Not for Unix sockets and
    /// [connectors](crate::rt::connector).
    ///
    /// ```
    /// // URLs of users may not lead into this network.
    /// let client = stoop::Client::builder().address_filter(stoop::dns::is_public).build()?;
    /// # Ok::<(), stoop::Error>(())
    /// ```
    pub fn address_filter(
        mut self,
        allows: impl Fn(IpAddr) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.names.filter = Some(Box::new(allows));
        self
    }

    /// The address of this machine that connections leave from: by default the kernel chooses it. With an address of
    /// one family alone, only addresses of that family are connected to; called twice, there may be one of each.
    pub fn local_address(mut self, address: IpAddr) -> Self {
        match address {
            IpAddr::V4(address) => self.names.local.ipv4 = Some(address),
            IpAddr::V6(address) => self.names.local.ipv6 = Some(address),
        }
        self
    }

    /// The network interface that connections leave from, such as `eth0`, on Linux and Android: elsewhere each
    /// connection fails.
    pub fn interface(mut self, name: impl Into<Box<str>>) -> Self {
        self.names.local.interface = Some(name.into());
        self
    }

    /// Has the kernel probe a TCP connection on which nothing came for so long, and then as often again, so that a server
    /// that is gone is noticed and devices on the way do not forget the connection: `SO_KEEPALIVE`, in whole seconds. By
    /// default it does not: time limits notice it sooner, and idle connections are kept no longer than
    /// [`PoolLimits::idle`](crate::PoolLimits::idle).
    pub fn tcp_keepalive(mut self, time: Duration) -> Self {
        self.names.local.keepalive = Some(time);
        self
    }

    /// The name servers to ask, instead of the system's.
    #[cfg(feature = "dns")]
    pub fn name_servers(self, servers: &[SocketAddr]) -> Self {
        self.resolver(Resolver::with_servers(servers))
    }

    /// Which certificates are trusted and which is shown: by default the platform's roots, and none.
    #[cfg(any(feature = "tls", feature = "tls-ring"))]
    pub fn tls(mut self, tls: ClientTls) -> Self {
        self.tls = Some(tls);
        self
    }

    /// Whether the certificate that a server shows is kept, for
    /// [`Response::server_certificate`](crate::Response::server_certificate). Off by default: the chain, some 4 KiB, is
    /// kept for as long as its connection.
    ///
    /// ```no_run
    /// # async fn example() -> Result<(), stoop::Error> {
    /// let client = stoop::Client::builder().keep_certificates(true).build()?;
    /// let response = client.get("https://example.com/").await?;
    /// if let Some(shown) = response.server_certificate() {
    ///     println!("{:?} until {:?}", shown.dns_names(), shown.not_after());
    /// }
    /// # Ok(()) }
    /// ```
    #[cfg(any(feature = "tls", feature = "tls-ring"))]
    pub fn keep_certificates(mut self, kept: bool) -> Self {
        self.keeps_certificates = kept;
        self
    }

    /// Sends everything through a proxy. Connecting then includes what the proxy does, within
    /// [`connect`](crate::ClientTime::connect). Not for Unix sockets, [connectors](crate::rt::connector) and handlers,
    /// to which requests go as without.
    #[cfg(feature = "proxy")]
    pub fn proxy(self, proxy: Proxy) -> Self {
        self.proxies(Proxies::none().all(proxy))
    }

    /// Which requests go through which proxy: by default none does. No variable is read:
    /// [hand its value over](Proxies).
    #[cfg(feature = "proxy")]
    pub fn proxies(mut self, proxies: Proxies) -> Self {
        self.proxies = proxies;
        self
    }

    /// Which certificates of https proxies are trusted, and which is shown to them: by default as with
    /// [servers](Self::tls).
    #[cfg(all(feature = "proxy", any(feature = "tls", feature = "tls-ring")))]
    pub fn proxy_tls(mut self, tls: ClientTls) -> Self {
        self.proxy_tls = Some(tls);
        self
    }

    /// Sends everything over one Unix socket, https through TLS; URLs still give Host and path.
    pub fn unix_socket(mut self, path: impl Into<PathBuf>) -> Self {
        self.route = Route::Unix(path.into());
        self
    }

    /// Gets its connections from `connect`.
    pub(crate) fn made_by(
        mut self,
        connect: impl Fn(ConnectTarget) -> Connecting + Send + Sync + 'static,
    ) -> Self {
        self.route = Route::Made(Box::new(connect));
        self
    }

    /// Gets its connections from `connect`, whatever the URL names. https is not secured; extensions go to the handler by `relay`.
    pub(crate) fn handler_from(
        mut self,
        connect: impl Fn() -> AnyTransport + Send + Sync + 'static,
        relay: Arc<ExtensionRelay>,
    ) -> Self {
        self.route = Route::Handler(Box::new(connect), relay);
        self
    }
}
