//! [`Fields`], a field section: field lines as bytes and spans, in the order in which they came.

use std::fmt;

use http::{HeaderName, HeaderValue};

use crate::error::Misuse;
use crate::grammar;
use crate::hidden;

/// Fields that must not stand in a trailer section, since they frame, route, authenticate or control,
/// or tell how to read the content: RFC 9110 §6.5.1. They are dropped on receipt, and not sent.
pub(crate) const FORBIDDEN_IN_TRAILERS: [&str; 35] = [
    "age",
    "authorization",
    "cache-control",
    "connection",
    "content-encoding",
    "content-length",
    "content-range",
    "content-type",
    "cookie",
    "date",
    "expect",
    "expires",
    "host",
    "if-match",
    "if-modified-since",
    "if-none-match",
    "if-range",
    "if-unmodified-since",
    "keep-alive",
    "location",
    "max-forwards",
    "pragma",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "range",
    "retry-after",
    "set-cookie",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "vary",
    "warning",
    "www-authenticate",
];

/// The capacity that is kept when a section is cleared for the next message.
const BYTES_KEPT_MAX: usize = 8 * 1024;
const LINES_KEPT_MAX: usize = 128;

/// The field lines of a head or of a trailer section (RFC 9110 §5).
///
/// One allocation holds the bytes, one the index; both are kept for the next message. Names keep
/// their case and compare without it; values are bytes, without leading and trailing whitespace.
#[derive(Clone, Default)]
pub struct Fields {
    pub(crate) bytes: Vec<u8>,
    lines: Vec<LineSpans>,
}

/// The spans of a field line's name and value in the section's bytes.
#[derive(Clone, Copy)]
struct LineSpans {
    name: Span,
    value: Span,
}

/// A range of a section's bytes. 32 bits suffice: `Limits` and `Fields::push` keep sections smaller.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) start: u32,
    pub(crate) len: u32,
}

impl Span {
    pub(crate) fn new(start: usize, len: usize) -> Self {
        Self { start: start as u32, len: len as u32 }
    }

    #[inline]
    pub(crate) fn of<'a>(&self, bytes: &'a [u8]) -> &'a [u8] {
        let start = self.start as usize;
        bytes.get(start..start + self.len as usize).unwrap_or_default()
    }
}

/// One field line.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Field<'a> {
    name: &'a [u8],
    value: &'a [u8],
}

impl<'a> Field<'a> {
    /// The name, in the case in which it was sent.
    pub fn name(&self) -> &'a str {
        std::str::from_utf8(self.name).unwrap_or_default()
    }

    /// The name as bytes, in the case in which it was sent: a token (RFC 9110 §5.6.2).
    #[inline]
    pub fn name_bytes(&self) -> &'a [u8] {
        self.name
    }

    /// The value: any bytes but control characters (tab excepted).
    pub fn value(&self) -> &'a [u8] {
        self.value
    }

    /// Whether the field has that name, in any case.
    pub fn is(&self, name: &str) -> bool {
        is_same_name(self.name, name.as_bytes())
    }

    /// Whether the value is a credential, as those of Authorization and Cookie are: `Debug` does not
    /// show it.
    pub fn is_secret(&self) -> bool {
        hidden::is_secret(self.name)
    }
}

impl Fields {
    /// A section without fields.
    pub const fn new() -> Self {
        Self { bytes: Vec::new(), lines: Vec::new() }
    }

    /// The number of field lines.
    pub fn len(&self) -> usize {
        self.lines.len()
    }

