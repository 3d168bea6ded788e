//! A distinguished name as text (RFC 4514).

use std::fmt::Write;

use super::der::{Der, OBJECT_IDENTIFIER, SEQUENCE, SET};
use super::text::text;

/// id-at-commonName, 2.5.4.3.
pub(super) const COMMON_NAME: &[u8] = &[0x55, 0x04, 0x03];

/// The attributes that have a short name in every implementation (RFC 4514 §3), by their object identifiers.
const SHORT_NAMES: [(&[u8], &str); 9] = [
    (COMMON_NAME, "CN"),
    (&[0x55, 0x04, 0x06], "C"),
    (&[0x55, 0x04, 0x07], "L"),
    (&[0x55, 0x04, 0x08], "ST"),
    (&[0x55, 0x04, 0x09], "STREET"),
    (&[0x55, 0x04, 0x0a], "O"),
    (&[0x55, 0x04, 0x0b], "OU"),
    // 0.9.2342.19200300.100.1, of RFC 4519.
    (&[0x09, 0x92, 0x26, 0x89, 0x93, 0xf2, 0x2c, 0x64, 0x01, 0x19], "DC"),
    (&[0x09, 0x92, 0x26, 0x89, 0x93, 0xf2, 0x2c, 0x64, 0x01, 0x01], "UID"),
];

/// An `RDNSequence ::= SEQUENCE OF SET OF SEQUENCE { type, value }` (RFC 5280 §4.1.2.4) as text, the last of it first;
/// empty if it is. None where it is not one.
pub(super) fn distinguished_name(name: &[u8]) -> Option<String> {
    let (mut name, mut parts) = (Der(name), Vec::new());
    while !name.0.is_empty() {
        let (mut attributes, mut part) = (Der(name.expect(SET)?), String::new());
        while !attributes.0.is_empty() {
            let mut attribute = Der(attributes.expect(SEQUENCE)?);
            if !part.is_empty() {
                part.push('+');
            }
            put_attribute(attribute.expect(OBJECT_IDENTIFIER)?, attribute, &mut part)?;
        }
        parts.push(part);
    }
    parts.reverse();
    Some(parts.join(","))
}

/// RFC 4514 §2.3, §2.4: what has no short name, or whose value is no text, has its value as the bytes of its DER.
fn put_attribute(of_type: &[u8], mut value: Der<'_>, out: &mut String) -> Option<()> {
    let encoded = value.0;
    let (tag, content) = value.next()?;
    let encoded = &encoded[..encoded.len() - value.0.len()];
    let short = SHORT_NAMES.iter().find(|(id, _)| *id == of_type).map(|(_, short)| *short);
    match short {
        Some(short) => out.push_str(short),
        None => put_identifier(of_type, out)?,
    }
    out.push('=');
    match short.and_then(|_| text(tag, content)) {
        Some(text) => put_text(&text, out),
        None => {
            out.push('#');
            encoded.iter().for_each(|byte| put_hex(*byte, out));
        }
    }
    Some(())
}

/// RFC 4514 §2.4. Controls are escaped too, as any character may be: so a name is one line.
fn put_text(text: &str, out: &mut String) {
    let last = text.chars().count().saturating_sub(1);
    for (index, char) in text.chars().enumerate() {
        match char {
            '"' | '+' | ',' | ';' | '<' | '>' | '\\' => out.extend(['\\', char]),
            '#' if index == 0 => out.push_str("\\#"),
            ' ' if index == 0 || index == last => out.push_str("\\ "),
            '\0'..='\x1f' | '\x7f' => {
                out.push('\\');
                put_hex(char as u8, out);
            }
            _ => out.push(char),
        }
    }
}

fn put_hex(byte: u8, out: &mut String) {
    let _ = write!(out, "{byte:02X}");
}

