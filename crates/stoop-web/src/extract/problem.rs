//! [`Problem`]: one thing that is wrong with a request.

use std::borrow::Cow;
use std::fmt;

/// Bytes of a value that came with the request and is shown in an answer; what is longer is cut.
const SHOWN_BYTES_MAX: usize = 64;

/// Bytes of a name, and of a detail, that an answer tells; what is longer is cut. Either may repeat what the client sent, and
/// an error of serde does, whole.
const NAME_BYTES_MAX: usize = 256;
const DETAIL_BYTES_MAX: usize = 1024;

/// One thing that is wrong with a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    place: Place,
    name: String,
    detail: String,
}

/// Where in a request a problem is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Place {
    /// In a parameter of the path.
    Path,
    /// In the query.
    Query,
    /// In a field.
    Field,
    /// In a cookie.
    Cookie,
    /// In the content.
    Content,
    /// Not in the request: the service is at fault.
    Service,
}

impl Place {
    /// Its name in answers.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Path => "path",
            Self::Query => "query",
            Self::Field => "header",
            Self::Cookie => "cookie",
            Self::Content => "body",
            Self::Service => "service",
        }
    }
}

impl Problem {
    /// A problem in that place, with a part of that name; an empty name is the whole. What a client sent and a text
    /// of yours repeats belongs through [`shown`](Self::shown) first. An answer tells 256 bytes of the name, and 1 KiB of
    /// the detail.
    pub fn new(place: Place, name: impl Into<String>, detail: impl Into<String>) -> Self {
        Self { place, name: name.into(), detail: detail.into() }
    }

    /// A value as an answer may show it: quoted, escaped, and cut after 64 bytes.
    pub fn shown(value: &str) -> String {
        format!("\"{}\"", cut(value, SHOWN_BYTES_MAX).escape_debug())
    }

    /// The name and the detail as an answer tells them.
    pub(super) fn told(&self) -> (Cow<'_, str>, Cow<'_, str>) {
        (cut(&self.name, NAME_BYTES_MAX), cut(&self.detail, DETAIL_BYTES_MAX))
    }

    /// Where it is.
    pub fn place(&self) -> Place {
        self.place
    }

    /// The part that is wrong.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What is wrong with it.
    pub fn detail(&self) -> &str {
        &self.detail
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = self.place.as_str();
        match self.told() {
            (name, detail) if name.is_empty() => write!(f, "{place}: {detail}"),
            (name, detail) => write!(f, "{place} `{}`: {detail}", name.escape_debug()),
        }
    }
}

/// At most `max` bytes of a text, with dots for the rest.
fn cut(text: &str, max: usize) -> Cow<'_, str> {
    if text.len() <= max {
        return text.into();
    }
    format!("{}…", &text[..text.floor_char_boundary(max)]).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_name_or_detail_is_cut() {
        let problem = Problem::new(Place::Content, "ä".repeat(200), "x".repeat(2_000));
        let told = format!("body `{}…`: {}…", "ä".repeat(128), "x".repeat(1_024));
        assert_eq!(problem.to_string(), told);
        let whole = Problem::new(Place::Content, "a".repeat(256), "x".repeat(1_024));
        assert!(!whole.to_string().contains('…'));
    }

    #[test]
    fn what_a_client_sent_is_shown_escaped_and_cut() {
        assert_eq!(Problem::shown("a\r\n\u{1b}"), r#""a\r\n\u{1b}""#);
        let long = Problem::shown(&"ä".repeat(100));
        assert!(long.ends_with("ä…\"") && long.len() < 80, "{long}");
    }
}