    /// Whether there are no field lines.
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// The field lines in order.
    pub fn iter(&self) -> impl Iterator<Item = Field<'_>> + Clone {
        self.lines.iter().map(|line| Field {
            name: line.name.of(&self.bytes),
            value: line.value.of(&self.bytes),
        })
    }

    /// The value of the first line of that name.
    pub fn first(&self, name: &str) -> Option<&[u8]> {
        let line = self.lines.iter().find(|line| self.has_name(line, name))?;
        Some(line.value.of(&self.bytes))
    }

    /// The values of all lines of that name, in order.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a [u8]> {
        let named = self.lines.iter().filter(move |line| self.has_name(line, name));
        named.map(|line| line.value.of(&self.bytes))
    }

    fn has_name(&self, line: &LineSpans, name: &str) -> bool {
        line.name.len as usize == name.len()
            && is_same_name(line.name.of(&self.bytes), name.as_bytes())
    }

    /// Whether there is a field of that name.
    pub fn contains(&self, name: &str) -> bool {
        self.first(name).is_some()
    }

    /// Whether a comma-separated field of that name lists `token`, in any case.
    pub fn lists(&self, name: &str, token: &str) -> bool {
        self.all(name)
            .flat_map(grammar::list)
            .any(|item| item.eq_ignore_ascii_case(token.as_bytes()))
    }

    /// Appends a field line. Whitespace around the value is dropped.
    ///
    /// # Errors
    /// [`Misuse::FieldName`] if the name is not a token, [`Misuse::FieldValue`] if the value has a
    /// control character in it, so that neither can end a line.
    pub fn push(&mut self, name: &str, value: &[u8]) -> Result<(), Misuse> {
        let value = grammar::trim(value);
        check(name, value)?;
        let start = self.bytes.len();
        if start + name.len() + value.len() > u32::MAX as usize {
            return Err(Misuse::TooLarge);
        }
        self.bytes.extend_from_slice(name.as_bytes());
        self.bytes.extend_from_slice(value);
        self.index(Span::new(start, name.len()), Span::new(start + name.len(), value.len()));
        Ok(())
    }

    /// Appends a field line of the `http` crate's types, whose rules for names and values are almost ours: what
    /// [`push`](Self::push) finds out of each byte is known of them.
    ///
    /// # Errors
    /// [`Misuse::FieldName`] if the name has a quote in it, which is no character of a token (RFC 9110 §5.6.2), though the
    /// crate takes it for one.
    pub fn push_header(&mut self, name: &HeaderName, value: &HeaderValue) -> Result<(), Misuse> {
        let (name, value) = (name.as_str().as_bytes(), grammar::trim(value.as_bytes()));
        if grammar::has_quote(name) {
            return Err(Misuse::FieldName);
        }
        if self.bytes.len() + name.len() + value.len() > u32::MAX as usize {
            return Err(Misuse::TooLarge);
        }
        self.append(name, value);
        Ok(())
    }

    /// Appends the lines of `defaults` whose names this has none of.
    ///
    /// ```
    /// let (mut fields, mut defaults) = (stoop_proto::Fields::new(), stoop_proto::Fields::new());
    /// fields.push("Accept", b"text/html")?;
    /// defaults.push("accept", b"*/*")?;
    /// defaults.push("user-agent", b"x/1")?;
    /// fields.push_missing(&defaults)?;
    /// assert_eq!(fields.iter().map(|field| field.name()).collect::<Vec<_>>(), ["Accept", "user-agent"]);
    /// # Ok::<(), stoop_proto::Misuse>(())
    /// ```
    ///
    /// # Errors
    /// [`Misuse::TooLarge`] beyond 4 GiB in all; nothing is appended then.
    pub fn push_missing(&mut self, defaults: &Self) -> Result<(), Misuse> {
        if self.bytes.len() + defaults.bytes.len() > u32::MAX as usize {
            return Err(Misuse::TooLarge);
        }
        let own = self.lines.len();
        for line in defaults.iter() {
            // They are checked: `defaults` has taken them.
            if !self.iter().take(own).any(|field| field.name.eq_ignore_ascii_case(line.name)) {
                self.append(line.name, line.value);
            }
        }
        Ok(())
    }

    /// Replaces all lines of that name by one.
    ///
    /// # Errors
    /// As [`Fields::push`]; nothing is removed then.
    pub fn set(&mut self, name: &str, value: &[u8]) -> Result<(), Misuse> {
        check(name, value)?;
        self.remove(name);
        self.push(name, value)
    }

    /// Removes all lines of that name; their bytes stay until [`Fields::clear`].
    pub fn remove(&mut self, name: &str) {
        let bytes = &self.bytes;
        self.lines.retain(|line| !line.name.of(bytes).eq_ignore_ascii_case(name.as_bytes()));
    }

    /// Removes all field lines and keeps the memory, up to some 10 KiB, for the next message.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.bytes.shrink_to(BYTES_KEPT_MAX);
        self.lines.clear();
        self.lines.shrink_to(LINES_KEPT_MAX);
    }

    /// Makes the lines those of another section, in the memory that is here.
    pub(crate) fn copy_from(&mut self, other: &Self) {
        self.bytes.clone_from(&other.bytes);
        self.lines.clone_from(&other.lines);
    }

    /// Appends a line that is already checked.
    #[inline]
    pub(crate) fn append(&mut self, name: &[u8], value: &[u8]) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(name);
        self.bytes.extend_from_slice(value);
        self.index(Span::new(start, name.len()), Span::new(start + name.len(), value.len()));
    }

    /// Adds a line whose bytes are already in `bytes` and checked.
    #[inline]
    pub(crate) fn index(&mut self, name: Span, value: Span) {
        self.lines.push(LineSpans { name, value });
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        self.bytes.capacity() + self.lines.capacity() * size_of::<LineSpans>()
    }

    #[inline]
    pub(crate) fn reserve(&mut self, lines: usize) {
        self.lines.reserve(lines);
    }
}

/// Whether two names are the same, in any case. In most the case is the same too.
#[inline]
fn is_same_name(one: &[u8], other: &[u8]) -> bool {
    one.len() == other.len() && (one == other || one.eq_ignore_ascii_case(other))
}

