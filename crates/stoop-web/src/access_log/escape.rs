//! Escapes what a client sent as Apache does, so that it can neither end its place in a line nor begin another line.

use crate::json_text::is_plain;

/// Writes text as Apache does since 2.0.46: quotes and backslashes behind a backslash, whitespace as C writes it,
/// everything else that is not printable ASCII as `\xhh`.
pub(super) fn put_apache(text: &[u8], out: &mut Vec<u8>) {
    // Most texts are, and are copied at once.
    if is_plain(text) {
        return out.extend_from_slice(text);
    }
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

fn hex(byte: u8) -> [u8; 2] {
    let digits = b"0123456789abcdef";
    [digits[usize::from(byte >> 4)], digits[usize::from(byte & 15)]]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(text: &[u8]) -> String {
        let mut out = Vec::new();
        put_apache(text, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn apache_has_no_byte_in_a_line_that_is_not_printable() {
        assert_eq!(put(b"plain /a?b=c"), "plain /a?b=c");
        assert_eq!(put(b"\"\\\n\r\t\x08\x0b"), r#"\"\\\n\r\t\b\v"#);
        assert_eq!(put("\0\x1b\x7fé".as_bytes()), r"\x00\x1b\x7f\xc3\xa9");
    }
}
