//! Byte classes and small rules of RFC 9110 and RFC 3986, each beside its ABNF.

use http::Method;

use crate::error::Violation;
use crate::message::TargetForm;

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
        // The visible characters but "#": browsers and scripts leave "|", "{" and the like
        // unescaped, which is harmless; a fragment is never sent, and a space would end the target.
        if c.is_ascii_graphic() && c != b'#' {
            table[byte] |= TARGET;
        }
        // unreserved / sub-delims of reg-name (RFC 3986 §3.2.2), without ",", which real names do
        // not have, and lists of hosts do.
        if c.is_ascii_alphanumeric()
            || matches!(c, b'-' | b'.' | b'_' | b'~' | b'!' | b'$' | b'&'..=b'+' | b';' | b'=')
        {
            table[byte] |= REG_NAME;
        }
        byte += 1;
    }
    table
}

#[inline]
fn all(bytes: &[u8], class: u8) -> bool {
    bytes.iter().all(|&byte| CLASSES[byte as usize] & class != 0)
}

/// token = 1*tchar
#[inline]
pub(crate) fn is_token(bytes: &[u8]) -> bool {
    !bytes.is_empty() && all(bytes, TCHAR)
}

/// What may stand in a field value: no control character but HTAB.
#[inline]
pub(crate) fn is_field_value(bytes: &[u8]) -> bool {
    all(bytes, FIELD)
}

/// Whether a Date has no control character in it; written so that it becomes a few vector
/// instructions.
#[inline]
pub(crate) fn is_date(date: &[u8; 29]) -> bool {
    date.iter().fold(true, |fits, byte| fits & (b' '..0x7f).contains(byte))
}

/// OWS = *( SP / HTAB )
#[inline]
pub(crate) const fn is_whitespace(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

/// What is left of `bytes` without the OWS around it.
#[inline]
pub(crate) fn trim(mut bytes: &[u8]) -> &[u8] {
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

/// uri-host \[ ":" port \] (RFC 9110 §7.2), or nothing, as Host is where the target has no authority:
/// no user, no path, a port that is one, and not without a host.
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

/// "[" IPv6address "]", without a zone: what is left to check is done by whoever connects.
fn ip_literal_len(value: &[u8]) -> Option<usize> {
    let end = memchr::memchr(b']', value)?;
    let address = &value[1..end];
    let fits = address.iter().all(|&c| c.is_ascii_hexdigit() || matches!(c, b':' | b'.'));
    let colons = address.iter().filter(|&&c| c == b':').count();
    (fits && colons >= 2).then_some(end + 1)
}

/// How much of `value` is reg-name, in which pct-encoded = "%" HEXDIG HEXDIG.
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

/// Which of the four forms a request-target has (RFC 9112 §3.2), and whether the method may use it.
pub(crate) fn target_form(method: &Method, target: &[u8]) -> Result<TargetForm, Violation> {
    if !all(target, TARGET) {
        return Err(Violation::Target);
    }
    if *method == Method::CONNECT {
        // authority-form = uri-host ":" port, where the port is not optional (§3.2.3)
        let port = target.iter().rposition(|&byte| byte == b':').map(|at| &target[at + 1..]);
        let whole = port.is_some_and(|port| !port.is_empty() && !port.ends_with(b"]"));
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

/// absolute-form = absolute-URI, of which an HTTP server knows the schemes http and https. User
/// information is refused: RFC 9110 §4.2.4.
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
    fn classes_hold_what_their_rules_say() {
        let members =
            |class| (0..=255u8).filter(|&c| CLASSES[c as usize] & class != 0).collect::<Vec<_>>();
        let tchar = members(TCHAR);
        assert_eq!(tchar.len(), 10 + 26 + 26 + 15);
        assert!(!tchar.iter().any(|c| b"()<>@,;:\\\"/[]?={} \t".contains(c)));
        assert_eq!(members(FIELD).len(), 256 - 33 + 1);
        assert_eq!(members(TARGET).len(), 93);
    }

    #[test]
    fn hosts() {
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
    fn forms() {
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
            (Method::CONNECT, ":443"),
            (Method::CONNECT, "[::1]"),
            (Method::CONNECT, "http://a:1"),
        ] {
            assert_eq!(form(method.clone(), target), None, "{method} {target}");
        }
    }
}
