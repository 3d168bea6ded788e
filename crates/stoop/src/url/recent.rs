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
    /// Memory for a path, behind as many spaces as the prefix has bytes. The parser skips them, but begins with as much memory
    /// as its input is long, so that what it writes is not moved to more of it.
    padded: String,
    /// What `text` is, once it was parsed twice.
    url: Option<Url>,
}

/// Longer ones are not remembered.
const TEXT_BYTES_MAX: usize = 1024;

thread_local! {
    static RECENT: RefCell<Recent> = const {
        RefCell::new(Recent {
            text: String::new(),
            prefix_len: 0,
            base: None,
            padded: String::new(),
            url: None,
        })
    };
}

/// The same as `Url::parse`.
pub(crate) fn parse(text: &str) -> Result<Url, ParseError> {
    // A thread that ends has none any more.
    let parsed = RECENT.try_with(|recent| recent.borrow_mut().parse(text));
    parsed.unwrap_or_else(|_| Url::parse(text))
}

impl Recent {
    fn parse(&mut self, text: &str) -> Result<Url, ParseError> {
        if self.text == text
            && let Some(url) = &self.url
        {
            return Ok(url.clone());
        }
        let Some(path) = self.path_of_same_origin(text) else {
            if let Some((prefix, _)) = split(text) {
                self.remember(text, prefix.len());
                self.base = None;
            }
            return Url::parse(text);
        };
        let url = match &self.base {
            Some(base) => {
                self.padded.truncate(self.prefix_len);
                self.padded.push_str(path);
                base.join(&self.padded)?
            }
            None => {
                let url = Url::parse(text)?;
                self.base = url.join("/").ok();
                self.padded = " ".repeat(self.prefix_len);
                url
            }
        };
        if self.text == text {
            self.url = Some(url.clone());
        } else {
            self.remember(text, self.prefix_len);
        }
        Ok(url)
    }

    /// The path, and what follows it, of a URL that begins as the last one did.
    fn path_of_same_origin<'a>(&self, text: &'a str) -> Option<&'a str> {
        let (prefix, path) = text.split_at_checked(self.prefix_len)?;
        let is_same = prefix == self.text.get(..self.prefix_len)? && !prefix.is_empty();
        (is_same && is_plain(path) && text.len() <= TEXT_BYTES_MAX).then_some(path)
    }

    fn remember(&mut self, text: &str, prefix_len: usize) {
        self.text.clear();
        self.text.push_str(text);
        self.prefix_len = prefix_len;
        self.url = None;
    }
}

/// Cuts a URL before its path, where the path means the same relative to any URL of that origin:
/// not with a second slash, or what is read as one or skipped, behind the first. A URL with a user or
/// a password is not cut: it is not to stay in memory.
fn split(text: &str) -> Option<(&str, &str)> {
    let start = if text.starts_with("https://") { 8 } else { 7 };
    if start == 7 && !text.starts_with("http://") {
        return None;
    }
    let ends_host = |byte: &u8| matches!(byte, b'/' | b'?' | b'#' | b'\\' | b'\t' | b'\r' | b'\n');
    let end = start + text.as_bytes().get(start..)?.iter().position(ends_host)?;
    let (prefix, path) = text.split_at(end);
    let is_cut =
        text.len() <= TEXT_BYTES_MAX && end > start && !prefix.contains('@') && is_plain(path);
    is_cut.then_some((prefix, path))
}

/// Whether what follows an origin is a path that means the same relative to any URL of that origin.
fn is_plain(path: &str) -> bool {
    let mut bytes = path.bytes();
    bytes.next() == Some(b'/')
        && !matches!(bytes.next(), Some(b'/' | b'\\' | b'\t' | b'\r' | b'\n'))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A destructor of a thread's local may run after that of what is remembered.
    #[test]
    fn a_url_is_parsed_while_its_thread_ends() {
        struct ParsesWhenDropped;
        impl Drop for ParsesWhenDropped {
            fn drop(&mut self) {
                assert_eq!(parse("http://a.test/x").unwrap().path(), "/x");
            }
        }
        thread_local! {
            static LATER: ParsesWhenDropped = const { ParsesWhenDropped };
        }
        let thread = std::thread::spawn(|| {
            LATER.with(|_| ());
            parse("http://a.test/").unwrap();
        });
        thread.join().unwrap();
    }

    #[test]
    fn a_url_with_a_password_is_not_remembered() {
        for _ in 0..3 {
            parse("http://u:secret@a.test/").unwrap();
        }
        RECENT.with_borrow(|recent| assert!(!recent.text.contains("secret"), "{}", recent.text));
    }

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
