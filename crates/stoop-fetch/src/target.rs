//! The URL that a line of a list stands for, and the worker that fetches it.

use std::borrow::Cow;
use std::net::Ipv4Addr;

use memchr::{memchr3, memrchr};

/// The URL that `line` stands for: a bare `host`, `host:port` or `host/path` means https.
///
/// The client checks whether it is a valid URL. Rejected here are only lines that a URL parser would
/// accept although they are none, such as those with control characters, which it removes.
///
/// # Errors
/// Why the line is no URL, as text.
pub fn target(line: &str) -> Result<Cow<'_, str>, &'static str> {
    // All bytes, without an early end, so that many are compared at once.
    if line.bytes().fold(false, |has, byte| has | byte.is_ascii_control()) {
        return Err("a control character is in no URL");
    }
    if has_scheme(line) {
        return Ok(Cow::Borrowed(line));
    }
    // A path has no host, but a parser that tolerates missing slashes would take part of it for one.
    let rest = line.strip_prefix("//").unwrap_or(line);
    match rest.bytes().next() {
        None => Err("there is no host"),
        Some(b'/') => Err("a path, and no host"),
        Some(_) if is_bare_number(rest) => Err("a number, and no host"),
        Some(_) => Ok(Cow::Owned(format!("https://{rest}"))),
    }
}

