//! The DNS servers that are asked: named ones, or those of resolv.conf(5).

use std::fs;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// The system's configuration.
const RESOLV_CONF: &str = "/etc/resolv.conf";

/// Servers of resolv.conf that are asked: as many as its manual has (MAXNS).
const SERVERS_MAX: usize = 3;

/// Domains of a search list that are tried: as many as resolv.conf(5) had before they became
/// unlimited. Each costs the queries of a lookup.
const SEARCH_MAX: usize = 6;

/// The most that `ndots` may be, as resolv.conf(5) has it.
const NDOTS_MAX: usize = 15;

/// The servers to ask, and the domains that complete names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::dns) struct Servers {
    pub(super) addresses: Vec<SocketAddr>,
    /// Domains without the root's dot.
    search: Vec<String>,
    /// A name with fewer dots than this may be incomplete.
    ndots: usize,
}

impl Servers {
    /// These servers, and no search list.
    pub(in crate::dns) fn named(addresses: &[SocketAddr]) -> Self {
        Self { addresses: addresses.to_vec(), search: Vec::new(), ndots: 1 }
    }

    /// The servers and the search list that the system is configured with.
    pub(in crate::dns) fn system() -> Self {
        Self::parse(&fs::read(RESOLV_CONF).unwrap_or_default())
    }

    fn parse(text: &[u8]) -> Self {
        let mut servers = Self::named(&[]);
        for line in String::from_utf8_lossy(text).lines() {
            let line = line.split(['#', ';']).next().unwrap_or_default();
            let mut words = line.split_ascii_whitespace();
            match words.next() {
                Some("nameserver") if servers.addresses.len() < SERVERS_MAX => {
                    let address = words.next().and_then(|word| word.parse::<IpAddr>().ok());
                    servers.addresses.extend(address.map(|ip| SocketAddr::new(ip, 53)));
                }
                // The last of these lines counts.
                Some("search" | "domain") => {
                    let ndots = servers.ndots;
                    servers.set_search(words, ndots);
                }
                Some("options") => {
                    let ndots = words.find_map(|word| word.strip_prefix("ndots:"));
                    let ndots = ndots.and_then(|ndots| ndots.parse().ok());
                    servers.ndots = ndots.unwrap_or(servers.ndots).min(NDOTS_MAX);
                }
                _ => {}
            }
        }
        if servers.addresses.is_empty() {
            // Without a server it is the one on this machine: resolv.conf(5).
            servers.addresses.push(SocketAddr::new(Ipv4Addr::LOCALHOST.into(), 53));
        }
        servers
    }

    /// Completes names with fewer dots than `ndots` with these domains.
    pub(in crate::dns) fn set_search<'a>(
        &mut self,
        domains: impl Iterator<Item = &'a str>,
        ndots: usize,
    ) {
        let bare = domains.map(|domain| domain.trim_end_matches('.').to_ascii_lowercase());
        self.search = bare.filter(|domain| !domain.is_empty()).take(SEARCH_MAX).collect();
        self.ndots = ndots.min(NDOTS_MAX);
    }

    /// Whether incomplete names are completed.
    pub(in crate::dns) fn has_search(&self) -> bool {
        !self.search.is_empty()
    }

    /// The complete names to ask for, in order, when asked for `name`.
    ///
    /// A name with a dot is taken as complete at first, whatever `ndots` says: asking for `a.example`
    /// under every domain of the list before asking for itself costs most callers most queries for
    /// nothing. If it has fewer dots than `ndots` it is then asked for under the domains as well.
    pub(super) fn candidates(&self, name: &str, absolute: bool) -> Vec<String> {
        let dots = name.bytes().filter(|&byte| byte == b'.').count();
        let complete = format!("{name}.");
        if absolute || dots > 0 && dots >= self.ndots {
            return vec![complete];
        }
        let mut names: Vec<String> =
            self.search.iter().map(|domain| format!("{name}.{domain}.")).collect();
        names.insert(if dots > 0 { 0 } else { names.len() }, complete);
        names
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resolv_conf_is_read() {
        let servers = Servers::parse(
            b"# made by hand\n\
              nameserver 10.0.0.1 ; the first\n\
              nameserver not-an-address\n\
              nameserver fd00::1\n\
              domain old.example\n\
              search a.example. b.example\n\
              options timeout:1 ndots:2 rotate\n\
              nameserver 10.0.0.2\nnameserver 10.0.0.3\n",
        );
        let addresses: Vec<_> = servers.addresses.iter().map(ToString::to_string).collect();
        assert_eq!(addresses, ["10.0.0.1:53", "[fd00::1]:53", "10.0.0.2:53"]);
        assert_eq!((servers.search.len(), servers.ndots), (2, 2));
    }

    #[test]
    fn without_a_configuration_this_machine_is_asked() {
        assert_eq!(Servers::parse(b""), Servers::named(&["127.0.0.1:53".parse().unwrap()]));
    }

    #[test]
    fn only_a_name_that_may_be_incomplete_is_completed() {
        let servers = Servers::parse(b"search x.example\noptions ndots:2");
        assert_eq!(servers.candidates("host", false), ["host.x.example.", "host."]);
        assert_eq!(servers.candidates("svc.ns", false), ["svc.ns.", "svc.ns.x.example."]);
        assert_eq!(servers.candidates("a.b.c", false), ["a.b.c."]);
        assert_eq!(servers.candidates("host", true), ["host."]);
        let servers = Servers::named(&[]);
        assert_eq!(servers.candidates("host", false), ["host."]);
    }
}
