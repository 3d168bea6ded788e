//! Parses URLs of the same origin as the last one without reading their host again: that is two thirds of
//! the work, and many requests go to one origin. A URL that is asked for again is not parsed at all.

use std::cell::RefCell;

use url::{ParseError, Url};

/// What a thread parsed last.
struct Recent {
    /// The URL as it was written.
    text: String,
    /// The bytes of it before its path, scheme and authority: `http://a.test:80`.
    prefix_len: usize,
    /// A URL that began with them, from the second of them on.
    base: Option<Url>,
    /// What `text` is, once it was parsed twice.
    url: Option<Url>,
}

/// Longer ones are not remembered.
const TEXT_BYTES_MAX: usize = 1024;

thread_local! {
    static RECENT: RefCell<Recent> = const {
        RefCell::new(Recent { text: String::new(), prefix_len: 0, base: None, url: None })
    };
}

/// The same as `Url::parse`.
pub(crate) fn parse(text: &str) -> Result<Url, ParseError> {
    RECENT.with_borrow_mut(|recent| {
        if recent.text == text
            && let Some(url) = &recent.url
        {
            return Ok(url.clone());
        }
        let Some((prefix, path)) = split(text) else { return Url::parse(text) };
        if recent.text.get(..recent.prefix_len) != Some(prefix) {
            recent.remember(text, prefix);
            recent.base = None;
            return Url::parse(text);
        }
        let url = match &recent.base {
            Some(base) => base.join(path)?,
            None => {
                let url = Url::parse(text)?;
                recent.base = url.join("/").ok();
                url
            }
        };
        if recent.text == text {
            recent.url = Some(url.clone());
        } else {
            recent.remember(text, prefix);
        }
        Ok(url)
    })
}

impl Recent {
    fn remember(&mut self, text: &str, prefix: &str) {
        self.text.clear();
        self.text.push_str(text);
        self.prefix_len = prefix.len();
        self.url = None;
    }
}

/// Cuts a URL before its path, where the path means the same relative to any URL of that origin:
/// not with a second slash, or what is read as one or skipped, behind the first.
fn split(text: &str) -> Option<(&str, &str)> {
    let start = if text.starts_with("https://") { 8 } else { 7 };
    if start == 7 && !text.starts_with("http://") {
        return None;
    }
    let ends_host = |byte: &u8| matches!(byte, b'/' | b'?' | b'#' | b'\\' | b'\t' | b'\r' | b'\n');
    let end = start + text.as_bytes().get(start..)?.iter().position(ends_host)?;
    let (prefix, path) = text.split_at(end);
    let mut bytes = path.bytes();
    let is_plain = text.len() <= TEXT_BYTES_MAX
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
            // The first two of an origin are parsed whole; of the three of a text the last is remembered.
            for path in paths.iter().chain(&paths).chain(&paths) {
                let text = format!("{origin}{path}");
                for _ in 0..3 {
                    assert_eq!(parse(&text), Url::parse(&text), "{text:?}");
                }
            }
        }
    }
}
