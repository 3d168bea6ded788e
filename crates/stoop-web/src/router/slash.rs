//! [`TrailingSlash`]: what a slash at the end of a path means.

/// What becomes of a path that no pattern matches, but that one would match with a slash more or less at its end.
/// A path that a pattern matches is never changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TrailingSlash {
    /// `/users` and `/users/` are two resources (RFC 3986 §6.2.3), and the second has its own pattern or none.
    #[default]
    Exact,
    /// The client is sent to the path that there is: 308, which keeps method and content (RFC 9110 §15.4.9).
    Redirect,
    /// It is answered as the path that there is.
    Ignore,
}

/// The path with a slash more, or one less. None where it is the root, or would name a host: a reference
/// that begins with two slashes does (RFC 3986 §4.2), of which browsers take a backslash for one (URL standard §4.4).
pub(crate) fn other_form(path: &str) -> Option<String> {
    let names_host = path.starts_with("//") || path.starts_with("/\\");
    if path.len() < 2 || !path.starts_with('/') || names_host {
        return None;
    }
    Some(path.strip_suffix('/').map_or_else(|| format!("{path}/"), str::to_owned))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_other_form_never_names_a_host() {
        for (path, other) in [
            ("/users", Some("/users/")),
            ("/users/", Some("/users")),
            ("/a//", Some("/a/")),
            ("/", None),
            ("//evil.test/", None),
            ("//evil.test", None),
            ("/\\evil.test/", None),
            ("/\\/evil.test", None),
            ("/a\\b", Some("/a\\b/")),
            ("*", None),
            ("", None),
        ] {
            assert_eq!(other_form(path).as_deref(), other, "{path}");
        }
    }
}
