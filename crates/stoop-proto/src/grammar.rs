//! Byte classes and small grammar rules of RFC 9110 and RFC 3986, each beside its ABNF.

use http::Method;

use crate::error::Violation;

const TCHAR: u8 = 1;
const FIELD: u8 = 2;
const TARGET: u8 = 4;
const REG_NAME: u8 = 8;

const CLASSES: [u8; 256] = classes();

const fn classes() -> [u8; 256] {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let c = byte as u8;
        // tchar = "!" / "#" / "$" / "%" / "&" / "'" / "*" / "+" / "-" / "." / "^" / "_" / "`" / "|"
        //       / "~" / DIGIT / ALPHA (RFC 9110 §5.6.2)
        if c.is_ascii_alphanumeric()
            || matches!(c, b'!' | b'#'..=b'\'' | b'*' | b'+' | b'-' | b'.' | b'^'..=b'`' | b'|' | b'~')
        {
            table[byte] |= TCHAR;
        }
        // field-value: VCHAR, obs-text, SP and HTAB (RFC 9110 §5.5)
        if c == b'\t' || c >= b' ' && c != 0x7f {
            table[byte] |= FIELD;
        }
        // The visible characters except "#": browsers and scripts leave "|", "{" and the like
        // unescaped, which is harmless; a fragment is never sent, and a space would end the target.
        if c.is_ascii_graphic() && c != b'#' {
            table[byte] |= TARGET;
        }
        // unreserved / sub-delims of reg-name (RFC 3986 §3.2.2), without ",", which lists of hosts
        // have and real names do not.
        if c.is_ascii_alphanumeric()
            || matches!(c, b'-' | b'.' | b'_' | b'~' | b'!' | b'$' | b'&'..=b'+' | b';' | b'=')
        {
            table[byte] |= REG_NAME;
        }
        byte += 1;
    }
    table
}

/// The number of bytes at the front of `bytes` that are of that class.
#[inline]
fn run(bytes: &[u8], class: u8) -> usize {
    let ends = bytes.iter().position(|&byte| CLASSES[byte as usize] & class == 0);
    ends.unwrap_or(bytes.len())
}

/// As [`run`], eight bytes at a time: `ends` marks, by the highest bit of each, the bytes that may not
/// be of the class. Marks above a true one may be false, so only the lowest mark is used, and checked
/// against the table.
#[inline]
fn run_fast(bytes: &[u8], class: u8, ends: impl Fn(u64) -> u64) -> usize {
    let mut at = 0;
    while let Some(word) = bytes[at..].first_chunk() {
        match ends(u64::from_le_bytes(*word)) {
            0 => at += 8,
            marks => {
                at += (marks.trailing_zeros() / 8) as usize;
                if CLASSES[bytes[at] as usize] & class == 0 {
                    return at;
                }
                at += 1;
            }
        }
    }
    at + run(&bytes[at..], class)
}

const ONES: u64 = u64::from_le_bytes([0x01; 8]);
const HIGHS: u64 = u64::from_le_bytes([0x80; 8]);

/// Marks the bytes below `limit`, which is at most 0x80.
#[inline]
const fn below(word: u64, limit: u8) -> u64 {
    word.wrapping_sub(ONES * limit as u64) & !word & HIGHS
}

/// Marks the bytes equal to `byte`, and perhaps others above one that is.
#[inline]
pub(crate) const fn equal(word: u64, byte: u8) -> u64 {
    below(word ^ (ONES * byte as u64), 1)
}

/// Marks the letters in upper case. It is exact.
#[inline]
const fn upper(word: u64) -> u64 {
    let ascii = word & !HIGHS;
    // The highest bit of each byte tells whether it is `A` or above, and whether it is above `Z`.
    let from_a = ascii + ONES * (0x80 - b'A') as u64;
    let past_z = ascii + ONES * (0x80 - (b'Z' + 1)) as u64;
    from_a & !past_z & !word & HIGHS
}

/// Whether a name has a byte that `mark` marks in words of eight; it marks no zero.
#[inline]
fn has_marked(name: &[u8], mark: impl Fn(u64) -> u64) -> bool {
    let last = match name.last_chunk::<8>() {
        Some(last) => u64::from_le_bytes(*last),
        None => name.iter().fold(0, |word, byte| word << 8 | u64::from(*byte)),
    };
    let words = name.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word));
    words.fold(mark(last), |marked, word| marked | mark(word)) != 0
}

/// Whether there is a quote in a name.
#[inline]
pub(crate) fn has_quote(name: &[u8]) -> bool {
    has_marked(name, |word| equal(word, b'"'))
}

