//! The boundary of a message's parts, as its Content-Type has it.

/// boundary := 0*69<bchars> bcharsnospace (RFC 2046 §5.1.1), of a Content-Type that is multipart/form-data. None for any
/// other type, and for a boundary that is missing or malformed.
pub(super) fn boundary(content_type: &str) -> Option<String> {
    let (media_type, parameters) = content_type.split_once(';')?;
    if !media_type.trim().eq_ignore_ascii_case("multipart/form-data") {
        return None;
    }
    let boundary = parameter(parameters, "boundary")?;
    let is_bchar = |byte: u8| byte.is_ascii_alphanumeric() || b"'()+_,-./:=? ".contains(&byte);
    let is_boundary = (1..=70).contains(&boundary.len())
        && boundary.bytes().all(is_bchar)
        && !boundary.ends_with(' ');
    is_boundary.then_some(boundary)
}

/// The value of a parameter (RFC 9110 §5.6.6), a token or a quoted string, by its name. Of several the first. What has no
/// `=` is none, and is passed over.
///
/// Within a quoted string a backslash takes what is special from a quote or a backslash behind it alone: browsers
/// write `"` in the name of a file as `%22`, and some send paths of Windows as they are.
pub(super) fn parameter(parameters: &str, name: &str) -> Option<String> {
    let mut rest = parameters;
    loop {
        rest = rest.trim_start_matches([' ', '\t', ';']);
        let (found, behind) = rest.split_at(rest.find(['=', ';'])?);
        let Some(behind) = behind.strip_prefix('=') else {
            rest = behind;
            continue;
        };
        let (value, behind) = match behind.strip_prefix('"') {
            Some(quoted) => unquoted(quoted)?,
            None => {
                let (value, behind) = behind.split_once(';').unwrap_or((behind, ""));
                (value.trim_end().to_owned(), behind)
            }
        };
        if found.trim().eq_ignore_ascii_case(name) {
            return Some(value);
        }
        rest = behind;
    }
}

/// The text up to the quote that ends it, and what is behind that.
fn unquoted(quoted: &str) -> Option<(String, &str)> {
    let mut text = String::new();
    let mut characters = quoted.char_indices().peekable();
    while let Some((at, character)) = characters.next() {
        match character {
            '"' => return Some((text, &quoted[at + 1..])),
            '\\' => match characters.next_if(|(_, next)| matches!(next, '"' | '\\')) {
                Some((_, next)) => text.push(next),
                None => text.push('\\'),
            },
            _ => text.push(character),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_boundary_is_a_parameter_of_the_type() {
        for (content_type, expected) in [
            ("multipart/form-data; boundary=abc", Some("abc")),
            ("Multipart/Form-Data;charset=utf-8; Boundary=\"a b=c\" ; x=y", Some("a b=c")),
            ("multipart/form-data; x=\"a;boundary=no\"; boundary=yes", Some("yes")),
            ("multipart/form-data", None),
            ("multipart/form-data; boundary=", None),
            ("multipart/form-data; boundary=\"a", None),
            ("multipart/form-data; boundary=\"a \"", None),
            ("multipart/form-data; boundary=a\u{e4}", None),
            ("multipart/mixed; boundary=abc", None),
        ] {
            assert_eq!(boundary(content_type).as_deref(), expected, "{content_type}");
        }
        let longest = format!("multipart/form-data; boundary={}", "a".repeat(70));
        assert!(boundary(&longest).is_some() && boundary(&(longest + "a")).is_none());
    }

    #[test]
    fn a_backslash_stays_unless_it_is_in_front_of_a_quote() {
        let of = |text| parameter(text, "filename");
        assert_eq!(of(r#"name=a; filename="a\"b\\c""#).as_deref(), Some(r#"a"b\c"#));
        assert_eq!(of(r#"filename="C:\temp\a.txt""#).as_deref(), Some(r"C:\temp\a.txt"));
        assert_eq!(of(r#"filename="never ends"#), None);
    }

    #[test]
    fn what_has_no_value_does_not_take_that_of_the_next() {
        let of = |text| parameter(text, "name");
        for (parameters, name) in [
            (r#"foo; name="a""#, Some("a")),
            ("foo;name=a; bar", Some("a")),
            (r#"x="1"y; name=a"#, Some("a")),
            ("foo; bar ;; name=a", Some("a")),
            (r#"x="a; name=b"; foo; name=c"#, Some("c")),
            ("name; name=a", Some("a")),
            ("name", None),
            ("name; foo=a", None),
            ("", None),
        ] {
            assert_eq!(of(parameters).as_deref(), name, "{parameters}");
        }
        let content_type = "multipart/form-data; foo; boundary=abc";
        assert_eq!(boundary(content_type).as_deref(), Some("abc"));
    }
}
