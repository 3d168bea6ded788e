//! Escapes what a client sent, so that it can neither end its place in a line nor begin another line.

/// Writes text as Apache does since 2.0.46: quotes and backslashes behind a backslash, whitespace as C writes it,
/// everything else that is not printable ASCII as `\xhh`.
pub(super) fn put_apache(text: &[u8], out: &mut Vec<u8>) {
    for &byte in text {
        let short = match byte {
            b'"' | b'\\' => byte,
            0x08 => b'b',
            b'\n' => b'n',
            b'\r' => b'r',
            b'\t' => b't',
            0x0b => b'v',
            0x20..0x7f => {
                out.push(byte);
                continue;
            }
            _ => {
                out.extend_from_slice(b"\\x");
                out.extend_from_slice(&hex(byte));
                continue;
            }
        };
        out.extend_from_slice(&[b'\\', short]);
    }
}

/// Writes a string of JSON, with its quotes (RFC 8259 §7). Bytes that are not UTF-8 become U+FFFD, each sequence one.
pub(crate) fn put_json(text: &[u8], out: &mut Vec<u8>) {
    out.push(b'"');
    // Most texts are, and are copied at once.
    if is_plain(text) {
        out.extend_from_slice(text);
        return out.push(b'"');
    }
    for chunk in text.utf8_chunks() {
        put_json_text(chunk.valid().as_bytes(), out);
        if !chunk.invalid().is_empty() {
            out.extend_from_slice("\u{fffd}".as_bytes());
        }
    }
    out.push(b'"');
}

/// Whether text is printable ASCII, of which nothing has to be escaped. All of it is looked at, which the compiler does for
/// many bytes at once.
fn is_plain(text: &[u8]) -> bool {
    let is_odd = |byte: u8| !(0x20..0x7f).contains(&byte) || byte == b'"' || byte == b'\\';
    !text.iter().fold(false, |odd, byte| odd | is_odd(*byte))
}

fn put_json_text(text: &[u8], out: &mut Vec<u8>) {
    let mut rest = text;
    // Runs of what needs nothing are copied at once.
    while let Some(at) = rest.iter().position(|&b| matches!(b, b'"' | b'\\' | 0..0x20 | 0x7f)) {
        out.extend_from_slice(&rest[..at]);
        match rest[at] {
            byte @ (b'"' | b'\\') => out.extend_from_slice(&[b'\\', byte]),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            byte => {
                out.extend_from_slice(b"\\u00");
                out.extend_from_slice(&hex(byte));
            }
        }
        rest = &rest[at + 1..];
    }
    out.extend_from_slice(rest);
}

fn hex(byte: u8) -> [u8; 2] {
    let digits = b"0123456789abcdef";
    [digits[usize::from(byte >> 4)], digits[usize::from(byte & 15)]]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(put: fn(&[u8], &mut Vec<u8>), text: &[u8]) -> String {
        let mut out = Vec::new();
        put(text, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn apache_has_no_byte_in_a_line_that_is_not_printable() {
        assert_eq!(put(put_apache, b"plain /a?b=c"), "plain /a?b=c");
        assert_eq!(put(put_apache, b"\"\\\n\r\t\x08\x0b"), r#"\"\\\n\r\t\b\v"#);
        assert_eq!(put(put_apache, "\0\x1b\x7fé".as_bytes()), r"\x00\x1b\x7f\xc3\xa9");
    }

    #[test]
    fn a_string_of_json_has_no_control_character_and_is_utf8() {
        assert_eq!(
            put(put_json, "aé\"\\\n\r\t\u{1}\u{7f}".as_bytes()),
            r#""aé\"\\\n\r\t\u0001\u007f""#
        );
        assert_eq!(put(put_json, b"a\xffb\xc3"), "\"a\u{fffd}b\u{fffd}\"");
    }
}
