//! Masks the passwords of URLs in everything that is printed: in lines of the input, and in texts that
//! contain URLs. [`without_password`] finds the password in a URL, which need not be well-formed.

use std::borrow::Cow;

use memchr::memchr;
use stoop::without_password;

use crate::target::has_scheme;

const MASK: &str = "***";

/// A line of the input without its passwords. `is_whole` is false for the beginning of a line, which may
/// end before the `@` that tells a password from a port.
pub fn line(line: &[u8], is_whole: bool) -> Cow<'_, [u8]> {
    let is_cut = !is_whole && memchr(b':', line).is_some();
    if !is_cut && memchr(b'@', line).is_none() {
        return line.into();
    }
    // One character for each byte, in any encoding: the parts of a URL end at ASCII characters.
    let chars: String = line.iter().copied().map(char::from).collect();
    let shown = match is_cut && !chars.contains('@') {
        true => masked_beginning(&chars),
        false => text(&without_first_password(&chars)).into_owned(),
    };
    shown.chars().map(|c| c as u8).collect::<Vec<_>>().into()
}

/// A line without the password of the URL that it is. Without a scheme it begins with a host, perhaps
/// with user information before that.
fn without_first_password(line: &str) -> String {
    if has_scheme(line) {
        return without_password(line).into_owned();
    }
    without_password(&format!("//{line}"))[2..].to_owned()
}

/// The beginning of a line without an `@`, with everything masked that may belong to a password.
fn masked_beginning(line: &str) -> String {
    // Text before a colon without a slash behind it is no scheme yet, but may be a user.
    let host = line.find("//").map_or(0, |slashes| slashes + 2);
    let authority = &line[host..];
    let end = authority.find(['/', '?', '#']);
    let from = if authority.starts_with('[') { authority.find(']').unwrap_or(0) } else { 0 };
    let Some(colon) = authority[from..].find(':').map(|colon| from + colon + 1) else {
        return line.to_owned();
    };
    let port = &authority[colon..end.unwrap_or(colon).max(colon)];
    let is_whole = end.is_some_and(|end| end < colon || port.bytes().all(|b| b.is_ascii_digit()));
    match is_whole || colon == authority.len() {
        true => line.to_owned(),
        false => format!("{}{MASK}", &line[..host + colon]),
    }
}

/// A text with each URL in it that has a password, without the password.
pub fn text(text: &str) -> Cow<'_, str> {
    if !text.contains('@') {
        return text.into();
    }
    let mut shown = String::with_capacity(text.len());
    let (mut rest, mut quote) = (text, None);
    while let Some(slashes) = rest.find("//") {
        let (before, url) = rest.split_at(slashes);
        if !before.is_empty() {
            quote = quote_before(before);
        }
        let ends = |c: char| c.is_whitespace() || c.is_control() || "<>".contains(c);
        let url = &url[..url.find(|c| ends(c) || quote == Some(c)).unwrap_or(url.len())];
        // Another URL may follow the host, which has a scheme: two slashes alone may stand in a path.
        let host = url.trim_start_matches('/');
        let next = host.find("://").map_or(host.len(), |colon| colon + 1);
        let within = url.len() - host.len() + next;
        shown.push_str(before);
        shown.push_str(&without_password(&url[..within]));
        rest = &rest[slashes + within..];
    }
    shown.push_str(rest);
    shown.into()
}

/// The quote before the scheme that ends `before`: it ends the URL, too. Others may be in a password.
fn quote_before(before: &str) -> Option<char> {
    let of_scheme = |c: char| c.is_ascii_alphanumeric() || "+-.:".contains(c);
    before.trim_end_matches(of_scheme).chars().next_back().filter(|c| "'\"`".contains(*c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_of_lines_are_masked_whether_a_scheme_is_given_or_not() {
        for (given, shown) in [
            ("http://u:p@h/", "http://u:***@h/"),
            ("http://token@h/", "http://***@h/"),
            ("u:p@h", "u:***@h"),
            ("u_u:p@h/x", "u_u:***@h/x"),
            ("u p:p@h:80", "u p:***@h:80"),
            ("//u:p@h/", "//u:***@h/"),
            ("see http://u:p@h/ and http://v:q@i", "see http://u:***@h/ and http://v:***@i"),
            ("http://h/?to=https://u:p@i/", "http://h/?to=https://u:***@i/"),
            ("http://u:p//w@h/", "http://u:***@h/"),
        ] {
            assert_eq!(line(given.as_bytes(), true), shown.as_bytes(), "{given}");
            assert_eq!(line(given.as_bytes(), false), shown.as_bytes(), "{given}");
        }
        for given in ["http://h/@a:b", "h:80/@a", "//h/a@b", "/etc/a:b@c", "http://h//a/@b", "a:b"]
        {
            assert_eq!(line(given.as_bytes(), true), given.as_bytes(), "{given}");
        }
        assert_eq!(&*line(b"http://u:\xff@h/\xfe", true), b"http://u:***@h/\xfe");
    }

    #[test]
    fn two_slashes_in_a_path_begin_no_url() {
        for given in [
            "http://h//logo@2x.png",
            "http://h/cdn//npm@1.0/x.js",
            "http://h/?q=see//me@host",
            "http://h//a//b@c and //h//d@e",
        ] {
            assert_eq!(text(given), given);
            assert_eq!(line(given.as_bytes(), true), given.as_bytes());
        }
    }

    #[test]
    fn a_quote_ends_a_url_that_stands_in_quotes() {
        for (given, shown) in [
            ("\"http://u:p@h/\": no@one", "\"http://u:***@h/\": no@one"),
            ("`//u:p@h`'s", "`//u:***@h`'s"),
            ("http://h/?to=http://u:a'b@i/", "http://h/?to=http://u:***@i/"),
            ("'http://u:a\"b@i/'", "'http://u:***@i/'"),
            ("\"http://h/?to=http://u:p@i/\" a@b", "\"http://h/?to=http://u:***@i/\" a@b"),
        ] {
            assert_eq!(text(given), shown, "{given}");
        }
    }

    #[test]
    fn the_password_in_the_beginning_of_a_line_is_masked() {
        for (given, shown) in [
            ("http://u:p", "http://u:***"),
            ("http://u:12", "http://u:***"),
            ("u:p", "u:***"),
            ("u_u:p", "u_u:***"),
            ("http://u:p/w", "http://u:***"),
            ("http://[::1]:8", "http://[::1]:***"),
        ] {
            assert_eq!(line(given.as_bytes(), false), shown.as_bytes(), "{given}");
        }
        for given in [
            "http://h:80/x:y",
            "http://h/x:y",
            "http://h",
            "h",
            "http:",
            "http:/",
            "http://[::1]/x",
        ] {
            assert_eq!(line(given.as_bytes(), false), given.as_bytes(), "{given}");
        }
    }
}
