//! Networks of IP addresses, as prefixes.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};
use std::str::FromStr;

use crate::error::{Error, ErrorKind, Phase};

/// A network: all addresses that begin with the same bits (RFC 4632 §3.1, RFC 4291 §2.3).
///
/// ```
/// use stoop::Network;
///
/// let network: Network = "10.0.0.0/8".parse()?;
/// assert!(network.contains("10.1.2.3".parse().unwrap()));
/// assert!(!network.contains("11.0.0.1".parse().unwrap()));
/// # Ok::<(), stoop::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Network {
    address: IpAddr,
    prefix: u8,
}

impl Network {
    /// The addresses that have the first `prefix` bits of this one.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidUrl`] if there are fewer bits, or others that are set: `10.0.0.1/8` is a mistake.
    pub fn new(address: IpAddr, prefix: u8) -> Result<Self, Error> {
        let invalid = |why: &dyn fmt::Display| {
            let error = Error::new(ErrorKind::InvalidUrl, Phase::Request);
            Err(error.with_text(format_args!("{address}/{prefix} is no network: {why}")))
        };
        let bits_max = if address.is_ipv4() { 32 } else { 128 };
        if prefix > bits_max {
            return invalid(&format_args!("an address has {bits_max} bits"));
        }
        let network = Self { address, prefix };
        if bits(address) & !network.mask() != 0 {
            return invalid(&"bits behind the prefix are set");
        }
        Ok(network)
    }

    /// The addresses of this machine to itself, `127.0.0.0/8` and `::1`.
    pub fn loopback() -> [Self; 2] {
        let v4 = Self { address: IpAddr::from([127, 0, 0, 0]), prefix: 8 };
        [v4, Self { address: Ipv6Addr::LOCALHOST.into(), prefix: 128 }]
    }

    /// Whether an address is in it. An IPv4 address that is written as IPv6 (`::ffff:10.0.0.1`) is what it stands for.
    pub fn contains(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        address.is_ipv4() == self.address.is_ipv4()
            && bits(address) & self.mask() == bits(self.address)
    }

    /// The bits of the prefix.
    fn mask(&self) -> u128 {
        let width = if self.address.is_ipv4() { 32 } else { 128 };
        let ones = u128::MAX >> (128 - width);
        let host = width - u32::from(self.prefix);
        ones & ones.checked_shl(host).unwrap_or(0)
    }
}

fn bits(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(v4) => u128::from(v4.to_bits()),
        IpAddr::V6(v6) => v6.to_bits(),
    }
}

/// The one address.
impl From<IpAddr> for Network {
    fn from(address: IpAddr) -> Self {
        let address = address.to_canonical();
        Self { address, prefix: if address.is_ipv4() { 32 } else { 128 } }
    }
}

/// An address, `10.0.0.1`, or a prefix, `10.0.0.0/8`.
impl FromStr for Network {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let (address, prefix) = match text.split_once('/') {
            Some((address, prefix)) => (address, Some(prefix)),
            None => (text, None),
        };
        let is_number = |prefix: &&str| prefix.bytes().all(|digit| digit.is_ascii_digit());
        let parsed = address.parse::<IpAddr>().ok().and_then(|address| match prefix {
            None => Some(Ok(Self::from(address))),
            Some(prefix) => {
                let prefix = Some(prefix).filter(is_number)?.parse().ok()?;
                Some(Self::new(address, prefix))
            }
        });
        parsed.unwrap_or_else(|| {
            let error = Error::new(ErrorKind::InvalidUrl, Phase::Request);
            Err(error.with_text(format_args!("{text:?} is neither an address nor a network")))
        })
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.prefix)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_has_the_addresses_with_its_prefix() {
        for (network, address, expected) in [
            ("10.0.0.0/8", "10.255.255.255", true),
            ("10.0.0.0/8", "11.0.0.0", false),
            ("0.0.0.0/0", "255.1.1.1", true),
            ("0.0.0.0/0", "::1", false),
            ("::/0", "::1", true),
            ("::/0", "1.1.1.1", false),
            ("192.0.2.128/25", "192.0.2.127", false),
            ("192.0.2.128/25", "::ffff:192.0.2.129", true),
            ("192.0.2.1", "192.0.2.1", true),
            ("192.0.2.1/32", "192.0.2.0", false),
            ("2001:db8::/32", "2001:db8:ffff::1", true),
            ("2001:db8::/32", "2001:db9::", false),
            ("fe80::1/128", "fe80::1", true),
        ] {
            let parsed: Network = network.parse().unwrap();
            assert_eq!(parsed.contains(address.parse().unwrap()), expected, "{network} {address}");
        }
    }

    #[test]
    fn what_is_no_network_is_refused() {
        for text in [
            "",
            "/",
            "10.0.0.0/",
            "10.0.0.0/33",
            "::/129",
            "10.0.0.1/8",
            "a/8",
            "10.0.0.0/+8",
            "1.1.1.1/8/8",
            "::/-1",
        ] {
            let error = text.parse::<Network>().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidUrl, "{text}");
        }
    }
}
