//! What tells hosts apart, for politeness: a name in one spelling, or an address, without the port.

use std::borrow::Cow;
use std::io::Write;
use std::net::{IpAddr, Ipv4Addr};

use stoop::Request;

use crate::politeness::HostGroup;
use crate::target::{authority, has_scheme, host_and_port, is_plain, target};

/// Appends the key of the host that `line` leads to. False if it leads to none. Where hosts are told apart by their
/// addresses, that is the key of one whose address is not known.
///
/// Nearly all lines have a host that is in its usual spelling already, or in capitals, and are only scanned.
pub(crate) fn host_key(line: &[u8], group: HostGroup, key: &mut Vec<u8>) -> bool {
    let Some(line) = in_usual_spelling(line) else { return false };
    push_host(&line, key);
    // An address has no domain, and ends in a digit or a bracket.
    if group == HostGroup::RegistrableDomain
        && key.last().is_some_and(u8::is_ascii_alphabetic)
        && let Some(domain) = psl::domain(key)
    {
        let start = key.len() - domain.as_bytes().len();
        key.drain(..start);
    }
    !key.is_empty()
}

/// Appends the key of a host with this address, which is that of a URL in which the address stands.
pub(crate) fn address_key(address: IpAddr, key: &mut Vec<u8>) {
    // Writing into memory does not fail.
    let _ = match address {
        IpAddr::V4(address) => write!(key, "{address}"),
        IpAddr::V6(address) => write!(key, "[{address}]"),
    };
}

/// Puts what tells the server that `line` leads to from others in place of `key`: its [host's key](host_key), without a
/// group, a colon and its port. Returns the length of the former; none if the line leads nowhere.
pub(crate) fn server_key(line: &[u8], key: &mut Vec<u8>) -> Option<usize> {
    key.clear();
    let line = in_usual_spelling(line)?;
    push_host(&line, key);
    let host = key.len();
    let authority = host_and_port(&line);
    match &authority[host_of(authority).len()..] {
        port @ [b':', _, ..] => key.extend_from_slice(port),
        _ if is_plain(&line) => key.extend_from_slice(b":80"),
        _ => key.extend_from_slice(b":443"),
    }
    (host > 0).then_some(host)
}

/// A line whose host and port are found by a scan.
fn in_usual_spelling(line: &[u8]) -> Option<Cow<'_, [u8]>> {
    match names_its_host_plainly(line) && is_usual(host_of(authority(line))) {
        true => Some(Cow::Borrowed(line)),
        false => normalised(line).map(|url| Cow::Owned(url.into_bytes())),
    }
}

/// Appends the host of a line in its usual spelling.
fn push_host(line: &[u8], key: &mut Vec<u8>) {
    key.extend(host_of(authority(line)).iter().map(u8::to_ascii_lowercase));
    if key.last() == Some(&b'.') {
        key.pop();
    }
}

/// Whether the authority of a line is what is between two slashes and the next, or the line's beginning.
fn names_its_host_plainly(line: &[u8]) -> bool {
    let begins_with = |scheme: &[u8]| {
        line.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme))
    };
    begins_with(b"http://")
        || begins_with(b"https://")
        || std::str::from_utf8(line).is_ok_and(|line| !has_scheme(line))
}

/// The host of an authority that has no user information: what is before the port.
fn host_of(authority: &[u8]) -> &[u8] {
    if authority.starts_with(b"[") {
        let end = authority.iter().position(|byte| *byte == b']');
        return end.map_or(authority, |end| &authority[..=end]);
    }
    let end = authority.iter().position(|byte| *byte == b':');
    end.map_or(authority, |end| &authority[..end])
}

/// Whether a host is a name that no parser of URLs turns into another one, but for capitals: of letters, digits,
/// hyphens and dots; or an address of IPv4 in its usual spelling.
fn is_usual(host: &[u8]) -> bool {
    let last = host.strip_suffix(b".").unwrap_or(host).rsplit(|byte| *byte == b'.').next();
    let is_name = |last: &[u8]| last.first().is_some_and(u8::is_ascii_alphabetic);
    if !last.is_some_and(is_name) {
        return std::str::from_utf8(host).is_ok_and(|host| host.parse::<Ipv4Addr>().is_ok());
    }
    host.iter().all(|byte| byte.is_ascii_alphanumeric() || b"-._".contains(byte))
        && !host.windows(4).any(|label| label[2..] == *b"--" && label.eq_ignore_ascii_case(b"xn--"))
}

