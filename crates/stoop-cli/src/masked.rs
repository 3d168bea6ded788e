//! Passwords of URLs, kept out of everything that is printed. What a password is in a URL that need
//! not be well-formed is [`without_password`]'s to say; here is what is asked of a line of input, and
//! of a text that has URLs in it.

use std::borrow::Cow;

use memchr::memchr;
use stoop::without_password;

use crate::scheme::has_scheme;

const MASK: &str = "***";

/// A line of the input as it may be shown. `whole` is false for the beginning of a line: the `@`
/// that would tell a password from a port may be missing there.
pub(crate) fn line(line: &[u8], whole: bool) -> Cow<'_, [u8]> {
    let is_cut = !whole && memchr(b':', line).is_some();
    if !is_cut && memchr(b'@', line).is_none() {
        return line.into();
    }
    // A character for each byte, whatever it stands for: a URL's parts end at ASCII's.
    let chars: String = line.iter().copied().map(char::from).collect();
    let shown = match is_cut && !chars.contains('@') {
        true => beginning(&chars),
        false => text(&of_line(&chars)).into_owned(),
    };
    shown.chars().map(|c| c as u8).collect::<Vec<_>>().into()
}

/// A bare line means the host of a URL, which may have a user before it.
fn of_line(line: &str) -> String {
    if has_scheme(line) {
        return without_password(line).into_owned();
    }
    without_password(&format!("//{line}"))[2..].to_owned()
}

/// The beginning of a line without an `@`, up to what may be the beginning of a password.
fn beginning(line: &str) -> String {
    // What has no slash behind its colon is no scheme yet, but it may be a user.
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

/// A text for people as it may be shown: each URL in it that has a password, without it.
pub(crate) fn text(text: &str) -> Cow<'_, str> {
    if !text.contains('@') {
        return text.into();
    }
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(slashes) = rest.find("//") {
        let url = &rest[slashes..];
        let ends = |c: char| c.is_whitespace() || c.is_control() || "'\"`<>".contains(c);
        let url = &url[..url.find(ends).unwrap_or(url.len())];
        // What follows the host may be another URL.
        let host = url.trim_start_matches('/');
        let within = url.len() - host.len() + host.find("//").unwrap_or(host.len());
        shown.push_str(&rest[..slashes]);
        shown.push_str(&without_password(&url[..within]));
        rest = &rest[slashes + within..];
    }
    shown.push_str(rest);
    shown.into()
}

/// The same of a text that quotes what was typed: an argument, or what follows its `=`, is known
/// as a whole, whatever stands in it.
pub(crate) fn quoting(message: &str, typed: impl Iterator<Item = String>) -> String {
    let mut shown = message.to_owned();
    for argument in typed {
        let value = argument.split_once('=').map_or("", |(_, value)| value);
        for quoted in [argument.as_str(), value] {
            let masked = line(quoted.as_bytes(), true);
            if let (Cow::Owned(masked), false) = (masked, quoted.is_empty()) {
                shown = shown.replace(quoted, &String::from_utf8_lossy(&masked));
            }
        }
    }
    text(&shown).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_line_means_says_what_is_its_password() {
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
    fn the_beginning_of_a_line_may_end_within_a_password() {
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

    #[test]
    fn what_was_typed_is_known_whatever_stands_in_it() {
        let typed = ["--x=http://u:a 'b@h/", "http://v:c\"d@h/"].map(str::to_owned);
        let message = "'http://u:a 'b@h/' or 'http://v:c\"d@h/' or http://w:e@h/";
        assert_eq!(
            quoting(message, typed.into_iter()),
            "'http://u:***@h/' or 'http://v:***@h/' or http://w:***@h/"
        );
        assert_eq!(quoting("mail a@b", std::iter::empty()), "mail a@b");
    }
}
