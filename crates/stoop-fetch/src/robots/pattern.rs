//! Paths and patterns: one spelling for each, and whether they match.
//!
//! RFC 9309 §2.2.2 has both sides brought to one spelling first. Here that is the short one: an octet that can
//! be written as it is, is; the others, and those that would mean something, are percent-encoded in capitals.
//! `%2F` stays apart from `/`, since `/a%2Fb` and `/a/b` are two resources (RFC 3986 §2.2) and a rule about
//! encoded slashes must not become one about all. So does `%25`, and a literal asterisk is `%2A` on both sides.

use std::borrow::Cow;

use memchr::{memchr, memmem};

/// The one spelling of a path and query. It begins with a slash, and ends before a fragment.
pub(super) fn path(path_and_query: &str) -> Cow<'_, [u8]> {
    let path = path_and_query.as_bytes();
    let path = &path[..memchr(b'#', path).unwrap_or(path.len())];
    let is_plain = |byte: &u8| matches!(byte, b'!'..=b'~') && !matches!(byte, b'%' | b'*');
    if path.first() == Some(&b'/') && path.iter().all(is_plain) {
        return path.into();
    }
    let mut spelling = Vec::with_capacity(path.len() + 16);
    if path.first() != Some(&b'/') {
        spelling.push(b'/');
    }
    spell(&mut spelling, path, |spelling| spelling.extend_from_slice(b"%2A"));
    spelling.into()
}

/// Appends the one spelling of a pattern, in which each `*` is for any octets. It returns whether the pattern
/// ends where the path does; the `$` that said so is not appended, and every other one is itself.
pub(super) fn push_pattern(spelling: &mut Vec<u8>, value: &[u8]) -> bool {
    let (value, is_anchored) = match value {
        [value @ .., b'$'] => (value, true),
        value => (value, false),
    };
    spell(spelling, value, |spelling| spelling.push(b'*'));
    is_anchored
}

fn spell(spelling: &mut Vec<u8>, text: &[u8], asterisk: fn(&mut Vec<u8>)) {
    let mut rest = text;
    while let [byte, after @ ..] = rest {
        rest = after;
        match byte {
            b'*' => asterisk(spelling),
            b'%' => match after {
                [high, low, after @ ..] if let Some(octet) = octet(*high, *low) => {
                    push_encoded(spelling, octet);
                    rest = after;
                }
                _ => spelling.push(b'%'),
            },
            b'/' => spelling.push(b'/'),
            other => push_encoded(spelling, *other),
        }
    }
}

/// Appends an octet that was encoded, or might have been.
fn push_encoded(spelling: &mut Vec<u8>, octet: u8) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    match octet {
        b'/' | b'%' | b'*' | ..=b' ' | 0x7f.. => {
            let (high, low) = (usize::from(octet >> 4), usize::from(octet & 15));
            spelling.extend_from_slice(&[b'%', DIGITS[high], DIGITS[low]]);
        }
        plain => spelling.push(plain),
    }
}

fn octet(high: u8, low: u8) -> Option<u8> {
    let digit = |digit: u8| char::from(digit).to_digit(16).map(|digit| digit as u8);
    Some(digit(high)? << 4 | digit(low)?)
}

/// Whether a pattern matches a path, both in their one spelling. `steps` grows by the octets looked at, which
/// are no more than those of both: what is found between two asterisks first is the best place for it, so
/// that nothing is looked at again, and each search is linear.
pub(super) fn matches(pattern: &[u8], is_anchored: bool, path: &[u8], steps: &mut usize) -> bool {
    let mut parts = pattern.split(|byte| *byte == b'*');
    let prefix = parts.next().unwrap_or_default();
    *steps += 1 + prefix.len().min(path.len());
    let Some(mut rest) = path.strip_prefix(prefix) else { return false };
    let Some(mut part) = parts.next() else { return !is_anchored || rest.is_empty() };
    for next in parts {
        let Some(after) = after(part, rest, steps) else { return false };
        rest = after;
        part = next;
    }
    if is_anchored {
        *steps += 1 + part.len().min(rest.len());
        return rest.ends_with(part);
    }
    after(part, rest, steps).is_some()
}

