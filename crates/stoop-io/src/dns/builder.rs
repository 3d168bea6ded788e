//! Builds a resolver: every setting, with its default.

use std::io;
#[cfg(feature = "dns")]
use std::net::SocketAddr;
use std::net::{Ipv6Addr, UdpSocket};
use std::path::PathBuf;
use std::time::Duration;

use super::hosts::Hosts;
#[cfg(feature = "dns")]
use super::query::Servers;
use super::resolver::Resolver;
use super::settings::{Families, ResolverSettings, TTL_LIMIT};

impl Resolver {
    /// Asks the servers that the system is configured with (resolv.conf), and honours its hosts file.
    /// Both are read here.
    pub fn system() -> Self {
        Self::builder().build().unwrap_or_else(|_| unreachable!("no file was named"))
    }

    /// Asks these servers and no others; honours the system's hosts file.
    #[cfg(feature = "dns")]
    pub fn with_servers(servers: &[SocketAddr]) -> Self {
        let built = Self::builder().servers(servers).build();
        built.unwrap_or_else(|_| unreachable!("no file was named"))
    }

    /// Starts a configuration.
    pub fn builder() -> ResolverBuilder {
        ResolverBuilder::default()
    }
}

/// Makes a [`Resolver`].
#[derive(Clone, Debug)]
pub struct ResolverBuilder {
    #[cfg(feature = "dns")]
    servers: Option<Vec<SocketAddr>>,
    #[cfg(feature = "dns")]
    search: Option<(Vec<String>, usize)>,
    hosts: Hosts,
    settings: ResolverSettings,
}

impl Default for ResolverBuilder {
    fn default() -> Self {
        Self {
            #[cfg(feature = "dns")]
            servers: None,
            #[cfg(feature = "dns")]
            search: None,
            hosts: Hosts::System,
            settings: ResolverSettings::default(),
        }
    }
}

impl ResolverBuilder {
    /// Asks these servers, by UDP, and by TCP where a response is too long for that. Default: those
    /// of the system (resolv.conf), and 127.0.0.1 if it names none.
    ///
    /// With servers named here the system's search list is not used.
    #[cfg(feature = "dns")]
    pub fn servers(mut self, servers: &[SocketAddr]) -> Self {
        self.servers = Some(servers.to_vec());
        self
    }

    /// Completes names that have fewer dots than `ndots` with these domains, one after the other.
    ///
    /// A name without a dot is asked for as it stands after that; one with a dot before it, and
    /// with the domains only if it has no address so. A name that ends in a dot is complete.
    /// Default: the system's list with the system's servers, none with others.
    #[cfg(feature = "dns")]
    pub fn search<D: Into<String>>(
        mut self,
        domains: impl IntoIterator<Item = D>,
        ndots: usize,
    ) -> Self {
        self.search = Some((domains.into_iter().map(Into::into).collect(), ndots));
        self
    }

    /// How long one attempt at a query may take. Default: 2 seconds.
    #[cfg(feature = "dns")]
    pub fn query_timeout(mut self, limit: Duration) -> Self {
        self.settings.query_timeout = limit;
        self
    }

    /// How often a query that gets no response is sent, to one server after the other; to each at
    /// least once. Default: 3.
    #[cfg(feature = "dns")]
    pub fn attempts(mut self, attempts: u32) -> Self {
        self.settings.attempts = attempts.max(1);
        self
    }

    /// Queries under way at once: a lookup sends two, one for each family, on one socket. (Without
    /// the feature `dns`: lookups, each on a thread.) More lookups wait for their turn, and leave
    /// the queue when their callers do. At least 2. Default: 192 (64 without `dns`).
    pub fn queries_max(mut self, queries: usize) -> Self {
        self.settings.queries_max = queries.max(2);
        self
    }

    /// Names remembered at once, those without addresses included. 0: none. Default: 10,000.
    pub fn cache_entries_max(mut self, entries: usize) -> Self {
        self.settings.cache.entries_max = entries;
        self
    }

    /// Addresses are remembered at least this long, whatever their TTL says, and so is what a zone
    /// denies. Default: 1 second, so that one page does not ask for one name fifty times. At most 68
    /// years, as any TTL (RFC 2181 §8).
    #[cfg(feature = "dns")]
    pub fn cache_ttl_min(mut self, least: Duration) -> Self {
        self.settings.cache.ttl_min = least.min(TTL_LIMIT);
        self
    }

    /// Addresses are remembered at most this long, whatever their TTL says. Default: 1 hour.
    #[cfg(feature = "dns")]
    pub fn cache_ttl_max(mut self, most: Duration) -> Self {
        self.settings.cache.ttl_max = most.min(TTL_LIMIT);
        self
    }

    /// That a name does not exist, or has no address, is remembered at most this long, and that long
    /// where its zone does not say how long (RFC 2308 §5). Default: 10 seconds.
    pub fn cache_negative_ttl_max(mut self, most: Duration) -> Self {
        self.settings.cache.negative_ttl_max = most.min(TTL_LIMIT);
        self
    }

    /// Addresses that have expired are given out for so long while they are looked up again, so that no caller
    /// waits for names that are in use (as RFC 5861 §3 has it for responses). Default: not at all.
    pub fn cache_stale_max(mut self, most: Duration) -> Self {
        self.settings.cache.stale_max = most.min(TTL_LIMIT);
        self
    }

    /// Whether `/etc/hosts` is honoured. It is read when the resolver is built. Default: true.
    pub fn hosts(mut self, honoured: bool) -> Self {
        self.hosts = if honoured { Hosts::System } else { Hosts::Off };
        self
    }

    /// Honours this hosts file in the place of the system's. It is read when the resolver is built.
    pub fn hosts_file(mut self, path: impl Into<PathBuf>) -> Self {
        self.hosts = Hosts::File(path.into());
        self
    }

    /// Which addresses are looked up. Default: both families, asked for at once.
    pub fn families(mut self, families: Families) -> Self {
        self.settings.families = families;
        self
    }

    /// Reads the files and builds. No query is sent yet.
    ///
    /// # Errors
    /// If a hosts file was named and cannot be read.
    pub fn build(self) -> io::Result<Resolver> {
        let hosts = self.hosts.read()?;
        #[cfg(feature = "dns")]
        let servers = {
            let mut servers = match &self.servers {
                Some(servers) => Servers::named(servers),
                None => Servers::system(),
            };
            if let Some((domains, ndots)) = &self.search {
                servers.set_search(domains.iter().map(String::as_str), *ndots);
            }
            servers
        };
        #[cfg(feature = "dns")]
        let settings = ResolverSettings { servers, ..self.settings };
        #[cfg(not(feature = "dns"))]
        let settings = self.settings;
        Ok(Resolver::new(ResolverSettings { v6_first: has_v6_route(), ..settings }, hosts))
    }
}

/// Whether this machine has a route to the IPv6 internet, as far as the kernel knows. Nothing is sent.
fn has_v6_route() -> bool {
    // 2000::1 stands for any public address.
    let public = (Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 1), 53);
    UdpSocket::bind((Ipv6Addr::UNSPECIFIED, 0)).and_then(|udp| udp.connect(public)).is_ok()
}
