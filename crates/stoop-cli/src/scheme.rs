//! Tells a line that begins with a URL's scheme from one that begins with a host.

/// Whether `line` begins with a scheme (RFC 3986 §3.1) and a colon. `host:port` looks the same and has
/// none: what follows its colon is a number up to the end of the authority.
pub(crate) fn has_scheme(line: &str) -> bool {
    let Some(colon) = line.find([':', '/', '?', '#']) else { return false };
    let (scheme, rest) = line.split_at(colon);
    let Some(rest) = rest.strip_prefix(':') else { return false };
    if !scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        || !scheme.bytes().all(|b| b.is_ascii_alphanumeric() || b"+-.".contains(&b))
    {
        return false;
    }
    let port = rest.split(['/', '?', '#']).next().unwrap_or_default();
    port.is_empty() || !port.bytes().all(|b| b.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_with_a_port_has_no_scheme() {
        for line in ["http://a/", "HTTPS://A/", "mailto:a@b", "http:a", "x:", "a:80b", "x+y.z:a"] {
            assert!(has_scheme(line), "{line}");
        }
        for line in ["a", "a:80", "a:80/x", "a/b:c", "//a:b", "1a:b", "a_b:c", ":a", ""] {
            assert!(!has_scheme(line), "{line}");
        }
    }
}