/// An object identifier by its numbers (X.690 §8.19). None if it is none, or one of them is beyond 64 bits.
fn put_identifier(id: &[u8], out: &mut String) -> Option<()> {
    let (mut number, mut has_begun, mut is_first) = (0_u64, false, true);
    for byte in id {
        // The shortest form has no leading zeros.
        if !has_begun && *byte == 0x80 {
            return None;
        }
        number = number.checked_mul(0x80)? | u64::from(byte & 0x7f);
        has_begun = byte & 0x80 != 0;
        if has_begun {
            continue;
        }
        if std::mem::take(&mut is_first) {
            let root = (number / 40).min(2);
            let _ = write!(out, "{root}.{}", number - root * 40);
        } else {
            let _ = write!(out, ".{number}");
        }
        number = 0;
    }
    (!has_begun && !is_first).then_some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The contents of a name whose attributes are these, one a set; lengths are below 128.
    fn name(attributes: &[(&[u8], u8, &[u8])]) -> Vec<u8> {
        let mut wire = Vec::new();
        for attribute in attributes {
            let one = attribute_of(attribute);
            wire.extend([SET, one.len() as u8]);
            wire.extend(one);
        }
        wire
    }

    fn attribute_of((id, tag, value): &(&[u8], u8, &[u8])) -> Vec<u8> {
        let length = (id.len() + value.len() + 4) as u8;
        let head = [SEQUENCE, length, OBJECT_IDENTIFIER, id.len() as u8];
        [&head[..], id, &[*tag, value.len() as u8], value].concat()
    }

    fn common(value: &str) -> Option<String> {
        distinguished_name(&name(&[(&[0x55, 4, 3], 0x0c, value.as_bytes())]))
    }

    /// RFC 4514 §4 has these.
    #[test]
    fn names_are_as_the_rfc_shows_them() {
        let (dc, uid): (&[u8], &[u8]) = (SHORT_NAMES[7].0, SHORT_NAMES[8].0);
        let net = name(&[(dc, 0x16, b"net"), (dc, 0x16, b"example"), (uid, 0x0c, b"jsmith")]);
        assert_eq!(distinguished_name(&net).unwrap(), "UID=jsmith,DC=example,DC=net");
        let two = [
            attribute_of(&(&[0x55, 4, 0x0b], 0x0c, b"Sales")),
            attribute_of(&(&[0x55, 4, 3], 0x0c, b"J.  Smith")),
        ]
        .concat();
        let several = [&name(&[(dc, 0x16, b"net")])[..], &[SET, two.len() as u8], &two].concat();
        assert_eq!(distinguished_name(&several).unwrap(), "OU=Sales+CN=J.  Smith,DC=net");
        assert_eq!(common(r#"James "Jim" Smith, III"#).unwrap(), r#"CN=James \"Jim\" Smith\, III"#);
        assert_eq!(common("Before\rAfter").unwrap(), r"CN=Before\0DAfter");
        let unknown = name(&[(b"\x2b\x06\x01\x04\x01\x8b\x3a\x00", 4, b"Hi")]);
        assert_eq!(distinguished_name(&unknown).unwrap(), "1.3.6.1.4.1.1466.0=#04024869");
        assert_eq!(common("Lučić").unwrap(), "CN=Lučić");
    }

    #[test]
    fn what_a_reader_would_take_for_something_else_is_escaped() {
        for (value, expected) in [
            ("#1", r"CN=\#1"),
            ("a#1", "CN=a#1"),
            (" a b ", r"CN=\ a b\ "),
            (" ", r"CN=\ "),
            ("", "CN="),
            ("a,CN=b", r"CN=a\,CN=b"),
            ("a\0b\n", r"CN=a\00b\0A"),
            (r"a\+b;<c>", r"CN=a\\\+b\;\<c\>"),
        ] {
            assert_eq!(common(value).unwrap(), expected, "{value:?}");
        }
    }

    /// TeletexString, and bytes that are not UTF-8.
    #[test]
    fn a_value_that_is_no_text_is_the_bytes_of_its_der() {
        for (tag, value, expected) in
            [(0x14, &b"\xe9"[..], "CN=#1401E9"), (0x0c, b"\xff", "CN=#0C01FF")]
        {
            let wire = name(&[(&[0x55, 4, 3], tag, value)]);
            assert_eq!(distinguished_name(&wire).unwrap(), expected);
        }
    }

    #[test]
    fn identifiers_are_whole_and_in_their_shortest_form() {
        let of = |id: &[u8]| {
            let mut text = String::new();
            put_identifier(id, &mut text).map(|()| text)
        };
        assert_eq!(of(&[0x00]).as_deref(), Some("0.0"));
        assert_eq!(of(&[0x78]).as_deref(), Some("2.40"));
        assert_eq!(of(&[0x88, 0x37]).as_deref(), Some("2.999"));
        assert_eq!(of(&[0x2a, 0x86, 0x48]).as_deref(), Some("1.2.840"));
        for none in [&[][..], &[0x2a, 0x86], &[0x2a, 0x80, 1], &[0xff; 11]] {
            assert_eq!(of(none), None, "{none:x?}");
        }
    }

    #[test]
    fn what_is_no_name_has_no_text() {
        assert_eq!(distinguished_name(b"").as_deref(), Some(""));
        for none in
            [&b"\x30\x00"[..], b"\x31\x02\x30\x00", b"\x31\x05\x30\x03\x06\x01\x55", b"\x31"]
        {
            assert_eq!(distinguished_name(none), None, "{none:x?}");
        }
    }
}
