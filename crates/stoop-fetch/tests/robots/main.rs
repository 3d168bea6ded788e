//! robots.txt and X-Robots-Tag, through the public interface of the library alone.

mod google;
mod memory;
mod rfc9309;
mod tag;

use stoop_fetch::robots::RobotsTxt;

/// Whether a file allows a path to an agent.
fn is_allowed(file: impl AsRef<[u8]>, agent: &str, path: &str) -> bool {
    RobotsTxt::parse(file.as_ref(), agent).is_allowed(path)
}

/// Asserts which of these paths a file allows to an agent, and that it denies the others.
#[track_caller]
fn assert_paths(file: impl AsRef<[u8]>, agent: &str, allowed: &[&str], denied: &[&str]) {
    let file = file.as_ref();
    let robots = RobotsTxt::parse(file, agent);
    for (paths, expected) in [(allowed, true), (denied, false)] {
        for path in paths {
            let shown = file.escape_ascii();
            assert_eq!(robots.is_allowed(path), expected, "{path} for {agent}: {shown} {robots:?}");
        }
    }
}
