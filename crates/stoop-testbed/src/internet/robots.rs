//! The robots.txt of each host (RFC 9309).

use super::hosts::HostKind;
use super::planned_response::PlannedResponse;

/// The file of the hosts that have one: what is below [`PRIVATE`](super::route::PRIVATE) is forbidden to all.
const FILE: &str = "User-agent: *\nDisallow: /private/\n";

/// Whether a target is that of the file.
pub(super) fn is_asked_for(target: &str) -> bool {
    target.split('?').next() == Some("/robots.txt")
}

/// The response to a request for the file. The log has it as one of the host's first URL.
pub(super) fn response(kind: HostKind, host: u64) -> PlannedResponse {
    let (status, text) = match kind {
        HostKind::Robots => (200, Some(FILE)),
        HostKind::RobotsError => (503, None),
        _ => (404, None),
    };
    let body = text.map_or(0, |text| text.len() as u64);
    PlannedResponse { text, body, ..PlannedResponse::bodiless(Some(host), status) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::internet::route::PRIVATE;

    #[test]
    fn the_file_forbids_the_private_paths() {
        assert!(FILE.lines().any(|line| line == format!("Disallow: {PRIVATE}/")));
        assert_eq!(response(HostKind::Robots, 7).text, Some(FILE));
        assert_eq!(response(HostKind::Good, 7).status, 404);
    }

    #[test]
    fn the_file_is_at_one_path() {
        assert!(is_asked_for("/robots.txt") && is_asked_for("/robots.txt?1"));
        assert!(!is_asked_for("/p/robots.txt") && !is_asked_for("/robots.txt/"));
    }
}