/// Whether `line` begins with a scheme (RFC 3986 §3.1) and a colon. `host:port` looks the same and has
/// none: what follows its colon is a number up to the end of the authority.
pub fn has_scheme(line: &str) -> bool {
    if line.starts_with("http://") || line.starts_with("https://") {
        return true;
    }
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

/// Whether the host is a number but not an IPv4 address of four parts, as `8` or `127.1`. URL parsers turn
/// it into an address, 0.0.0.8, which a list hardly ever means: more likely it has a column too many.
fn is_bare_number(line: &str) -> bool {
    let authority = line.split(['/', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default();
    let host = host.split(':').next().unwrap_or_default();
    let host = host.strip_suffix('.').unwrap_or(host);
    let last = host.rsplit('.').next().unwrap_or_default();
    let hex = last.strip_prefix("0x").or_else(|| last.strip_prefix("0X"));
    let is_number = match hex {
        Some(digits) => digits.bytes().all(|b| b.is_ascii_hexdigit()),
        None => !last.is_empty() && last.bytes().all(|b| b.is_ascii_digit()),
    };
    is_number && host.parse::<Ipv4Addr>().is_err()
}

/// Whether `line` begins with `http://`, so that its first request needs no TLS.
pub(crate) fn is_plain(line: &[u8]) -> bool {
    line.get(..7).is_some_and(|scheme| scheme.eq_ignore_ascii_case(b"http://"))
}

/// The index, below `workers`, of the worker that fetches `line`. Lines of one origin go to one worker, so that
/// its connections are reused. The same origin in an unusual spelling may go to another worker, which costs a
/// connection and is correct.
pub(crate) fn worker_of(line: &[u8], workers: usize) -> usize {
    match workers {
        0 | 1 => 0,
        _ => worker_of_key(authority(line), workers),
    }
}

/// The index, below `workers`, of the worker that fetches the lines with this key, in whatever letters.
pub(crate) fn worker_of_key(key: &[u8], workers: usize) -> usize {
    if workers < 2 {
        return 0;
    }
    // FNV-1a, as good as any on strings this short; its last bytes do not reach the high bits, so
    // one more multiplication spreads them.
    let hash = key.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte.to_ascii_lowercase())).wrapping_mul(0x0000_0100_0000_01b3)
    });
    let hash = (hash ^ (hash >> 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    // The high bits choose, without a division.
    ((u128::from(hash) * workers as u128) >> 64) as usize
}

/// The host and port of `line`, by a quick scan: without scheme, user information and default port.
pub(crate) fn authority(line: &[u8]) -> &[u8] {
    let host = host_and_port(line);
    host.strip_suffix(b":443").or_else(|| host.strip_suffix(b":80")).unwrap_or(host)
}

/// The same with its port, if it has one.
pub(crate) fn host_and_port(line: &[u8]) -> &[u8] {
    let rest = behind_scheme(line);
    let rest = memchr3(b'/', b'?', b'#', rest).map_or(rest, |end| &rest[..end]);
    memrchr(b'@', rest).map_or(rest, |at| &rest[at + 1..])
}

/// What is behind the scheme of `line` and its two slashes; `line` itself where it begins with no scheme.
fn behind_scheme(line: &[u8]) -> &[u8] {
    let usual = line.strip_prefix(b"https://").or_else(|| line.strip_prefix(b"http://"));
    if let Some(rest) = usual {
        return rest;
    }
    let is_of_scheme = |byte: &u8| byte.is_ascii_alphanumeric() || b"+-.".contains(byte);
    match line.windows(3).take(16).position(|w| w == b"://") {
        Some(at) if line[..at].iter().all(is_of_scheme) => &line[at + 3..],
        _ => line,
    }
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

    #[test]
    fn a_bare_host_means_https() {
        for (line, url) in [
            ("example.com", "https://example.com"),
            ("example.com:8443", "https://example.com:8443"),
            ("example.com:8443/x?y", "https://example.com:8443/x?y"),
            ("localhost:80#z", "https://localhost:80#z"),
            ("example.com/a:b", "https://example.com/a:b"),
            ("example.com?u=http://x/", "https://example.com?u=http://x/"),
            ("//example.com/a", "https://example.com/a"),
            ("user@example.com", "https://user@example.com"),
            ("[::1]:80/", "https://[::1]:80/"),
            ("127.0.0.1:80/", "https://127.0.0.1:80/"),
            ("bücher.example", "https://bücher.example"),
        ] {
            assert_eq!(target(line).as_deref(), Ok(url), "{line}");
        }
    }

    #[test]
    fn a_scheme_stays_as_it_is() {
        for line in ["http://a/", "HTTPS://A/", "ftp://a/", "mailto:a@b", "http:a", "x:", "http://"]
        {
            assert_eq!(target(line).as_deref(), Ok(line), "{line}");
        }
    }

    #[test]
    fn a_line_with_control_characters_is_no_url() {
        for line in ["http://a/\tb", "a\0b", "http://a/\r\nX: y", "a\x7f", ""] {
            assert!(target(line).is_err(), "{line:?}");
        }
    }

    #[test]
    fn a_path_is_no_url() {
        for line in ["/", "/etc/hosts", "//", "///etc/hosts"] {
            assert!(target(line).is_err(), "{line:?}");
        }
    }

    #[test]
    fn a_bare_number_is_no_host() {
        for line in [
            "8",
            "8/x",
            "8:80",
            "127.1",
            "0x7f.1",
            "2130706433",
            "1.2.3.4.5",
            "a.8",
            "1.2.3.",
            "0x",
        ] {
            assert!(target(line).is_err(), "{line:?}");
        }
        for line in
            ["8.8.8.8", "8.8.8.8.:80", "8a", "8.example", "1,8.example", "http://8/", "[::8]"]
        {
            assert!(target(line).is_ok(), "{line:?}");
        }
    }

    #[test]
    fn spellings_of_one_origin_go_to_one_core() {
        let worker = |line: &str| worker_of(line.as_bytes(), 7);
        for line in [
            "https://example.com/",
            "https://example.com:443/x",
            "http://Example.COM:80/x?y#z",
            "EXAMPLE.com",
            "https://me@example.com/",
            "example.com/http://other.example/",
            "example.com/x://other.example/",
        ] {
            assert_eq!(worker(line), worker("example.com"), "{line}");
        }
    }

    #[test]
    fn hosts_spread_evenly_over_the_workers() {
        for workers in [2, 3, 8] {
            let mut counts = vec![0_usize; workers];
            for n in 0..8_000 {
                counts[worker_of(format!("https://host-{n}.example/").as_bytes(), workers)] += 1;
            }
            let fair = 8_000 / workers;
            assert!(counts.iter().all(|&n| n.abs_diff(fair) < fair / 8), "{workers}: {counts:?}");
        }
    }
}
