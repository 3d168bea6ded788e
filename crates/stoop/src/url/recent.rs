//! Parses URLs of the same origin as the last one without reading their host again: that is two thirds of
//! the work, and many requests go to one origin.

use std::cell::RefCell;

use url::{ParseError, Url};

/// What a thread parsed last.
struct Recent {
    /// Scheme and authority as they were written: `http://a.test:80`.
    prefix: String,
    /// A URL that began with it, from the second of them on.
    base: Option<Url>,
}

/// Longer ones are not remembered.
const PREFIX_BYTES_MAX: usize = 256;

thread_local! {
    static RECENT: RefCell<Recent> = const { RefCell::new(Recent { prefix: String::new(), base: None }) };
}

/// The same as `Url::parse`.
pub(crate) fn parse(text: &str) -> Result<Url, ParseError> {
    let Some((prefix, path)) = split(text) else { return Url::parse(text) };
    RECENT.with_borrow_mut(|recent| {
        if recent.prefix != prefix {
            recent.prefix.clear();
            recent.prefix.push_str(prefix);
            recent.base = None;
            return Url::parse(text);
        }
        match &recent.base {
            Some(base) => base.join(path),
            None => {
                let url = Url::parse(text)?;
                recent.base = url.join("/").ok();
                Ok(url)
            }
        }
    })
}

/// Cuts a URL before its path, where the path means the same relative to any URL of that origin:
/// not with a second slash, or what is read as one or skipped, behind the first.
fn split(text: &str) -> Option<(&str, &str)> {
    let start = if text.starts_with("https://") { 8 } else { 7 };
    if start == 7 && !text.starts_with("http://") {
        return None;
    }
    let end = start + text.get(start..)?.find(['/', '?', '#', '\\', '\t', '\r', '\n'])?;
    let (prefix, path) = text.split_at(end);
    let mut bytes = path.bytes();
    let is_plain = prefix.len() <= PREFIX_BYTES_MAX
        && end > start
        && bytes.next() == Some(b'/')
        && !matches!(bytes.next(), Some(b'/' | b'\\' | b'\t' | b'\r' | b'\n'));
    is_plain.then_some((prefix, path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_the_same_with_and_without_what_was_remembered() {
        let origins = [
            "http://a.test",
            "https://a.test",
            "http://a.test:80",
            "http://A.test:081",
            "http://",
            "http://u:p@a.test",
            "http://127.1",
            "http://[::1]:8",
            "http://a b",
            "http://b\u{fc}.test",
            "http:",
            "ftp://a.test",
            " http://a.test",
            "http://a.test:99999",
            "http:///a",
            "http://@",
            "http://a\t.test",
            "HTTP://a.test",
            "http://a.test\\b",
        ];
        let paths = [
            "",
            "/",
            "/x",
            "/x/../y?q#f",
            "//x",
            "/\\x",
            "/\t/x",
            "/\n",
            "\\x",
            "?q",
            "#f",
            "/?",
            "/#",
            "/ x ",
            "/%2e%2e/x",
            "/\u{e4}?\u{e4}#\u{e4}",
            "/a:b",
            "/./",
            "/..",
            "/x\\..\\y",
            "/@b/",
            "/C|/x",
            "/http://c/",
            "\t/x",
            "/\u{0}",
            "/x\u{1}",
            ":80/",
        ];
        for origin in origins {
            // The first two of an origin are parsed whole.
            for path in paths.iter().chain(&paths).chain(&paths) {
                let text = format!("{origin}{path}");
                assert_eq!(parse(&text), Url::parse(&text), "{text:?}");
            }
        }
    }
}
