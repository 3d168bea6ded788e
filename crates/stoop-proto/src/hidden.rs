//! Hides credentials where messages and errors are shown, since that text ends up in logs.

use std::borrow::Cow;

/// Shown instead of a secret value.
const HIDDEN: &str = "<hidden>";
/// Shown instead of a password; short, and the form that many programs use.
const MASK: &str = "***";

/// Fields whose values are credentials (RFC 9110 §11.6.2 and §11.7.2, RFC 6265 §4).
const SECRET: [&str; 5] =
    ["authorization", "proxy-authorization", "cookie", "set-cookie", "cookie2"];

/// Fields whose values are URLs.
const URLS: [&str; 3] = ["location", "content-location", "referer"];

fn is_one_of(names: &[&str], name: &[u8]) -> bool {
    names.iter().any(|known| known.as_bytes().eq_ignore_ascii_case(name))
}

pub(crate) fn is_secret(name: &[u8]) -> bool {
    is_one_of(&SECRET, name)
}

/// Returns a field's value as text for people: escaped, and without secrets.
pub(crate) fn redacted(name: &str, value: &[u8]) -> String {
    if is_secret(name.as_bytes()) {
        return HIDDEN.to_owned();
    }
    if !is_one_of(&URLS, name.as_bytes()) {
        return value.escape_ascii().to_string();
    }
    // One character for each byte, in any encoding: a URL's delimiters are ASCII.
    let url: String = value.iter().copied().map(char::from).collect();
    let shown: Vec<u8> = without_password(&url).chars().map(|c| c as u8).collect();
    shown.escape_ascii().to_string()
}

/// Returns a URL, absolute or relative, with `***` for its password, so that it can be shown.
///
/// The user is shown where a password follows, so that a reader recognises the URL. A user without a
/// password is hidden, since tokens are written that way.
///
/// The URL need not be well-formed: a password with a slash in it, which ends the authority and so
/// makes most URLs malformed, is hidden too. If the part before the slash looks like a host and its
/// port, as in `http://me:12/s3cret@a.example/`, it is taken for them, and the rest for a path.
///
/// ```
/// use stoop_proto::without_password;
///
/// assert_eq!(without_password("http://me:secret@a.example/@b"), "http://me:***@a.example/@b");
/// assert_eq!(without_password("http://token@a.example/"), "http://***@a.example/");
/// assert_eq!(without_password("/path/@b"), "/path/@b");
/// ```
pub fn without_password(url: &str) -> Cow<'_, str> {
    // Spaces and control characters before a URL, and some within it, do not belong to it.
    let of_scheme = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c) || c <= ' ';
    let of_slashes = |c| matches!(c, '/' | '\\') || c <= ' ';
    let after_scheme = match url.trim_start_matches(of_scheme) {
        rest if rest.starts_with(':') => &rest[1..],
        _ => url,
    };
    let host_on = after_scheme.trim_start_matches(of_slashes);
    let start = url.len() - host_on.len();
    let slashes = url[..start].matches(['/', '\\']).count();
    if after_scheme.len() == url.len() && slashes < 2 {
        return url.into();
    }
    let authority = &host_on[..host_on.find(['/', '\\', '?', '#']).unwrap_or(host_on.len())];
    // Digits follow the colon of a host; any text may follow the colon of a user.
    let port = authority.rsplit_once(':').map_or("", |(_, port)| port);
    let is_host = authority.starts_with('[') || port.bytes().all(|byte| byte.is_ascii_digit());
    let end = match authority.rfind('@') {
        None if is_host => None,
        None => host_on.rfind('@'),
        found => found,
    };
    match end {
        Some(end) => {
            let password = match host_on[..end].split_once(':') {
                Some((user, password)) if !(user.is_empty() || password.is_empty()) => {
                    start + user.len() + 1
                }
                _ => start,
            };
            format!("{}{MASK}{}", &url[..password], &host_on[end..]).into()
        }
        None => url.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_hidden_however_a_url_is_written() {
        for (url, shown) in [
            ("http://u:p@h/x?y#z", "http://u:***@h/x?y#z"),
            ("http://u@h", "http://***@h"),
            ("HTTPS:\\\\u:p@h\\x", "HTTPS:\\\\u:***@h\\x"),
            ("https:u:p@h/", "https:u:***@h/"),
            ("https:/u:p@h/", "https:/u:***@h/"),
            ("https:////u:p@h/", "https:////u:***@h/"),
            ("//u:p@h/", "//u:***@h/"),
            ("/\\u:p@h/", "/\\u:***@h/"),
            ("ftp://u:p@h@i/", "ftp://u:***@i/"),
            ("http://u:p/w@h/", "http://u:***@h/"),
            ("http://u:p?w@h/", "http://u:***@h/"),
            (" \thttp:\t//u:p@h", " \thttp:\t//u:***@h"),
            (" /\t/u:p@h", " /\t/u:***@h"),
            ("http://u:@h/", "http://***@h/"),
            ("http://:p@h/", "http://***@h/"),
            ("http://u:p:q@h/", "http://u:***@h/"),
            ("http://u:p@[::1", "http://u:***@[::1"),
        ] {
            assert_eq!(without_password(url), shown, "{url}");
        }
    }

    #[test]
    fn passwords_are_hidden_in_values_that_are_not_utf_8() {
        let location = |value| redacted("Location", value);
        assert_eq!(location(b"http://u:p@h/\xff"), r"http://u:***@h/\xff");
        assert_eq!(location(b"http://u:p\xff\xe9@h/\xc3\xa9"), r"http://u:***@h/\xc3\xa9");
        assert_eq!(location(b"/caf\xe9"), r"/caf\xe9");
    }

    #[test]
    fn urls_without_a_user_are_shown_whole() {
        let all = "http://h/ http://h:80/@a http://h/?a@b http://h#@ http://[::1]:80/@a http:///x \
            /@a /a:b@c a/b@c ?a@b //h/@a http://h:80?x@y ://a";
        for url in all.split(' ').chain([""]) {
            assert_eq!(without_password(url), url);
        }
    }
}