/// What is behind the first place of `part`.
fn after<'a>(part: &[u8], text: &'a [u8], steps: &mut usize) -> Option<&'a [u8]> {
    *steps += 1;
    if part.is_empty() {
        return Some(text);
    }
    let found = memmem::find(text, part).map(|at| at + part.len());
    *steps += found.unwrap_or(text.len());
    text.get(found?..)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spelling(pattern: &str) -> String {
        let mut spelling = Vec::new();
        let is_anchored = push_pattern(&mut spelling, pattern.as_bytes());
        String::from_utf8(spelling).unwrap() + if is_anchored { " $" } else { "" }
    }

    #[test]
    fn a_pattern_has_one_spelling() {
        for (pattern, expected) in [
            ("/a%62c", "/abc"),
            ("/%3a:%3B;", "/::;;"),
            ("/%2f/%25%", "/%2F/%25%"),
            ("/%zz%4", "/%zz%4"),
            ("/é%c3%A9 \x7f", "/%C3%A9%C3%A9%20%7F"),
            ("/*%2a*", "/*%2A*"),
            ("/a$b%24$", "/a$b$ $"),
            ("/a%24", "/a$"),
            ("$", " $"),
        ] {
            assert_eq!(spelling(pattern), expected, "{pattern}");
        }
    }

    #[test]
    fn a_path_has_one_spelling() {
        let spelling = |text| String::from_utf8(path(text).into_owned()).unwrap();
        for (text, expected) in [
            ("", "/"),
            ("a", "/a"),
            ("?a", "/?a"),
            ("/a?b=c&d#e", "/a?b=c&d"),
            ("#a", "/"),
            ("/*$%2a%24", "/%2A$%2A$"),
            ("/ü%7e", "/%C3%BC~"),
            ("%2F", "/%2F"),
        ] {
            assert_eq!(spelling(text), expected, "{text}");
        }
        assert!(matches!(path("/a?b=~&c:$"), Cow::Borrowed(_)));
    }

    #[test]
    fn a_pattern_matches_from_the_beginning_of_a_path() {
        for (pattern, path, expected) in [
            ("/a", "/ab", true),
            ("/a", "/b/a", false),
            ("/a$", "/a", true),
            ("/a$", "/ab", false),
            ("/*a", "/bca", true),
            ("/*a$", "/aba", true),
            ("/*a$", "/ab", false),
            ("/a*a$", "/a", false),
            ("*b*c", "/abc", true),
            ("*c*b", "/abc", false),
            ("/*ab*ab", "/abab", true),
            ("/*ab*ab", "/abaab", true),
            ("/*ab*ab$", "/abaabab", true),
            ("/*ab*ab$", "/ab", false),
            ("/**$", "/", true),
            ("/a**b", "/ab", true),
            ("*", "/", true),
        ] {
            let (pattern, is_anchored) = match pattern.strip_suffix('$') {
                Some(pattern) => (pattern, true),
                None => (pattern, false),
            };
            let found = matches(pattern.as_bytes(), is_anchored, path.as_bytes(), &mut 0);
            assert_eq!(found, expected, "{pattern} {path}");
        }
    }

    #[test]
    fn no_octet_is_looked_at_twice() {
        let path = ["/", &"a".repeat(5_000)].concat();
        for pattern in
            ["*a".repeat(3_000), ["*", &"a".repeat(3_000), "b"].concat(), "*aab".repeat(900)]
        {
            let mut steps = 0;
            matches(pattern.as_bytes(), false, path.as_bytes(), &mut steps);
            assert!(steps <= 2 * pattern.len() + path.len(), "{steps}");
        }
    }
}
