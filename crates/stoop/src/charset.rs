//! [`Charset`]: the character encoding of text.

use std::borrow::Cow;

use bytes::Bytes;
use encoding_rs::{Encoding, UTF_8};

/// A character encoding of the [WHATWG encoding standard](https://encoding.spec.whatwg.org/), with its names and its way to
/// decode: what [`Response::text`](crate::Response::text) decodes by.
///
/// ```
/// use stoop::Charset;
///
/// let charset = Charset::from_content_type(b"text/html; charset=ISO-8859-1").unwrap();
/// assert_eq!(charset.name(), "windows-1252");
/// assert_eq!(charset.decode(b"caf\xe9"), "caf\u{e9}");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Charset(&'static Encoding);

impl Charset {
    /// UTF-8.
    pub const UTF_8: Self = Self(UTF_8);

    /// The one that has this label, such as `latin1` or `Shift_JIS`, in upper or lower case.
    pub fn from_label(label: &[u8]) -> Option<Self> {
        Encoding::for_label(label).map(Self)
    }

    /// The one that the parameter `charset` of a Content-Type names (RFC 9110 §8.3.2).
    pub fn from_content_type(content_type: &[u8]) -> Option<Self> {
        Self::from_label(parameter(content_type)?.as_bytes())
    }

    /// The one of the byte order mark that content begins with: UTF-8, UTF-16LE or UTF-16BE.
    pub fn from_byte_order_mark(content: &[u8]) -> Option<Self> {
        Encoding::for_bom(content).map(|(encoding, _)| Self(encoding))
    }

    /// Its name in the standard, such as `UTF-8` or `windows-1252`.
    pub fn name(self) -> &'static str {
        self.0.name()
    }

    /// The text of content: in the encoding of its byte order mark, which the text does not have, or else in this one.
    /// Bytes that are invalid in it become U+FFFD.
    pub fn decode(self, content: &[u8]) -> Cow<'_, str> {
        self.0.decode(content).0
    }

    /// The same, without a copy of what is UTF-8 already.
    pub(crate) fn decode_bytes(self, content: Bytes) -> String {
        let (text, encoding, _) = self.0.decode(&content);
        match text {
            // It is what was received, without a byte order mark perhaps.
            Cow::Borrowed(text) if encoding == UTF_8 && text.len() == content.len() => {
                String::from_utf8(content.into()).unwrap_or_default()
            }
            text => text.into_owned(),
        }
    }
}

/// The parameter `charset` of a Content-Type.
fn parameter(content_type: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(content_type).ok()?;
    let mut is_quoted = false;
    let parameters = text.split(|c| {
        is_quoted ^= c == '"';
        c == ';' && !is_quoted
    });
    parameters.skip(1).find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        let value = value.trim().trim_matches('"');
        name.trim().eq_ignore_ascii_case("charset").then(|| value.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_charset_of_a_content_type_is_its_parameter() {
        for (content_type, found) in [
            ("text/html", None),
            ("text/html; charset=utf-8", Some("utf-8")),
            ("text/html;Charset=\"ISO-8859-1\"", Some("ISO-8859-1")),
            ("text/x; a=\"; charset=no\" ; CHARSET = koi8-r ", Some("koi8-r")),
            ("charset=utf-8", None),
        ] {
            assert_eq!(parameter(content_type.as_bytes()).as_deref(), found, "{content_type}");
        }
    }

    #[test]
    fn text_is_decoded_by_its_label_by_its_mark_or_as_utf_8() {
        let text = |content: &'static [u8], label: &str| {
            let charset = Charset::from_label(label.as_bytes()).unwrap_or(Charset::UTF_8);
            let text = charset.decode_bytes(Bytes::from_static(content));
            assert_eq!(charset.decode(content), text);
            text
        };
        assert_eq!(text("ä€".as_bytes(), ""), "ä€");
        assert_eq!(text(b"\xef\xbb\xbfa", ""), "a");
        assert_eq!(text(b"a\xff", ""), "a\u{fffd}");
        assert_eq!(text(b"\xe4\x80", "latin1"), "ä€");
        assert_eq!(text(b"\xfe\xff\0a", "utf-8"), "a");
        assert_eq!(text(b"\xe4", "no such"), "\u{fffd}");
        assert_eq!(
            Charset::from_byte_order_mark(b"\xff\xfea\0").map(Charset::name),
            Some("UTF-16LE")
        );
        assert_eq!(Charset::from_byte_order_mark(b"a"), None);
    }
}
