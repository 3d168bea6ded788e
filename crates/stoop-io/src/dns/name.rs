//! Tells names to look up from what needs no server: addresses, `localhost`, and what is no name.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::error::{DnsError, DnsErrorKind};

/// Bytes of a name in text form, without the root's dot: RFC 1035 §2.3.4.
const NAME_BYTES_MAX: usize = 253;

/// Bytes of one label of a name: RFC 1035 §2.3.4.
const LABEL_BYTES_MAX: usize = 63;

/// What the host of a URL is.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Host {
    /// An address, with or without the brackets that a URL puts around IPv6.
    Address(IpAddr),
    /// `localhost`, or something under it: RFC 6761 §6.3 says not to ask for it.
    Localhost,
    /// A name to look up: in lower case, without the root's dot; `absolute` if it had one.
    Name { name: String, absolute: bool },
}

/// The addresses of `localhost`. IPv4 first: that is what local servers listen on.
pub(super) const LOCALHOST: [IpAddr; 2] =
    [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)];

impl Host {
    /// Reads a host as it stands in a URL.
    pub(super) fn parse(host: &str) -> Result<Self, DnsError> {
        let inside = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
        if let Some(inside) = inside {
            let address = inside.parse::<Ipv6Addr>();
            return address.map(|v6| Self::Address(v6.into())).map_err(|_| invalid(host));
        }
        if let Ok(address) = host.parse() {
            return Ok(Self::Address(address));
        }
        let (bare, absolute) = match host.strip_suffix('.') {
            Some(bare) => (bare, true),
            None => (host, false),
        };
        let is_label = |label: &str| {
            (1..=LABEL_BYTES_MAX).contains(&label.len())
                && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
        };
        // A last label in digits is an address in some other spelling (127.1, 0x7f.1): a server that
        // is asked for it may answer anything.
        let last = bare.rsplit('.').next().unwrap_or_default();
        let is_number = last.bytes().all(|byte| byte.is_ascii_digit())
            || last.get(..2).is_some_and(|start| start.eq_ignore_ascii_case("0x"));
        if bare.len() > NAME_BYTES_MAX || is_number || !bare.split('.').all(is_label) {
            return Err(invalid(host));
        }
        let name = bare.to_ascii_lowercase();
        if name == "localhost" || name.ends_with(".localhost") {
            return Ok(Self::Localhost);
        }
        Ok(Self::Name { name, absolute })
    }
}

fn invalid(host: &str) -> DnsError {
    let shown: String = host.chars().take(100).collect();
    DnsError::new(DnsErrorKind::InvalidName, format!("{shown:?} cannot be the name of a host"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_not_names() {
        for (host, address) in
            [("127.0.0.1", "127.0.0.1"), ("::1", "::1"), ("[2001:db8::1]", "2001:db8::1")]
        {
            assert_eq!(Host::parse(host).unwrap(), Host::Address(address.parse().unwrap()));
        }
    }

    #[test]
    fn localhost_is_known() {
        for host in ["localhost", "LOCALHOST", "localhost.", "a.b.localhost"] {
            assert_eq!(Host::parse(host).unwrap(), Host::Localhost, "{host}");
        }
    }

    #[test]
    fn names_are_folded_to_lower_case() {
        let name = |name: &str, absolute| Host::Name { name: name.into(), absolute };
        assert_eq!(Host::parse("Example.COM").unwrap(), name("example.com", false));
        assert_eq!(Host::parse("example.com.").unwrap(), name("example.com", true));
        assert_eq!(Host::parse("_dmarc.x-1.").unwrap(), name("_dmarc.x-1", true));
    }

    #[test]
    fn an_invalid_name_is_refused() {
        let label = "a".repeat(64);
        let long = "a.".repeat(130);
        for host in [
            "",
            ".",
            "a..b",
            ".a",
            "a b",
            "ä.example",
            "a/b",
            "[1.2.3.4]",
            "[::1",
            "a..",
            "127.1",
            "2130706433",
            "0x7f.1",
            "1.2.3.256",
            "1.0X7f",
            label.as_str(),
            long.as_str(),
        ] {
            assert_eq!(Host::parse(host).unwrap_err().kind(), DnsErrorKind::InvalidName, "{host}");
        }
        let label = "a".repeat(63);
        assert!(Host::parse(&label).is_ok());
    }
}
