//! `--cache-control`: what Cache-Control says of files, by their paths.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use stoop::Fields;

use crate::failure::CommandFailure;

/// Rules, of which the first that a path matches holds.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct CacheControl(Vec<Rule>);

#[derive(Debug, PartialEq, Eq)]
struct Rule {
    /// All files without one.
    pattern: Option<String>,
    value: String,
}

impl CacheControl {
    /// The rules that were given, each `VALUE` or `PATTERN:VALUE`.
    ///
    /// # Errors
    /// [`CommandFailure::Usage`] for a value that no field can have, and a pattern that is empty.
    pub(super) fn parse(given: &[String]) -> Result<Self, CommandFailure> {
        let rules = given.iter().map(|text| {
            let (pattern, value) = match text.split_once(':') {
                Some((pattern, value)) => (Some(pattern.trim().to_owned()), value.trim()),
                None => (None, text.trim()),
            };
            let wrong = |why: &str| {
                Err(CommandFailure::Usage(format!(
                    "--cache-control {}: {why}",
                    text.escape_debug()
                )))
            };
            if pattern.as_deref() == Some("") || value.is_empty() {
                return wrong(
                    "write VALUE, or PATTERN:VALUE, such as 'no-cache' or '*.js: max-age=3600'",
                );
            }
            if pattern.is_none() && (value.contains('*') || value.starts_with('/')) {
                return wrong("a colon is missing behind the pattern: '*.js: max-age=3600'");
            }
            if text.contains(char::is_control) {
                return wrong("there is a control character in it");
            }
            match Fields::new().push("cache-control", value.as_bytes()) {
                Ok(()) => Ok(Rule { pattern, value: value.to_owned() }),
                Err(_) => wrong("that is no value of a field"),
            }
        });
        rules.collect::<Result<_, _>>().map(Self)
    }

    /// Whether there is no rule.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The value for the file at this path below the directory.
    pub(super) fn of(&self, path: &Path) -> Option<String> {
        let path = path.as_os_str().as_bytes();
        let found = self.0.iter().find(|rule| {
            rule.pattern.as_deref().is_none_or(|pattern| is_matched(pattern.as_bytes(), path))
        });
        found.map(|rule| rule.value.clone())
    }
}

/// Whether a pattern is that of a path below the directory: of the whole path if it begins with a slash, else of the last name.
fn is_matched(pattern: &[u8], path: &[u8]) -> bool {
    match pattern.strip_prefix(b"/") {
        Some(pattern) => is_like(pattern, path),
        None => is_like(pattern, path.rsplit(|byte| *byte == b'/').next().unwrap_or(path)),
    }
}

/// Whether a text is like a pattern, in which `*` stands for any text.
fn is_like(pattern: &[u8], text: &[u8]) -> bool {
    let mut parts = pattern.split(|byte| *byte == b'*');
    let Some(mut rest) = parts.next().and_then(|first| text.strip_prefix(first)) else {
        return false;
    };
    let mut parts: Vec<&[u8]> = parts.collect();
    // Without a star it is the whole text.
    let Some(last) = parts.pop() else { return rest.is_empty() };
    for part in parts {
        // The first place is as good as any: what is behind it is the longest rest.
        let found = (0..=rest.len()).find(|at| rest[*at..].starts_with(part));
        let Some(at) = found else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_text() {
        for (pattern, text, expected) in [
            ("*.js", "app.js", true),
            ("*.js", ".js", true),
            ("*.js", "app.jsx", false),
            ("app.*.js", "app.1a.js", true),
            ("app.*.js", "app.js", false),
            ("a*b*c", "aXbYbZc", true),
            ("a*b*c", "ac", false),
            ("a*a", "a", false),
            ("*", "", true),
            ("**", "x", true),
            ("x", "x", true),
            ("x", "xy", false),
        ] {
            assert_eq!(is_like(pattern.as_bytes(), text.as_bytes()), expected, "{pattern} {text}");
        }
    }

    #[test]
    fn the_first_rule_that_a_path_matches_holds() {
        let given = ["/assets/*: max-age=31536000, immutable", "*.html:no-cache", "max-age=60"];
        let rules = CacheControl::parse(&given.map(str::to_owned)).unwrap();
        for (path, expected) in [
            ("assets/a/b.html", "max-age=31536000, immutable"),
            ("index.html", "no-cache"),
            ("x/assets/index.html", "no-cache"),
            ("a.txt", "max-age=60"),
        ] {
            assert_eq!(rules.of(Path::new(path)).as_deref(), Some(expected), "{path}");
        }
        let rules = CacheControl::parse(&["*.js:no-store".to_owned()]).unwrap();
        assert_eq!((rules.of(Path::new("a.js/b")), rules.is_empty()), (None, false));
        assert!(CacheControl::parse(&[]).unwrap().is_empty());
    }

    #[test]
    fn what_is_no_rule_is_refused() {
        for wrong in [
            "",
            " ",
            "*.js:",
            ":no-cache",
            "no-cache\r\nx: y",
            "*.js:a\nb",
            "*.js no-cache",
            "/a no-cache",
        ] {
            let parsed = CacheControl::parse(&[wrong.to_owned()]);
            let Err(CommandFailure::Usage(message)) = parsed else { panic!("{wrong:?}") };
            assert!(message.starts_with("--cache-control ") && !message.contains('\n'));
        }
    }
}