/// The URL of a line, as it is requested.
fn normalised(line: &[u8]) -> Option<String> {
    let url = target(std::str::from_utf8(line).ok()?).ok()?;
    Request::get(&url).ok()?.url().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use super::*;

    fn key(line: &str, group: HostGroup) -> Option<String> {
        let mut key = Vec::new();
        host_key(line.as_bytes(), group, &mut key)
            .then(|| String::from_utf8(key).expect("hosts are ASCII"))
    }

    #[test]
    fn all_spellings_of_a_host_have_one_key() {
        for (lines, expected) in [
            (
                &[
                    "http://example.com/",
                    "https://EXAMPLE.com:8443/x?y#z",
                    "example.com",
                    "example.com.:80/",
                    "//me:secret@Example.Com/http://other.example/",
                    "http:\\\\example.com\\",
                    "http:example.com",
                    "http://ex%61mple.com/",
                    "example.com/s://b.example/x",
                ][..],
                "example.com",
            ),
            (
                &[
                    "http://127.0.0.1:80/",
                    "http://127.1/",
                    "http://0x7f000001/",
                    "http://127.000.000.001/",
                ],
                "127.0.0.1",
            ),
            (&["http://[::1]:8080/", "http://[0:0:0:0:0:0:0:1]/"], "[::1]"),
            (
                &["http://b\u{fc}cher.example/", "https://XN--bcher-kva.example"],
                "xn--bcher-kva.example",
            ),
        ] {
            for line in lines {
                assert_eq!(key(line, HostGroup::Host).as_deref(), Some(expected), "{line}");
            }
        }
    }

    #[test]
    fn what_is_no_url_has_none() {
        for line in
            ["", "/path", "http://", "http:///", "a b", "http://[::1/", "mailto:a@b", "\u{1}"]
        {
            assert_eq!(key(line, HostGroup::Host), None, "{line:?}");
        }
    }

    #[test]
    fn a_server_is_a_host_and_a_port() {
        let mut key = b"what was there".to_vec();
        for (line, expected) in [
            ("http://Example.com", "example.com:80"),
            ("http://me@example.com.:80/x", "example.com:80"),
            ("https://example.com:/", "example.com:443"),
            ("example.com/x:1", "example.com:443"),
            ("example.com:8443", "example.com:8443"),
            ("http:\\\\example.com\\", "example.com:80"),
            ("http://127.1:81/", "127.0.0.1:81"),
            ("https://[0::1]:443", "[::1]:443"),
        ] {
            let host = server_key(line.as_bytes(), &mut key).expect(line);
            assert_eq!(String::from_utf8_lossy(&key), expected, "{line}");
            let port = expected.rsplit(':').next().expect("a port");
            assert_eq!(host + 1 + port.len(), key.len(), "{line}");
        }
        assert_eq!(server_key(b"http:///", &mut key), None);
        assert_eq!(server_key(b"a b", &mut key), None);
    }

    #[test]
    fn an_address_has_the_key_of_a_url_in_which_it_stands() {
        for address in ["127.0.0.1", "2001:db8::1"] {
            let address: IpAddr = address.parse().expect("an address");
            let mut found = Vec::new();
            address_key(address, &mut found);
            let url = format!("http://{}/", SocketAddr::new(address, 8080));
            assert_eq!(key(&url, HostGroup::Address).map(String::into_bytes), Some(found));
        }
    }

    #[test]
    fn names_of_one_registrable_domain_have_one_key() {
        for (line, expected) in [
            ("http://a.b.example.co.uk/", "example.co.uk"),
            ("https://EXAMPLE.co.uk", "example.co.uk"),
            ("http://one.github.io/", "one.github.io"),
            ("http://127.0.0.1/", "127.0.0.1"),
            ("http://[::1]/", "[::1]"),
            ("http://localhost/", "localhost"),
        ] {
            assert_eq!(
                key(line, HostGroup::RegistrableDomain).as_deref(),
                Some(expected),
                "{line}"
            );
        }
    }
}
