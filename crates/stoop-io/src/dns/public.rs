//! Tells addresses of the public internet from others.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// IPv4 blocks that are not public, from IANA's special-purpose registry (RFC 6890 and successors)
/// and what clouds keep for themselves.
const V4_NOT_PUBLIC: &[(Ipv4Addr, u32)] = &[
    (Ipv4Addr::new(0, 0, 0, 0), 8),        // "this network", RFC 791
    (Ipv4Addr::new(10, 0, 0, 0), 8),       // private, RFC 1918
    (Ipv4Addr::new(100, 64, 0, 0), 10),    // behind a carrier's NAT, RFC 6598; some metadata
    (Ipv4Addr::new(127, 0, 0, 0), 8),      // loopback, RFC 1122
    (Ipv4Addr::new(168, 63, 129, 16), 32), // Azure's platform services
    (Ipv4Addr::new(169, 254, 0, 0), 16),   // link-local, RFC 3927; most clouds' metadata
    (Ipv4Addr::new(172, 16, 0, 0), 12),    // private, RFC 1918
    (Ipv4Addr::new(192, 0, 0, 0), 24),     // protocol assignments, RFC 6890; Oracle's metadata
    (Ipv4Addr::new(192, 0, 2, 0), 24),     // documentation, RFC 5737
    (Ipv4Addr::new(192, 88, 99, 0), 24),   // 6to4 relays, RFC 7526
    (Ipv4Addr::new(192, 168, 0, 0), 16),   // private, RFC 1918
    (Ipv4Addr::new(198, 18, 0, 0), 15),    // benchmarks, RFC 2544
    (Ipv4Addr::new(198, 51, 100, 0), 24),  // documentation, RFC 5737
    (Ipv4Addr::new(203, 0, 113, 0), 24),   // documentation, RFC 5737
    (Ipv4Addr::new(224, 0, 0, 0), 4),      // multicast, RFC 5771
    (Ipv4Addr::new(240, 0, 0, 0), 4),      // reserved and broadcast, RFC 1112
];

/// What IANA has given out as global unicast, RFC 4291 §2.4: everything public is within.
const V6_GLOBAL: (Ipv6Addr, u32) = (Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0), 3);

/// Blocks within it that are not public after all.
const V6_NOT_PUBLIC: &[(Ipv6Addr, u32)] = &[
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 23), // protocol assignments and Teredo, RFC 2928
    (Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0), 32), // documentation, RFC 3849
    (Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0), 20), // documentation, RFC 9637
];

/// 6to4, RFC 3056: the IPv4 address follows the first 16 bits.
const V6_6TO4: (Ipv6Addr, u32) = (Ipv6Addr::new(0x2002, 0, 0, 0, 0, 0, 0, 0), 16);

/// NAT64, RFC 6052: the IPv4 address is at the end.
const V6_NAT64: (Ipv6Addr, u32) = (Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, 0, 0), 96);

/// IPv4-mapped, RFC 4291 §2.5.5.2: the IPv4 address is at the end.
const V6_MAPPED: (Ipv6Addr, u32) = (Ipv6Addr::new(0, 0, 0, 0, 0, 0xffff, 0, 0), 96);

/// Whether `address` is unicast on the public internet: not private, loopback, link-local, shared,
/// reserved, multicast, for documentation, or a cloud's own. An IPv6 address that stands for an
/// IPv4 one (mapped, 6to4, NAT64) is judged by that.
///
/// It decides whether a redirect that began on the public internet may go to an address: apply it to
/// the address that is connected to, after resolving, not to the name.
pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => is_public_v4(v4),
        IpAddr::V6(v6) => is_public_v6(v6),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let within =
        |(net, len): &(Ipv4Addr, u32)| (address.to_bits() ^ net.to_bits()).leading_zeros() >= *len;
    !V4_NOT_PUBLIC.iter().any(within)
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let within =
        |(net, len): &(Ipv6Addr, u32)| (address.to_bits() ^ net.to_bits()).leading_zeros() >= *len;
    if within(&V6_MAPPED) || within(&V6_NAT64) {
        return is_public_v4(Ipv4Addr::from_bits(address.to_bits() as u32));
    }
    if within(&V6_6TO4) {
        return is_public_v4(Ipv4Addr::from_bits((address.to_bits() >> 80) as u32));
    }
    within(&V6_GLOBAL) && !V6_NOT_PUBLIC.iter().any(within)
}

#[cfg(test)]
mod tests {
    use super::is_public;

    const PUBLIC: &[&str] = &[
        "1.1.1.1",
        "8.8.8.8",
        "9.255.255.255",
        "11.0.0.0",
        "100.63.255.255",
        "100.128.0.0",
        "128.0.0.1",
        "168.63.129.15",
        "169.253.255.255",
        "172.15.255.255",
        "172.32.0.0",
        "192.0.1.1",
        "192.167.255.255",
        "198.17.255.255",
        "198.20.0.0",
        "223.255.255.255",
        "2606:4700:4700::1111",
        "2a00:1450:4001:82b::200e",
        "2001:4860:4860::8888",
        "::ffff:8.8.8.8",
        "64:ff9b::8.8.8.8",
        "2002:808:808::1",
    ];

    const NOT_PUBLIC: &[&str] = &[
        "0.0.0.0",
        "0.1.2.3",
        "10.0.0.1",
        "10.255.255.255",
        "100.64.0.1",
        "100.100.100.200",
        "100.127.255.255",
        "127.0.0.1",
        "127.1.2.3",
        "168.63.129.16",
        "169.254.0.1",
        "169.254.169.254",
        "172.16.0.1",
        "172.31.255.255",
        "192.0.0.1",
        "192.0.0.192",
        "192.0.2.1",
        "192.88.99.1",
        "192.168.0.1",
        "192.168.255.255",
        "198.18.0.1",
        "198.19.255.255",
        "198.51.100.1",
        "203.0.113.1",
        "224.0.0.1",
        "239.255.255.255",
        "240.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "::8.8.8.8",
        "::ffff:127.0.0.1",
        "::ffff:10.0.0.1",
        "::ffff:169.254.169.254",
        "::ffff:0:8.8.8.8",
        "64:ff9b::10.0.0.1",
        "64:ff9b::169.254.169.254",
        "64:ff9b:1::8.8.8.8",
        "100::1",
        "2001::1",
        "2001:0:53aa:64c:0:1234:5678:9abc",
        "2001:db8::1",
        "2001:20::1",
        "2002:7f00:1::1",
        "2002:a00:1::1",
        "2002:a9fe:a9fe::1",
        "3fff::1",
        "5f00::1",
        "fc00::1",
        "fd00:ec2::254",
        "fe80::1",
        "fec0::1",
        "ff02::1",
        "ff0e::1",
    ];

    #[test]
    fn public_addresses_are_told_from_others() {
        for address in PUBLIC {
            assert!(is_public(address.parse().unwrap()), "{address} is public");
        }
        for address in NOT_PUBLIC {
            assert!(!is_public(address.parse().unwrap()), "{address} is not public");
        }
    }
}