/// Checks that a field line of that name and value is exactly one line.
fn check(name: &str, value: &[u8]) -> Result<(), Misuse> {
    if !grammar::is_token(name.as_bytes()) {
        return Err(Misuse::FieldName);
    }
    if !grammar::is_field_value(value) {
        return Err(Misuse::FieldValue);
    }
    Ok(())
}

/// Shows no credentials: the values of Authorization, Cookie and the like are `<hidden>`.
impl fmt::Debug for Fields {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut map = f.debug_map();
        for field in self.iter() {
            let shown = hidden::redacted(field.name(), field.value);
            map.entry(&field.name(), &format_args!("{shown}"));
        }
        map.finish()
    }
}

impl PartialEq for Fields {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl Eq for Fields {}

/// Shows no credentials, as [`Fields`].
impl fmt::Debug for Field<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.name(), hidden::redacted(self.name(), self.value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pushed_field_cannot_end_a_line() {
        let mut fields = Fields::new();
        for value in [&b"a\r\nb: c"[..], b"a\nb", b"a\rb", b"a\0b", b"\x7f", b"a\r\n", b"\n"] {
            assert_eq!(fields.push("x", value), Err(Misuse::FieldValue), "{value:?}");
        }
        for name in ["", "a b", "a:", "a\r\n", "ä", "a\0"] {
            assert_eq!(fields.push(name, b"v"), Err(Misuse::FieldName), "{name:?}");
        }
        assert!(fields.is_empty());
    }

    #[test]
    fn what_the_http_crate_takes_is_what_push_takes() {
        for byte in 0..=255u8 {
            let header = HeaderName::from_bytes(&[b'a', byte, b'b']);
            if let Ok(name) = &header {
                let (mut ours, value) = (Fields::new(), HeaderValue::from_static("v"));
                assert_eq!(ours.push_header(name, &value), Fields::new().push(name.as_str(), b"v"));
            }
            let value = [b'a', byte, b'b'];
            let header = HeaderValue::from_bytes(&value);
            assert_eq!(header.is_ok(), Fields::new().push("a", &value).is_ok(), "{byte}");
        }
        // `HeaderName::from_bytes` takes no quote.
        for len in 1..40 {
            for at in 0..len {
                let (mut name, mut fields) = (vec![b'a'; len], Fields::new());
                name[at] = b'"';
                let name = HeaderName::from_lowercase(&name).unwrap();
                let pushed = fields.push_header(&name, &HeaderValue::from_static("v"));
                assert_eq!((pushed, fields.len()), (Err(Misuse::FieldName), 0), "{name}");
            }
        }
        let mut fields = Fields::new();
        let value = HeaderValue::from_bytes(b"\t two  words \xff ").unwrap();
        fields.push_header(&HeaderName::from_static("x-y"), &value).unwrap();
        fields
            .push_header(&HeaderName::from_static("x-y"), &HeaderValue::from_static(" "))
            .unwrap();
        assert_eq!(fields.all("X-Y").collect::<Vec<_>>(), [&b"two  words \xff"[..], b""]);
    }

    #[test]
    fn names_compare_without_case_and_values_lose_outer_whitespace() {
        let mut fields = Fields::new();
        fields.push("Accept", b" text/html \t").unwrap();
        fields.push("ACCEPT", b"*/*").unwrap();
        assert_eq!(fields.all("accept").collect::<Vec<_>>(), [&b"text/html"[..], b"*/*"]);
        fields.set("accept", b"none").unwrap();
        assert_eq!(fields.len(), 1);
        assert_eq!(fields.first("Accept"), Some(&b"none"[..]));
    }

    #[test]
    fn credentials_are_not_shown() {
        let mut fields = Fields::new();
        for name in ["Authorization", "proxy-authorization", "COOKIE", "set-cookie", "cookie2"] {
            fields.push(name, b"s3cret").unwrap();
        }
        fields.push("location", b"https://me:s3cret@a.example/").unwrap();
        fields.push("accept", b"text/html").unwrap();
        let each = fields.iter().map(|field| format!("{field:?}"));
        for shown in each.chain([format!("{fields:?}"), format!("{fields:#?}")]) {
            assert!(!shown.contains("s3cret"), "{shown}");
        }
        let shown = format!("{fields:?}");
        for part in ["Authorization\": <hidden>", "https://me:***@a.example/", "text/html"] {
            assert!(shown.contains(part), "{shown}");
        }
        assert_eq!(fields.iter().filter(Field::is_secret).count(), 5);
        assert_eq!(fields.first("cookie"), Some(&b"s3cret"[..]));
    }

    #[test]
    fn a_list_is_searched_item_by_item_over_all_lines() {
        let mut fields = Fields::new();
        fields.push("connection", b"keep-alive ,, Upgrade").unwrap();
        fields.push("connection", b"te").unwrap();
        assert!(fields.lists("Connection", "upgrade") && fields.lists("connection", "TE"));
        assert!(!fields.lists("connection", "keep"));
    }
}
