//! The lines of a robots.txt file, as records.
//!
//! Nothing is an error (RFC 9309 §2.3.1.5): what is no record is passed over. What is taken for one is what
//! google/robotstxt takes for one, because that is what files are tried with: names of directives count by how
//! they begin, frequent misspellings are known, and a colon may be missing between two words.

use memchr::{memchr, memrchr2};

/// As much of a file as is read, the least that RFC 9309 §2.5 allows.
pub(super) const BYTES_MAX: usize = 500 * 1024;

/// As much of a line as is read. It is google/robotstxt's bound, eight times the longest URL of some browsers.
const LINE_MAX: usize = 8 * 2083 - 1;

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// What a line is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Directive {
    UserAgent,
    Allow,
    Disallow,
    CrawlDelay,
    Sitemap,
}

/// A line that says something: what it is about, and its value.
pub(super) type Record<'a> = (Directive, &'a [u8]);

/// What the name of a directive begins with, in lower case.
const DIRECTIVES: &[(&[u8], Directive)] = &[
    (b"user-agent", Directive::UserAgent),
    (b"useragent", Directive::UserAgent),
    (b"user agent", Directive::UserAgent),
    (b"allow", Directive::Allow),
    (b"disallow", Directive::Disallow),
    (b"dissallow", Directive::Disallow),
    (b"dissalow", Directive::Disallow),
    (b"disalow", Directive::Disallow),
    (b"diasllow", Directive::Disallow),
    (b"disallaw", Directive::Disallow),
    (b"crawl-delay", Directive::CrawlDelay),
    (b"crawldelay", Directive::CrawlDelay),
    (b"crawl delay", Directive::CrawlDelay),
    (b"sitemap", Directive::Sitemap),
    (b"site-map", Directive::Sitemap),
];

/// The records of a file, in their order.
pub(super) fn records(file: &[u8]) -> impl Iterator<Item = Record<'_>> {
    readable(file).split(|byte| is_line_end(*byte)).filter_map(record)
}

/// The part of a file that is read: without a byte order mark or what there is of one, and without the line in
/// which the bound falls, since half a path says something else.
fn readable(file: &[u8]) -> &[u8] {
    let mark = file.iter().zip(BYTE_ORDER_MARK).take_while(|(byte, mark)| byte == mark).count();
    let file = &file[mark..];
    match file.get(BYTES_MAX) {
        None => file,
        Some(next) if is_line_end(*next) => &file[..BYTES_MAX],
        Some(_) => &file[..memrchr2(b'\n', b'\r', &file[..BYTES_MAX]).unwrap_or(0)],
    }
}

/// What a line says. It ends at a comment, and at a NUL, which is in no path.
fn record(line: &[u8]) -> Option<Record<'_>> {
    let line = &line[..line.len().min(LINE_MAX)];
    let end = line.iter().position(|byte| matches!(byte, b'#' | 0)).unwrap_or(line.len());
    let line = trim(&line[..end]);
    let words = two_words(line);
    let Some(colon) = memchr(b':', line) else {
        let (name, value) = words?;
        return Some((directive(name)?, value));
    };
    let name = trim(&line[..colon]);
    if let Some((first, second)) = words
        && name.len() > first.len()
        && let Some(directive) = directive(first)
    {
        // The colon is part of the value: `Sitemap https://a.test/`.
        return Some((directive, second));
    }
    Some((directive(name)?, trim(&line[colon + 1..])))
}

fn directive(name: &[u8]) -> Option<Directive> {
    let begins = |with: &[u8]| {
        name.get(..with.len()).is_some_and(|beginning| beginning.eq_ignore_ascii_case(with))
    };
    DIRECTIVES.iter().find(|(with, _)| begins(with)).map(|(_, directive)| *directive)
}

/// The words of a line, if it has exactly two.
fn two_words(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut words = line.split(|byte| matches!(byte, b' ' | b'\t')).filter(|word| !word.is_empty());
    let two = (trim(words.next()?), trim(words.next()?));
    words.next().is_none().then_some(two)
}

fn trim(mut text: &[u8]) -> &[u8] {
    while let [first, rest @ ..] = text
        && is_space(*first)
    {
        text = rest;
    }
    while let [rest @ .., last] = text
        && is_space(*last)
    {
        text = rest;
    }
    text
}

/// As C has it: `is_ascii_whitespace` lacks the vertical tab.
pub(super) fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t'..=b'\r')
}

fn is_line_end(byte: u8) -> bool {
    matches!(byte, b'\n' | b'\r')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(file: &[u8]) -> Vec<Record<'_>> {
        records(file).collect()
    }

    #[test]
    fn a_line_has_a_name_a_colon_and_a_value() {
        let expected = [(Directive::Disallow, &b"/a b"[..])];
        for line in
            ["Disallow:/a b", "disallow : /a b ", "\t DISALLOW\t:\x0b/a b#c", "Disallow: /a b\0x"]
        {
            assert_eq!(all(line.as_bytes()), expected, "{line:?}");
        }
        assert_eq!(all(b"Disallow:"), [(Directive::Disallow, &b""[..])]);
    }

    #[test]
    fn a_colon_may_be_missing_between_two_words() {
        assert_eq!(all(b"Disallow /a"), [(Directive::Disallow, &b"/a"[..])]);
        assert_eq!(all(b"Disallow /a:b"), [(Directive::Disallow, &b"/a:b"[..])]);
        assert_eq!(
            all(b"Sitemap\thttps://a.test/"),
            [(Directive::Sitemap, &b"https://a.test/"[..])]
        );
        assert_eq!(all(b"Disallow /a b"), []);
        assert_eq!(all(b"Disallow"), []);
        // Two words, of which the first is no directive.
        assert_eq!(all(b"User agent:b"), [(Directive::UserAgent, &b"b"[..])]);
    }

    #[test]
    fn names_count_by_how_they_begin() {
        for (begins, _) in DIRECTIVES {
            let line = [begins, &b"s-of-all: v"[..]].concat();
            assert_eq!(all(&line).len(), 1, "{}", line.escape_ascii());
            assert_eq!(all(&line.to_ascii_uppercase()).len(), 1, "{}", line.escape_ascii());
            assert_eq!(all(&[b"x", &*line].concat()), [], "{}", line.escape_ascii());
        }
    }

    #[test]
    fn what_says_nothing_is_passed_over() {
        for line in
            ["", " ", "#Disallow: /", ":", ": /", "<!doctype html>", "Disallo: /", "\0Disallow: /"]
        {
            assert_eq!(all(line.as_bytes()), [], "{line:?}");
        }
    }

    #[test]
    fn the_line_in_which_the_bound_falls_is_not_read() {
        let file = |before: usize| {
            let mut file = vec![b'\n'; before];
            file.extend_from_slice(b"Allow: /a\nAllow: /b");
            file
        };
        let two = [(Directive::Allow, &b"/a"[..]), (Directive::Allow, &b"/b"[..])];
        assert_eq!(all(&file(BYTES_MAX - 19)), two);
        assert_eq!(all(&file(BYTES_MAX - 18)), two[..1]);
        // Its end is the first byte that is not read.
        assert_eq!(all(&file(BYTES_MAX - 9)), two[..1]);
        assert_eq!(all(&file(BYTES_MAX - 8)), []);
        assert_eq!(all(&vec![b'x'; BYTES_MAX + 1]), []);
    }
}
