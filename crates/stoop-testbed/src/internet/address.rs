//! Converts between the number, the names and the address of a host.

use std::net::Ipv4Addr;

/// The most hosts there can be: 127.1.0.0 to 127.254.255.255.
///
/// 127.0.0.0/16 is left to everything else on this machine, and 127.255.255.255 is a broadcast
/// address.
pub const HOSTS_MAX: u64 = (254 - 1 + 1) << 16;

/// The address of the first host.
const FIRST: u32 = 127 << 24 | 1 << 16;

/// The address of a host.
pub(crate) fn address(host: u64) -> Option<Ipv4Addr> {
    let offset = u32::try_from(host).ok().filter(|_| host < HOSTS_MAX)?;
    Some(Ipv4Addr::from_bits(FIRST + offset))
}

/// The host at an address.
pub(crate) fn host(address: Ipv4Addr) -> Option<u64> {
    let host = u64::from(address.to_bits().checked_sub(FIRST)?);
    (host < HOSTS_MAX).then_some(host)
}

/// The names that one host answers to. All are one label below the domain, so that one wildcard
/// certificate fits them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Prefix {
    /// `h17`
    Apex,
    /// `www-h17`: the same host, address and certificate.
    Www,
    /// `gone-h17`: a name that does not exist; redirects lead there.
    Gone,
}

impl Prefix {
    const ALL: [Self; 3] = [Self::Apex, Self::Www, Self::Gone];

    fn word(self) -> &'static str {
        match self {
            Self::Apex => "h",
            Self::Www => "www-h",
            Self::Gone => "gone-h",
        }
    }
}

/// A name in this domain.
pub(crate) fn name(prefix: Prefix, host: u64, domain: &str) -> String {
    format!("{}{host}.{domain}", prefix.word())
}

/// The host that has this name, in lower case and without a final dot.
pub(crate) fn parse(name: &str, domain: &str) -> Option<(Prefix, u64)> {
    let label = name.strip_suffix(domain)?.strip_suffix('.')?;
    Prefix::ALL.into_iter().find_map(|prefix| {
        let number = label.strip_prefix(prefix.word())?;
        let host: u64 = number.parse().ok()?;
        // One name a host: `h007` and `h+7` are none.
        (host.to_string() == number).then_some((prefix, host))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_and_addresses_are_a_bijection() {
        for n in (0..HOSTS_MAX).step_by(997).chain([1, 255, 256, 65_535, 65_536, HOSTS_MAX - 1]) {
            let address = address(n).unwrap();
            assert!(address.is_loopback());
            assert_eq!(host(address), Some(n));
        }
        assert_eq!(address(0), Some(Ipv4Addr::new(127, 1, 0, 0)));
        assert_eq!(address(HOSTS_MAX - 1), Some(Ipv4Addr::new(127, 254, 255, 255)));
        assert_eq!(address(HOSTS_MAX), None);
        for other in [[127, 0, 0, 1], [127, 0, 255, 255], [127, 255, 0, 0], [192, 0, 2, 1]] {
            assert_eq!(host(other.into()), None);
        }
    }

    #[test]
    fn hosts_and_names_are_a_bijection() {
        let domain = "s1.stoop.test";
        for prefix in Prefix::ALL {
            let name = name(prefix, 1_234_567, domain);
            assert_eq!(parse(&name, domain), Some((prefix, 1_234_567)));
            assert_eq!(name.matches('.').count(), domain.matches('.').count() + 1);
        }
        for other in ["h7.s2.stoop.test", "h07.s1.stoop.test", "h.s1.stoop.test", "s1.stoop.test"] {
            assert_eq!(parse(other, domain), None, "{other}");
        }
        assert_eq!(parse("x.h7.s1.stoop.test", domain), None);
        assert_eq!(parse("h7s1.stoop.test", domain), None);
    }
}
