//! Invariant: whatever a robots.txt file says, to whichever agent and about whichever path,
//! - what is kept of it has a bound, by the length of the file (RFC 9309 §2.5);
//! - it says the same with lines that end otherwise, to an agent in capitals, and about a path in each of its
//!   spellings (RFC 9309 §2.2, §2.2.1, §2.2.2);
//! - it allows itself to be fetched (RFC 9309 §2.2.2);
//! - an X-Robots-Tag says to one agent by name what it says to all, and nothing to the others;
//! - nothing panics.

use stoop_fetch::robots::{Access, RobotsTag, RobotsTxt};

/// More than the file has: the agent and the path.
const NAMES_MAX: usize = 64;

/// The input is an agent, a path and a file, with line feeds between them.
///
/// # Panics
/// If the invariant does not hold.
pub fn check(data: &[u8]) {
    let mut parts = data.splitn(3, |byte| *byte == b'\n');
    let mut text = || {
        let part = parts.next().unwrap_or_default();
        String::from_utf8_lossy(&part[..part.len().min(NAMES_MAX)]).into_owned()
    };
    let (agent, path) = (text(), text());
    let file = parts.next().unwrap_or_default();
    check_tag(file, &agent);

    let robots = RobotsTxt::parse(file, &agent);
    let is_allowed = robots.is_allowed(&path);
    assert!(robots.memory() <= size_of::<RobotsTxt>() + 7 * file.len(), "{robots:?}");
    assert!(robots.is_allowed("/robots.txt"));
    assert_eq!(robots.clone().without_sitemaps().is_allowed(&path), is_allowed);

    let lines: Vec<_> = file.split(|byte| matches!(byte, b'\r' | b'\n')).collect();
    for end in [&b"\r\n"[..], b"\r", b"\n"] {
        assert_eq!(RobotsTxt::parse(&lines.join(end), &agent), robots, "{}", end.escape_ascii());
    }
    assert_eq!(RobotsTxt::parse(file, &agent.to_ascii_uppercase()), robots, "{agent}");
    if !path.contains('%') {
        assert_eq!(robots.is_allowed(&encoded(&path)), is_allowed, "{path}");
    }

    let access = Access::from_response(200, file, &agent);
    assert_eq!(access.is_allowed(&path), is_allowed);
    assert_eq!(access.clone().renewed(Access::Unreachable), access);
}

/// Another spelling of a path without escapes: all octets but slashes are encoded.
fn encoded(path: &str) -> String {
    let path = path.split('#').next().unwrap_or_default();
    let octet = |byte: u8| match byte {
        b'/' => "/".to_owned(),
        _ => format!("%{byte:02x}"),
    };
    path.bytes().map(octet).collect()
}

/// Reads a field of rules without a name in front.
fn check_tag(data: &[u8], agent: &str) {
    let field = data.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let tag = RobotsTag::parse([field], agent);
    assert_eq!(RobotsTag::parse([field, field], agent), tag, "said twice");
    if field.contains(&b':') || !agent.bytes().all(|byte| byte.is_ascii_alphabetic()) {
        return;
    }
    let named =
        |name: &str| RobotsTag::parse([&[name.as_bytes(), b":", field].concat()[..]], agent);
    if !agent.is_empty() {
        assert_eq!(named(agent), tag, "by name");
    }
    assert_eq!(named("other bot"), RobotsTag::default(), "to another");
}
