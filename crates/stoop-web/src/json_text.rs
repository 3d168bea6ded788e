//! Strings of JSON (RFC 8259 §7), for lines of logs, lists and answers, which have no need of serde.

use std::io::Write;

/// Writes a string of JSON, with its quotes. Bytes that are not UTF-8 become U+FFFD, each sequence one.
///
/// Escaped are all control characters, also those that JSON lets be (U+007F to U+009F), what ends a line for some readers
/// (U+2028, U+2029), and what changes the direction of text: a terminal obeys them.
pub(crate) fn put_json(text: &[u8], out: &mut Vec<u8>) {
    out.push(b'"');
    put_json_text(text, out);
    out.push(b'"');
}

/// The same without the quotes.
#[inline]
pub(crate) fn put_json_text(text: &[u8], out: &mut Vec<u8>) {
    // Most texts are, and are copied at once.
    match is_plain(text) {
        true => out.extend_from_slice(text),
        false => put_odd_text(text, out),
    }
}

fn put_odd_text(text: &[u8], out: &mut Vec<u8>) {
    for chunk in text.utf8_chunks() {
        put_text(chunk.valid(), out);
        if !chunk.invalid().is_empty() {
            out.extend_from_slice("\u{fffd}".as_bytes());
        }
    }
}

/// Whether text is printable ASCII without quotes and backslashes, of which nothing has to be escaped.
#[inline]
pub(crate) fn is_plain(text: &[u8]) -> bool {
    let is_odd = |byte: u8| !(0x20..0x7f).contains(&byte) || byte == b'"' || byte == b'\\';
    let Some(last) = text.last_chunk() else { return !text.iter().any(|byte| is_odd(*byte)) };
    // The last eight bytes may be looked at twice.
    let (words, _) = text.as_chunks();
    words.iter().fold(odd_bits(*last), |odd, word| odd | odd_bits(*word)) == 0
}

/// Bits that are all zero if none of eight bytes has to be escaped.
#[inline]
fn odd_bits(bytes: [u8; 8]) -> u64 {
    const ONES: u64 = u64::MAX / 255;
    const HIGH: u64 = ONES << 7;
    let word = u64::from_ne_bytes(bytes);
    // The high bit of a byte that is zero, and perhaps of others if there is one.
    let zeros = |word: u64| word.wrapping_sub(ONES) & !word;
    let is = |byte: u8| zeros(word ^ (ONES * u64::from(byte)));
    let controls = word.wrapping_sub(ONES * 0x20) & !word;
    (word | controls | is(b'"') | is(b'\\') | is(0x7f)) & HIGH
}

fn put_text(text: &str, out: &mut Vec<u8>) {
    let mut rest = text;
    // Runs of what needs nothing are copied at once.
    while let Some((at, odd)) = rest.char_indices().find(|(_, character)| is_escaped(*character)) {
        out.extend_from_slice(&rest.as_bytes()[..at]);
        match odd {
            '"' => out.extend_from_slice(b"\\\""),
            '\\' => out.extend_from_slice(b"\\\\"),
            '\n' => out.extend_from_slice(b"\\n"),
            '\r' => out.extend_from_slice(b"\\r"),
            '\t' => out.extend_from_slice(b"\\t"),
            other => {
                // A write into a vector does not fail, and all of these have four digits.
                let _ = write!(out, "\\u{:04x}", u32::from(other));
            }
        }
        rest = &rest[at + odd.len_utf8()..];
    }
    out.extend_from_slice(rest.as_bytes());
}

fn is_escaped(character: char) -> bool {
    matches!(
        character,
        '"' | '\\' | '\0'..='\x1f' | '\x7f'..='\u{9f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(text: &[u8]) -> String {
        let mut out = Vec::new();
        put_json(text, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_string_of_json_has_no_control_character_and_is_utf8() {
        for (text, json) in [
            ("", r#""""#),
            ("plain /a?b=c", r#""plain /a?b=c""#),
            ("aé\"\\\n\r\t\u{1}\u{1b}\u{7f}b", r#""aé\"\\\n\r\t\u0001\u001b\u007fb""#),
            ("\u{80}\u{9b}2J\u{9f}\u{a0}", "\"\\u0080\\u009b2J\\u009f\u{a0}\""),
            ("a\u{2028}b\u{2029}\u{2027}", "\"a\\u2028b\\u2029\u{2027}\""),
            ("\u{202e}a\u{2066}b\u{2069}\u{206a}", "\"\\u202ea\\u2066b\\u2069\u{206a}\""),
            ("\u{1f40e}", "\"\u{1f40e}\""),
        ] {
            assert_eq!(put(text.as_bytes()), json, "{text:?}");
        }
        assert_eq!(put(b"a\xffb\xc3"), "\"a\u{fffd}b\u{fffd}\"");
    }

    /// Where a byte stands decides which words it is looked at in.
    #[test]
    fn each_byte_that_is_escaped_is_found_at_each_place() {
        for len in 1..35 {
            for place in 0..len {
                for byte in 0..=255_u8 {
                    for others in [b' ', b'!', b'#', b'[', b'~'] {
                        let mut text = vec![others; len];
                        text[place] = byte;
                        let is_odd = !matches!(byte, b' '..=b'~') || byte == b'"' || byte == b'\\';
                        assert_eq!(is_plain(&text), !is_odd, "{byte} at {place} of {len}");
                    }
                }
            }
        }
    }

    /// What is read again is what was written, for each character of the planes that have some that are escaped.
    #[cfg(feature = "json")]
    #[test]
    fn each_character_is_read_again_as_it_was() {
        for character in ('\0'..='\u{ffff}').chain(['\u{10000}', '\u{10ffff}']) {
            let text = format!("a{character}b");
            let read: String = serde_json::from_str(&put(text.as_bytes())).unwrap();
            assert_eq!(read, text);
        }
    }
}