/// Whether there is a letter in upper case in a name.
#[inline]
pub(crate) fn has_upper(name: &[u8]) -> bool {
    has_marked(name, upper)
}

/// Marks the bytes that are neither letters nor hyphens. It is exact: no carry leaves a byte.
#[inline]
const fn not_alpha(word: u64) -> u64 {
    let low = !HIGHS;
    let lower = (word | (ONES * 0x20)) & low;
    // The highest bit of each byte tells whether it is `a` or above, and whether it is above `z`.
    let from_a = lower + ONES * (0x80 - b'a') as u64;
    let past_z = lower + ONES * (0x80 - (b'z' + 1)) as u64;
    let other_than_hyphen = ((word ^ (ONES * b'-' as u64)) & low) + low;
    (!(from_a & !past_z) & other_than_hyphen | word) & HIGHS
}

/// The length of the token at the front of `bytes`.
#[inline]
pub(crate) fn token_len(bytes: &[u8]) -> usize {
    run_fast(bytes, TCHAR, not_alpha)
}

/// Whether a token equals `name` without case; `name` is in lower case, of letters and hyphens. Setting
/// 0x20 makes letters lower case, and turns no other byte of a token into a letter or a hyphen.
#[inline]
pub(crate) fn is_name<const N: usize>(token: &[u8], name: &[u8; N]) -> bool {
    token.len() == N
        && token.first_chunk::<N>().is_some_and(|token| {
            let pairs = token.iter().zip(name);
            pairs.fold(0, |differing, (a, b)| differing | ((a | 0x20) ^ b)) == 0
        })
}

/// The number of bytes at the front of `bytes` that may stand in a field value.
#[inline]
pub(crate) fn text_len(bytes: &[u8]) -> usize {
    run_fast(bytes, FIELD, |word| below(word, b' ') | equal(word, 0x7f))
}

/// The number of bytes at the front of `bytes` that may stand in a request-target.
#[inline]
pub(crate) fn target_len(bytes: &[u8]) -> usize {
    run_fast(bytes, TARGET, |word| {
        below(word, b'!') | equal(word, 0x7f) | equal(word, b'#') | word & HIGHS
    })
}

/// token = 1*tchar
#[inline]
pub(crate) fn is_token(bytes: &[u8]) -> bool {
    !bytes.is_empty() && token_len(bytes) == bytes.len()
}

/// Whether all bytes may stand in a field value: no control character except HTAB.
#[inline]
pub(crate) fn is_field_value(bytes: &[u8]) -> bool {
    text_len(bytes) == bytes.len()
}

/// Whether a Date has no control character in it; compiles to a few vector instructions.
#[inline]
pub(crate) fn is_date(date: &[u8; 29]) -> bool {
    date.iter().fold(true, |fits, byte| fits & (b' '..0x7f).contains(byte))
}

/// OWS = *( SP / HTAB )
#[inline]
pub(crate) const fn is_whitespace(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

/// Returns `bytes` without the OWS around them.
#[inline]
pub(crate) fn trim(mut bytes: &[u8]) -> &[u8] {
    // Most have none.
    if let [(b'!'..), .., (b'!'..)] = bytes {
        return bytes;
    }
    while let [first, rest @ ..] = bytes
        && is_whitespace(*first)
    {
        bytes = rest;
    }
    while let [rest @ .., last] = bytes
        && is_whitespace(*last)
    {
        bytes = rest;
    }
    bytes
}

/// The items of a comma-separated list, empty ones left out (RFC 9110 §5.6.1.2).
pub(crate) fn list(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value.split(|&byte| byte == b',').map(trim).filter(|item| !item.is_empty())
}

/// Parses Content-Length = 1*DIGIT (RFC 9110 §8.6), if it fits into 64 bits: no sign, no space.
pub(crate) fn length(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0u64, |number, &digit| {
        let digit = char::from(digit).to_digit(10)?;
        number.checked_mul(10)?.checked_add(u64::from(digit))
    })
}

/// Whether `value` is uri-host \[ ":" port \] (RFC 9110 §7.2), or empty, as Host is where the target has
/// no authority: no user, no path, a valid port, and no port without a host.
pub(crate) fn is_host(value: &[u8]) -> bool {
    let name_len = match value {
        [] => return true,
        [b'[', ..] => match ip_literal_len(value) {
            Some(len) => len,
            None => return false,
        },
        _ => reg_name_len(value),
    };
    let (name, port) = value.split_at(name_len);
    let port_fits = match port {
        [] | [b':'] => true,
        [b':', digits @ ..] if digits.len() <= 5 => {
            let number = digits
                .iter()
                .try_fold(0, |number, &digit| Some(number * 10 + char::from(digit).to_digit(10)?));
            number.is_some_and(|number| number <= 65_535)
        }
        _ => false,
    };
    !name.is_empty() && port_fits
}

