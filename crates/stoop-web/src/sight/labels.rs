//! The words that figures are told apart by: closed lists, whatever clients send.

use stoop::{CutShort, Method, StatusCode};

/// Methods, the last one for all others.
pub(super) const METHODS: [&str; 10] =
    ["GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH", OTHER];

/// Classes of statuses, the first one for none.
pub(super) const CLASSES: [&str; 6] = ["none", "1xx", "2xx", "3xx", "4xx", "5xx"];

/// Why responses are cut short.
pub(super) const REASONS: [&str; 5] = ["client", "timeout", "content", "server", "dropped"];

/// What is in no list. Patterns begin with a slash: no route has this name, or the next one.
pub(super) const OTHER: &str = "other";

/// The route of requests that no pattern matched.
pub(super) const FALLBACK: &str = "fallback";

pub(super) fn method_index(method: &Method) -> usize {
    let is_same = |name: &&str| *name == method.as_str();
    METHODS.iter().position(is_same).unwrap_or(METHODS.len() - 1)
}

/// The name of a method, if it is none of the others.
#[cfg(feature = "tracing")]
pub(crate) fn known_method(method: &Method) -> Option<&'static str> {
    Some(METHODS[method_index(method)]).filter(|name| *name != OTHER)
}

pub(super) fn class_index(status: Option<StatusCode>) -> usize {
    let class = status.map_or(0, |status| usize::from(status.as_u16() / 100));
    // 600 to 999 have no class (RFC 9110 §15): clients treat them as 5xx.
    class.min(CLASSES.len() - 1)
}

pub(super) fn reason_index(why: CutShort) -> usize {
    let is_same = |name: &&str| *name == why.as_str();
    REASONS.iter().position(is_same).unwrap_or(REASONS.len() - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_in_no_list_has_a_place_in_it() {
        let method =
            |name: &str| METHODS[method_index(&Method::from_bytes(name.as_bytes()).unwrap())];
        assert_eq!((method("GET"), method("get"), method("BREW")), ("GET", OTHER, OTHER));
        let class = |code| CLASSES[class_index(StatusCode::from_u16(code).ok())];
        assert_eq!((class(101), class(200), class(599), class(999)), ("1xx", "2xx", "5xx", "5xx"));
        assert_eq!(CLASSES[class_index(None)], "none");
        for why in [
            CutShort::Client,
            CutShort::Timeout,
            CutShort::Content,
            CutShort::Server,
            CutShort::Dropped,
        ] {
            assert_eq!(REASONS[reason_index(why)], why.as_str());
        }
    }
}
