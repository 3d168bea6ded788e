//! Hosts that are not reached through a proxy.

use std::convert::Infallible;
use std::net::IpAddr;
use std::str::FromStr;

use url::{Host, Url};

/// Hosts that are not reached through a proxy, written as in the variable `NO_PROXY`: separated by commas or blanks,
/// each of
///
/// - a name, `example.com`, which means its subdomains too, with a `.` or `*.` before it or without;
/// - an address, `10.1.2.3` or `::1`, or a network, `10.0.0.0/8` or `fd00::/8`: for URLs with an address, names are not
///   resolved for it;
/// - either with a port, `example.com:8080` or `[::1]:8080`: for that port alone;
/// - `*`, which means all.
///
/// What is none of these is a name that no host has.
///
/// ```
/// use stoop::NoProxy;
///
/// let hosts: NoProxy = "localhost, .example.com, 10.0.0.0/8".parse()?;
/// # Ok::<(), std::convert::Infallible>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NoProxy(Vec<Exception>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Exception {
    hosts: ExceptedHosts,
    port: Option<u16>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum ExceptedHosts {
    All,
    /// This one and all below it, in lower case.
    Domain(String),
    /// Addresses whose first bits are these.
    Network(IpAddr, u8),
}

impl NoProxy {
    /// Whether all hosts are.
    pub(super) fn has_all(&self) -> bool {
        let is_all = |it: &Exception| matches!(it.hosts, ExceptedHosts::All) && it.port.is_none();
        self.0.iter().any(is_all)
    }

    /// Whether the URL's host is one of them.
    pub(super) fn contains(&self, url: &Url) -> bool {
        self.0.iter().any(|exception| exception.matches(url))
    }
}

impl FromStr for NoProxy {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        let words = text.split([',', ' ', '\t', '\n']).filter(|word| !word.is_empty());
        Ok(Self(words.map(exception).collect()))
    }
}

fn exception(text: &str) -> Exception {
    if text == "*" {
        return Exception { hosts: ExceptedHosts::All, port: None };
    }
    if let Some(hosts) = network(text) {
        return Exception { hosts, port: None };
    }
    let with_port = text.rsplit_once(':').and_then(|(host, port)| {
        let port = port.parse().ok()?;
        let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        Some((host, port))
    });
    let (host, port) = match with_port {
        Some((host, port)) => (host, Some(port)),
        None => (text, None),
    };
    Exception { hosts: network(host).unwrap_or_else(|| domain(host)), port }
}

fn domain(text: &str) -> ExceptedHosts {
    let bare = text.strip_prefix('*').unwrap_or(text);
    let bare = bare.strip_prefix('.').unwrap_or(bare);
    let bare = bare.strip_suffix('.').unwrap_or(bare);
    // As a URL has it: in lower case, and of other scripts in ASCII.
    let known = Host::parse(bare).map(|host| host.to_string());
    ExceptedHosts::Domain(known.unwrap_or_else(|_| bare.to_ascii_lowercase()))
}

/// An address, or a network in CIDR notation (RFC 4632 §3.1).
fn network(text: &str) -> Option<ExceptedHosts> {
    let (address, prefix) = match text.split_once('/') {
        Some((address, prefix)) => (address, Some(prefix)),
        None => (text, None),
    };
    let address =
        address.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(address);
    let address: IpAddr = address.parse().ok()?;
    let bits = if address.is_ipv4() { 32 } else { 128 };
    let prefix = prefix.map_or(Some(bits), |prefix| prefix.parse().ok().filter(|n| *n <= bits))?;
    Some(ExceptedHosts::Network(address, prefix))
}

impl Exception {
    fn matches(&self, url: &Url) -> bool {
        if self.port.is_some() && self.port != url.port_or_known_default() {
            return false;
        }
        match (&self.hosts, url.host()) {
            (_, None) => false,
            (ExceptedHosts::All, Some(_)) => true,
            (ExceptedHosts::Domain(domain), Some(Host::Domain(host))) => {
                let host = host.strip_suffix('.').unwrap_or(host);
                let rest = host.strip_suffix(domain.as_str());
                !domain.is_empty()
                    && rest.is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
            }
            (ExceptedHosts::Network(network, prefix), Some(Host::Ipv4(host))) => {
                is_within(*network, *prefix, host.into())
            }
            (ExceptedHosts::Network(network, prefix), Some(Host::Ipv6(host))) => {
                is_within(*network, *prefix, host.into())
            }
            _ => false,
        }
    }
}

fn is_within(network: IpAddr, prefix: u8, host: IpAddr) -> bool {
    match (network, host) {
        (IpAddr::V4(network), IpAddr::V4(host)) => {
            let differing = network.to_bits() ^ host.to_bits();
            differing.leading_zeros() >= u32::from(prefix)
        }
        (IpAddr::V6(network), IpAddr::V6(host)) => {
            let differing = network.to_bits() ^ host.to_bits();
            differing.leading_zeros() >= u32::from(prefix)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_excepted_by_name_address_network_or_port() {
        for (list, inside, outside) in [
            ("", &[][..], &["http://a/", "http://127.0.0.1/"][..]),
            ("*", &["http://a/", "https://[::1]/"], &[]),
            (
                "example.com",
                &["http://example.com/", "https://a.EXAMPLE.com:81/", "http://example.com./"],
                &["http://anexample.com/", "http://example.com.org/", "http://com/"],
            ),
            (".example.com", &["http://example.com/", "http://a.example.com/"], &["http://b.com/"]),
            ("*.example.com", &["http://a.b.example.com/"], &["http://example.org/"]),
            ("bücher.example", &["http://bücher.example/", "http://xn--bcher-kva.example/"], &[]),
            ("10.0.0.0/8", &["http://10.255.0.1/"], &["http://11.0.0.1/", "http://[::a00:1]/"]),
            ("127.0.0.1", &["http://127.0.0.1:8080/"], &["http://127.0.0.2/", "http://localhost/"]),
            ("fd00::/8,::1", &["http://[fd12::1]/", "http://[::1]/"], &["http://[fe80::1]/"]),
            ("0.0.0.0/0", &["http://1.2.3.4/"], &["http://a/"]),
            (
                "a:81 [::1]:82",
                &["http://a:81/", "http://[::1]:82/"],
                &["http://a/", "http://[::1]/"],
            ),
            ("a:443", &["https://a/"], &["http://a/"]),
            (" a ,, b\tc ", &["http://a/", "http://b/", "http://c/"], &["http://d/"]),
            ("10.0.0.0/33", &[], &["http://10.0.0.0/"]),
            (".", &[], &["http://a/", "http://a./"]),
        ] {
            let hosts: NoProxy = list.parse().unwrap();
            let contains = |url: &&str| hosts.contains(&Url::parse(url).unwrap());
            assert!(inside.iter().all(contains), "{list:?}");
            assert!(!outside.iter().any(contains), "{list:?}");
        }
    }
}