/// The length of "[" IPv6address "]", without a zone. The address is fully checked only on connecting.
fn ip_literal_len(value: &[u8]) -> Option<usize> {
    let end = memchr::memchr(b']', value)?;
    let address = &value[1..end];
    let fits = address.iter().all(|&c| c.is_ascii_hexdigit() || matches!(c, b':' | b'.'));
    let colons = address.iter().filter(|&&c| c == b':').count();
    (fits && colons >= 2).then_some(end + 1)
}

/// The length of the reg-name at the front of `value`, in which pct-encoded = "%" HEXDIG HEXDIG.
fn reg_name_len(value: &[u8]) -> usize {
    let mut at = 0;
    loop {
        at += value[at..].iter().take_while(|&&c| CLASSES[c as usize] & REG_NAME != 0).count();
        match &value[at..] {
            [b'%', high, low, ..] if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => at += 3,
            _ => return at,
        }
    }
}

/// The form of a request-target (RFC 9112 §3.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TargetForm {
    /// `/where?q=now`: in requests to an origin.
    #[default]
    Origin,
    /// `http://example.com/where`: in requests to a proxy; every server accepts it.
    Absolute,
    /// `example.com:443`: CONNECT only.
    Authority,
    /// `*`: OPTIONS only.
    Asterisk,
}

/// Returns the form of a request-target (RFC 9112 §3.2), if the method may use it.
pub(crate) fn target_form(method: &Method, target: &[u8]) -> Result<TargetForm, Violation> {
    if target_len(target) != target.len() {
        return Err(Violation::Target);
    }
    if *method == Method::CONNECT {
        // authority-form = uri-host ":" port, where the port is required (§3.2.3) and neither empty
        // nor invalid, as 0 is (RFC 9110 §9.3.6).
        let port = target.iter().rposition(|&byte| byte == b':').map(|at| &target[at + 1..]);
        let whole = port
            .is_some_and(|port| !port.ends_with(b"]") && port.iter().any(|&digit| digit != b'0'));
        return match whole && is_host(target) {
            true => Ok(TargetForm::Authority),
            false => Err(Violation::TargetForm),
        };
    }
    match target {
        [b'/', ..] => Ok(TargetForm::Origin),
        b"*" if *method == Method::OPTIONS => Ok(TargetForm::Asterisk),
        b"*" => Err(Violation::TargetForm),
        _ => absolute_form(target),
    }
}

