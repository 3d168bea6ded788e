//! What tells hosts apart, for politeness: a name in one spelling, or an address, without the port.

use stoop::Request;

use crate::politeness::HostGroup;
use crate::target::{authority, has_scheme, target};

/// Appends the key of the host that `line` leads to. False if it leads to none.
///
/// Nearly all lines have a host that is in its usual spelling already, or in capitals, and are only scanned.
pub(crate) fn host_key(line: &[u8], group: HostGroup, key: &mut Vec<u8>) -> bool {
    let host = host_of(authority(line));
    match names_its_host_plainly(line) && is_usual(host) {
        true => key.extend(host.iter().map(u8::to_ascii_lowercase)),
        false => {
            let Some(url) = normalised(line) else { return false };
            key.extend_from_slice(host_of(authority(url.as_bytes())));
        }
    }
    if key.last() == Some(&b'.') {
        key.pop();
    }
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
/// hyphens and dots, and no address, which has several spellings.
fn is_usual(host: &[u8]) -> bool {
    let last = host.strip_suffix(b".").unwrap_or(host).rsplit(|byte| *byte == b'.').next();
    let is_name = |last: &[u8]| last.first().is_some_and(u8::is_ascii_alphabetic);
    last.is_some_and(is_name)
        && host.iter().all(|byte| byte.is_ascii_alphanumeric() || b"-._".contains(byte))
        && !host.windows(4).any(|label| label.eq_ignore_ascii_case(b"xn--"))
}

/// The URL of a line, as it is requested.
fn normalised(line: &[u8]) -> Option<String> {
    let url = target(std::str::from_utf8(line).ok()?).ok()?;
    Request::get(&url).ok()?.url().map(str::to_owned)
}

#[cfg(test)]
mod tests {
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
            (&["http://127.0.0.1:80/", "http://127.1/", "http://0x7f000001/"], "127.0.0.1"),
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
