//! Patterns of hosts, and which of them a request is for.

/// A host, or all below one: `*.example.com`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HostPattern {
    /// In lower case, without the asterisk.
    name: Box<str>,
    is_suffix: bool,
}

impl HostPattern {
    /// Reads `example.com`, `*.example.com` or `[::1]`.
    pub(crate) fn new(pattern: &str) -> Result<Self, &'static str> {
        let (name, is_suffix) = match pattern.strip_prefix("*.") {
            Some(rest) => (rest, true),
            None => (pattern, false),
        };
        if name.is_empty() || name.contains(['*', '/', '@', ' ', '{']) {
            return Err("a host is written `example.com`, or `*.example.com` for those below it");
        }
        if host(name) != name {
            return Err("a host is matched without its port");
        }
        let name = name.trim_end_matches('.').to_ascii_lowercase().into();
        Ok(Self { name, is_suffix })
    }

    /// Whether the host of `authority` is this one; whatever its port and the case of its letters.
    pub(crate) fn matches(&self, authority: &str) -> bool {
        let host = host(authority);
        let host = host.strip_suffix('.').unwrap_or(host);
        match host.len().checked_sub(self.name.len()) {
            Some(0) => !self.is_suffix && host.eq_ignore_ascii_case(&self.name),
            Some(at @ 2..) if self.is_suffix => {
                host.split_at_checked(at).is_some_and(|(sub, rest)| {
                    sub.ends_with('.') && rest.eq_ignore_ascii_case(&self.name)
                })
            }
            _ => false,
        }
    }

    /// Exact names come before suffixes, and long suffixes before short ones.
    pub(crate) fn rank(&self) -> (bool, usize) {
        (self.is_suffix, usize::MAX - self.name.len())
    }
}

/// The host of an authority, without its port (RFC 3986 §3.2).
fn host(authority: &str) -> &str {
    match authority.rsplit_once(':') {
        // The colons of an IPv6 address are within brackets.
        Some((host, port)) if !port.contains(']') => host,
        _ => authority,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_matched_without_port_and_case() {
        for (pattern, authority, is) in [
            ("example.com", "Example.COM:8080", true),
            ("example.com", "example.com.", true),
            ("Example.com", "example.com", true),
            ("example.com", "a.example.com", false),
            ("example.com", "", false),
            ("*.example.com", "a.b.example.com", true),
            ("*.example.com", "example.com", false),
            ("*.example.com", ".example.com", false),
            ("*.example.com", "badexample.com", false),
            ("[::1]", "[::1]:80", true),
            ("[::1]", "[::1]", true),
        ] {
            assert_eq!(
                HostPattern::new(pattern).unwrap().matches(authority),
                is,
                "{pattern} {authority}"
            );
        }
        for malformed in ["", "*", "*.", "a.*.b", "a.test:80", "http://a.test", "{a}.test"] {
            assert!(HostPattern::new(malformed).is_err(), "{malformed}");
        }
    }
}
