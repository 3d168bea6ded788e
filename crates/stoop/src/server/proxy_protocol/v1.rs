//! Version 1: one line of text (§2.1).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use super::parsed::Parsed;

pub(super) const SIGNATURE: &[u8] = b"PROXY ";

/// The longest line, with its CRLF: `PROXY UNKNOWN` and two addresses of IPv6 with ports.
const LINE_BYTES_MAX: usize = 107;

/// `PROXY` SP protocol SP source SP destination SP port SP port CRLF. Everything behind `UNKNOWN` is ignored.
pub(super) fn parse(received: &[u8]) -> Parsed {
    let window = &received[..received.len().min(LINE_BYTES_MAX)];
    let Some(end) = window.windows(2).position(|two| two == b"\r\n") else {
        // CR comes before LF alone.
        let begun = window.strip_suffix(b"\r").unwrap_or(window);
        return match received.len() < LINE_BYTES_MAX && is_text(begun) {
            true => Parsed::Partial,
            false => Parsed::Malformed,
        };
    };
    let line = std::str::from_utf8(&window[..end]).ok().filter(|line| is_text(line.as_bytes()));
    let Some(client) = line.and_then(client) else {
        return Parsed::Malformed;
    };
    Parsed::Complete { bytes: end + 2, client }
}

/// Whether a line may have these bytes, behind `UNKNOWN` too: however it is cut, it is judged the same.
fn is_text(line: &[u8]) -> bool {
    line.iter().all(|byte| (0x20..0x7f).contains(byte))
}

fn client(line: &str) -> Option<Option<SocketAddr>> {
    let mut words = line.split(' ').skip(1);
    let is_v4 = match words.next()? {
        "UNKNOWN" => return Some(None),
        "TCP4" => true,
        "TCP6" => false,
        _ => return None,
    };
    let mut address = || -> Option<IpAddr> {
        let word = words.next()?;
        match is_v4 {
            true => word.parse::<Ipv4Addr>().ok().map(Into::into),
            false => word.parse::<Ipv6Addr>().ok().map(Into::into),
        }
    };
    let (source, _) = (address()?, address()?);
    let mut port = || words.next().and_then(port);
    let (source_port, _) = (port()?, port()?);
    words.next().is_none().then(|| Some(SocketAddr::new(source.to_canonical(), source_port)))
}

/// `0` to `65535`, without leading zeros.
fn port(word: &str) -> Option<u16> {
    let is_number = word.bytes().all(|digit| digit.is_ascii_digit());
    let is_plain = word == "0" || !word.starts_with('0');
    (is_number && is_plain).then(|| word.parse().ok())?
}
