//! Version 2: a binary header with addresses and TLVs (§2.2).

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

use super::checksum::Crc32c;
use super::parsed::{HEADER_BYTES_MAX, Parsed};

pub(super) const SIGNATURE: &[u8] = b"\r\n\r\n\0\r\nQUIT\n";

/// Signature, version and command, family and protocol, length.
const FIXED_BYTES: usize = 16;

/// The TLV whose value is a checksum of the whole header, computed with zeros in its place (§2.2.1).
const TYPE_CRC32C: u8 = 0x03;

pub(super) fn parse(received: &[u8]) -> Parsed {
    let Some((fixed, rest)) = received.split_first_chunk::<FIXED_BYTES>() else {
        return match received.get(SIGNATURE.len()).is_some_and(|byte| byte >> 4 != 2) {
            true => Parsed::Malformed,
            false => Parsed::Partial,
        };
    };
    let [version_and_command, family, high, low] = [fixed[12], fixed[13], fixed[14], fixed[15]];
    let length = usize::from(u16::from_be_bytes([high, low]));
    let bytes = FIXED_BYTES + length;
    // Another version or command must be refused; and another family than UNSPEC, INET, INET6 and UNIX, and another
    // protocol than UNSPEC, STREAM and DGRAM, but with LOCAL, where they are ignored.
    let is_known = match version_and_command {
        0x20 => true,
        0x21 => family >> 4 <= 0x3 && family & 0xf <= 0x2,
        _ => false,
    };
    if !is_known || bytes > HEADER_BYTES_MAX {
        return Parsed::Malformed;
    }
    let Some(content) = rest.get(..length) else { return Parsed::Partial };
    // LOCAL: of a connection that the proxy made for itself, everything behind the fixed part is discarded.
    if version_and_command == 0x20 {
        return Parsed::Complete { bytes, client: None };
    }
    let addresses = match family {
        0x11 => 12,
        0x21 => 36,
        0x31 | 0x32 => 216,
        0x12 => 12,
        0x22 => 36,
        // Where family or protocol is UNSPEC it is not known how long addresses are, and so where TLVs begin.
        _ => length,
    };
    let Some((addresses, tlvs)) = content.split_at_checked(addresses) else {
        return Parsed::Malformed;
    };
    if !are_sound(tlvs, &received[..bytes]) {
        return Parsed::Malformed;
    }
    let client = match family {
        0x11 => client::<4>(addresses, |ip| Ipv4Addr::from(ip).into()),
        0x21 => client::<16>(addresses, |ip| Ipv6Addr::from(ip).to_canonical()),
        _ => None,
    };
    Parsed::Complete { bytes, client }
}

/// Two addresses, then two ports, of which the first are the client's.
fn client<const N: usize>(
    addresses: &[u8],
    ip: impl FnOnce([u8; N]) -> std::net::IpAddr,
) -> Option<SocketAddr> {
    let (source, rest) = addresses.split_first_chunk::<N>()?;
    let port = rest.get(N..)?.first_chunk::<2>()?;
    Some(SocketAddr::new(ip(*source), u16::from_be_bytes(*port)))
}

/// Whether the TLVs fill what is left of the header, and its checksum is right if it has one.
fn are_sound(mut tlvs: &[u8], header: &[u8]) -> bool {
    while let Some((&[kind, high, low], rest)) = tlvs.split_first_chunk() {
        let length = usize::from(u16::from_be_bytes([high, low]));
        let Some((value, rest)) = rest.split_at_checked(length) else { return false };
        if kind == TYPE_CRC32C {
            let Ok(expected) = <[u8; 4]>::try_from(value) else { return false };
            let at = header.len() - rest.len() - length;
            let mut computed = Crc32c::default();
            computed.update(&header[..at]);
            computed.update(&[0; 4]);
            computed.update(&header[at + length..]);
            if computed.value() != u32::from_be_bytes(expected) {
                return false;
            }
        }
        tlvs = rest;
    }
    tlvs.is_empty()
}
