//! The head of a message as an archive has it: what counts of it.

/// The longest head that is looked at.
pub(super) const HEAD_BYTES_MAX: usize = 256 << 10;

/// The head of a request or a response.
pub(super) struct HttpHead<'a> {
    len: usize,
    first: &'a [u8],
    fields: &'a [u8],
}

impl<'a> HttpHead<'a> {
    /// The head at the beginning of `block`, as far as it is there.
    pub(super) fn new(block: &'a [u8]) -> Self {
        let end = memchr::memmem::find(block, b"\r\n\r\n").unwrap_or(block.len());
        let head = &block[..end];
        let first_end = memchr::memmem::find(head, b"\r\n").unwrap_or(head.len());
        let fields = head.get(first_end + 2..).unwrap_or_default();
        Self { len: end, first: &head[..first_end], fields }
    }

    /// How long it is, without the empty line.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// The method of a request.
    pub(super) fn method(&self) -> &'a [u8] {
        self.first.split(|byte| *byte == b' ').next().unwrap_or_default()
    }

    /// The status of a response.
    pub(super) fn status(&self) -> Option<u16> {
        let status = self.first.split(|byte| *byte == b' ').nth(1)?;
        std::str::from_utf8(status).ok()?.parse().ok()
    }

    /// The value of the first field of that name; empty if there is none.
    pub(super) fn field(&self, name: &str) -> &'a [u8] {
        let of_line = |line: &'a [u8]| {
            let colon = memchr::memchr(b':', line)?;
            let is_it = line[..colon].eq_ignore_ascii_case(name.as_bytes());
            is_it.then(|| line[colon + 1..].trim_ascii())
        };
        let mut lines = self.fields.split(|byte| *byte == b'\n');
        lines.find_map(of_line).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_has_its_first_line_and_its_fields() {
        let head = HttpHead::new(
            b"HTTP/1.1 200 OK\r\nA: 1\r\nETag:  W/\"a:b\" \r\netag: x\r\n\r\nLast-Modified: no",
        );
        assert_eq!(head.status(), Some(200));
        assert_eq!(head.field("etag"), b"W/\"a:b\"");
        assert_eq!(head.field("last-modified"), b"");
        assert_eq!(HttpHead::new(b"HEAD / HTTP/1.1\r\n\r\n").method(), b"HEAD");
        for broken in [&b""[..], b"\r\n", b"HTTP/1.1", b"x\r\n:"] {
            let head = HttpHead::new(broken);
            assert_eq!((head.status(), head.field("a")), (None, &b""[..]));
        }
    }
}