/// Checks absolute-form = absolute-URI, with scheme http or https. User information is refused: RFC 9110
/// §4.2.4.
fn absolute_form(target: &[u8]) -> Result<TargetForm, Violation> {
    let strip = |scheme: &[u8]| {
        let (start, rest) = target.split_at_checked(scheme.len())?;
        start.eq_ignore_ascii_case(scheme).then_some(rest)
    };
    let Some(rest) = strip(b"http://").or_else(|| strip(b"https://")) else {
        return Err(Violation::Target);
    };
    let end = rest.iter().position(|byte| matches!(byte, b'/' | b'?')).unwrap_or(rest.len());
    let host = &rest[..end];
    match !host.is_empty() && is_host(host) {
        true => Ok(TargetForm::Absolute),
        false => Err(Violation::Target),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_class_has_the_bytes_of_its_rule() {
        let members =
            |class| (0..=255u8).filter(|&c| CLASSES[c as usize] & class != 0).collect::<Vec<_>>();
        let tchar = members(TCHAR);
        assert_eq!(tchar.len(), 10 + 26 + 26 + 15);
        assert!(!tchar.iter().any(|c| b"()<>@,;:\\\"/[]?={} \t".contains(c)));
        assert_eq!(members(FIELD).len(), 256 - 33 + 1);
        assert_eq!(members(TARGET).len(), 93);
    }

    #[test]
    fn runs_end_where_their_class_does() {
        for (class, len) in
            [(TCHAR, token_len as fn(&[u8]) -> usize), (FIELD, text_len), (TARGET, target_len)]
        {
            for stop in 0..=255u8 {
                for before in 0..20 {
                    // The bytes behind it must not matter, though they share a word with it.
                    for after in [b'a', 0, b' ', b'!', 0x7f, 0x80, 0xff] {
                        let mut bytes = vec![b'a'; before];
                        bytes.extend([stop, after, after, stop]);
                        let slow = bytes.iter().take_while(|&&c| CLASSES[c as usize] & class != 0);
                        assert_eq!(len(&bytes), slow.count(), "{bytes:x?}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_field_value_has_no_control_character_wherever_it_stands() {
        for length in 0..40 {
            for at in 0..length {
                for byte in 0..=255u8 {
                    let mut value = vec![b'a'; length];
                    value[at] = byte;
                    let fits = byte == b'\t' || !byte.is_ascii_control();
                    assert_eq!(is_field_value(&value), fits, "{value:x?}");
                }
            }
        }
    }

    #[test]
    fn quotes_and_letters_in_upper_case_are_found_wherever_they_stand() {
        for length in 0..20 {
            for at in 0..length {
                for byte in 1..=255u8 {
                    let mut name = vec![b'a'; length];
                    name[at] = byte;
                    assert_eq!(has_upper(&name), byte.is_ascii_uppercase(), "{name:x?}");
                    assert_eq!(has_quote(&name), byte == b'"', "{name:x?}");
                }
            }
        }
    }

    #[test]
    fn only_the_whitespace_around_a_value_is_trimmed() {
        for bytes in [&b"a"[..], b"a \t b", b"!", b"\xff\x00\xff", b""] {
            for (before, after) in [("", ""), (" \t", ""), ("", "\t "), (" ", " ")] {
                let padded = [before.as_bytes(), bytes, after.as_bytes()].concat();
                assert_eq!(trim(&padded), bytes);
            }
        }
    }

    #[test]
    fn names_compare_without_case_and_exactly_otherwise() {
        assert!(is_name(b"Keep-Alive", b"keep-alive") && is_name(b"HOST", b"host"));
        for byte in (0..=255u8).filter(|&c| CLASSES[c as usize] & TCHAR != 0) {
            assert_eq!(is_name(&[b'x', byte], b"x-"), byte == b'-');
            assert_eq!(is_name(&[b'x', byte], b"xz"), byte.eq_ignore_ascii_case(&b'z'));
        }
        assert!(!is_name(b"hos", b"host") && !is_name(b"hosts", b"host"));
    }

    #[test]
    fn a_host_is_a_name_or_address_with_or_without_a_port() {
        for good in ["a", "example.com:80", "", "a:", "[::1]", "[::1]:443", "a-b_c~d", "%41", "1.2"]
        {
            assert!(is_host(good.as_bytes()), "{good:?}");
        }
        for bad in [
            "u@a",
            "a/b",
            "a b",
            "a,b",
            "a:x",
            "a:70000",
            "a:123456",
            "[::1",
            "[::1]x",
            "[1]",
            "::1",
            "a?b",
            "a#b",
            "%4",
            "%zz",
            "[::1%25lo]",
            "ä",
            "a:80:80",
            ":80",
            ":",
            "[]",
        ] {
            assert!(!is_host(bad.as_bytes()), "{bad:?}");
        }
    }

    #[test]
    fn a_target_has_one_form_that_fits_its_method() {
        use TargetForm::*;
        let form = |method: Method, target: &str| target_form(&method, target.as_bytes()).ok();
        assert_eq!(form(Method::GET, "/"), Some(Origin));
        assert_eq!(form(Method::GET, "//x"), Some(Origin));
        assert_eq!(form(Method::GET, "HTTP://a"), Some(Absolute));
        assert_eq!(form(Method::GET, "https://a:1/b?c"), Some(Absolute));
        assert_eq!(form(Method::OPTIONS, "*"), Some(Asterisk));
        assert_eq!(form(Method::CONNECT, "a:443"), Some(Authority));
        assert_eq!(form(Method::CONNECT, "[::1]:443"), Some(Authority));
        for (method, target) in [
            (Method::GET, "*"),
            (Method::GET, "a:443"),
            (Method::GET, ""),
            (Method::GET, "http://"),
            (Method::GET, "http:///x"),
            (Method::GET, "http://u@a/"),
            (Method::GET, "ftp://a/"),
            (Method::GET, "x"),
            (Method::CONNECT, "/"),
            (Method::CONNECT, "a"),
            (Method::CONNECT, "a:"),
            (Method::CONNECT, "a:0"),
            (Method::CONNECT, "a:000"),
            (Method::CONNECT, ":443"),
            (Method::CONNECT, "[::1]"),
            (Method::CONNECT, "http://a:1"),
        ] {
            assert_eq!(form(method.clone(), target), None, "{method} {target}");
        }
    }
}
