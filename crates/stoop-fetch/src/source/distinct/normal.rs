//! The URL of a request, in one spelling for all lines that lead to it.

use std::borrow::Cow;

use url::Url;

use crate::target::target;

/// The URL that is requested for `line`, without its fragment; `line` itself where that is no URL.
///
/// Spellings that the URL standard makes one are one: of scheme and host, with or without the default port, an empty
/// path, dot segments, characters that are percent-encoded on the way. What is percent-encoded already stays as it is,
/// as it does in the request.
pub(super) fn normal(line: &[u8]) -> Cow<'_, [u8]> {
    if is_normal(line) {
        return Cow::Borrowed(line);
    }
    let text = std::str::from_utf8(line).ok();
    let url = text.and_then(|text| Url::parse(&target(text).ok()?).ok());
    match url {
        Some(mut url) => {
            url.set_fragment(None);
            Cow::Owned(String::from(url).into_bytes())
        }
        None => Cow::Borrowed(line),
    }
}

/// Whether a parser would leave `line` as it is, or have none of it. Most lines are such, and this costs a tenth of
/// parsing. It may say no of others.
fn is_normal(line: &[u8]) -> bool {
    let rest = line.strip_prefix(b"https://").or_else(|| line.strip_prefix(b"http://"));
    let Some(rest) = rest else { return false };
    let Some(path) = rest.iter().position(|&byte| byte == b'/') else { return false };
    is_normal_host(&rest[..path]) && is_normal_path(&rest[path..])
}

/// Whether a host is a name in small letters, and not an address nor Punycode.
fn is_normal_host(host: &[u8]) -> bool {
    let is_of_name =
        |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b".-".contains(byte);
    let last = host.rsplit(|&byte| byte == b'.').next().unwrap_or_default();
    host.iter().all(is_of_name)
        && last.first().is_some_and(u8::is_ascii_lowercase)
        && !host.windows(4).any(|part| part == b"xn--")
}

/// Whether a path, with a query, has neither dot segments nor anything that is encoded on the way, nor a fragment.
fn is_normal_path(path: &[u8]) -> bool {
    let mut before = 0;
    let mut is_query = false;
    path.iter().all(|&byte| {
        // A segment that begins so may be one of dots: `.`, `..`, `%2e`.
        let may_be_dots = !is_query && before == b'/' && (byte == b'.' || byte == b'%');
        is_query |= byte == b'?';
        before = byte;
        !may_be_dots && (byte.is_ascii_alphanumeric() || b"/-._~!$&()*+,;=:@%?".contains(&byte))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn normal_text(line: &str) -> String {
        String::from_utf8(normal(line.as_bytes()).into_owned()).expect("text")
    }

    #[test]
    fn spellings_of_one_request_are_one() {
        for (line, url) in [
            ("http://example.com/a?b=c", "http://example.com/a?b=c"),
            ("HTTP://Example.COM/A", "http://example.com/A"),
            ("http://example.com:80/", "http://example.com/"),
            ("https://example.com:443", "https://example.com/"),
            ("http://example.com:443/", "http://example.com:443/"),
            ("http://example.com", "http://example.com/"),
            ("example.com", "https://example.com/"),
            ("http://example.com/a/./b/../c", "http://example.com/a/c"),
            ("http://example.com/a/%2e%2E/c", "http://example.com/c"),
            ("http://example.com/a#b", "http://example.com/a"),
            ("http://example.com/a?b#c", "http://example.com/a?b"),
            ("http://example.com/a b", "http://example.com/a%20b"),
            ("http://bücher.example/", "http://xn--bcher-kva.example/"),
            ("http://0x7f.1/", "http://127.0.0.1/"),
        ] {
            assert_eq!(normal_text(line), url, "{line}");
        }
    }

    /// What is another request, or may be one to its server.
    #[test]
    fn different_requests_stay_different() {
        let lines = [
            "http://example.com/",
            "https://example.com/",
            "http://example.com/?",
            "http://example.com//",
            "http://example.com/~a",
            "http://example.com/%7ea",
            "http://example.com/%7Ea",
            "http://example.com./",
            "http://user@example.com/",
            "http://example.com:81/",
        ];
        let mut urls: Vec<_> = lines.map(normal_text).into();
        urls.sort();
        urls.dedup();
        assert_eq!(urls.len(), lines.len());
    }

    #[test]
    fn what_is_no_url_is_itself() {
        for line in ["", "http://", "/a/../b", "http://a b/", "8", "http://a/\t#x"] {
            assert_eq!(normal_text(line), line);
        }
        assert_eq!(&*normal(b"http://a/\xff#x"), b"http://a/\xff#x");
    }

    /// All lines of up to four such parts.
    #[test]
    fn what_is_taken_for_normal_is_what_a_parser_makes_of_it() {
        let parts = [
            "a", "A", "1", ".", "..", "-", "xn--", "%2e", "%7E", "%", "/", "//", "?", "#", "'",
            ":", ":80", "@", "[", "|", "\\", " ", "é",
        ];
        let (mut all, mut ends) = (vec![String::new()], 0..1);
        for _ in 0..4 {
            let longer: Vec<_> = all[ends.clone()]
                .iter()
                .flat_map(|line| parts.iter().map(move |part| format!("{line}{part}")))
                .collect();
            ends = all.len()..all.len() + longer.len();
            all.extend(longer);
        }
        let mut taken = 0;
        for line in
            all.iter().flat_map(|end| [format!("http://{end}"), format!("http://a.b/{end}")])
        {
            if is_normal(line.as_bytes()) {
                taken += 1;
                assert!(Url::parse(&line).is_ok_and(|url| url.as_str() == line), "{line}");
            }
        }
        assert!(taken > 1000, "{taken}");
    }
}
