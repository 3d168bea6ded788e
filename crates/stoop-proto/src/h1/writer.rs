//! [`BodyWriter`]: writes bodies, with one variant for each framing; and functions to write fields.

use bytes::Bytes;

use crate::Sink;
use crate::error::Misuse;
use crate::fields::{FORBIDDEN_IN_TRAILERS, Field, Fields};
use crate::grammar::is_name;
use crate::message::BodySize;

/// Writes a body in the framing its head announced.
#[derive(Clone, Copy, Debug)]
pub(super) enum BodyWriter {
    /// This many bytes are left to write.
    Length(u64),
    /// Chunks.
    Chunked,
    /// Any bytes; the end of the connection ends the body.
    UntilClose,
    /// The message has no body: a response to HEAD, a 304. Content is dropped.
    Nothing,
}

impl BodyWriter {
    pub(super) fn data(&mut self, data: Bytes, out: &mut impl Sink) -> Result<(), Misuse> {
        self.data_by(data.len() as u64, out, |out| out.share(data))
    }

    /// Writes `len` bytes of content, which `write` puts into `out`.
    pub(super) fn data_by<S: Sink>(
        &mut self,
        len: u64,
        out: &mut S,
        write: impl FnOnce(&mut S),
    ) -> Result<(), Misuse> {
        if len == 0 {
            return Ok(());
        }
        match self {
            Self::Length(left) => {
                *left = left.checked_sub(len).ok_or(Misuse::BodyTooLong)?;
                write(out);
            }
            Self::Chunked => {
                let mut line = [0; 18];
                out.put(chunk_size(len, &mut line));
                write(out);
                out.put(b"\r\n");
            }
            Self::UntilClose => write(out),
            Self::Nothing => {}
        }
        Ok(())
    }

    pub(super) fn finish(
        self,
        trailers: Option<&Fields>,
        out: &mut impl Sink,
    ) -> Result<(), Misuse> {
        match self {
            Self::Length(0) | Self::UntilClose | Self::Nothing => Ok(()),
            Self::Length(_) => Err(Misuse::BodyTooShort),
            Self::Chunked => {
                out.put(b"0\r\n");
                for field in trailers.into_iter().flat_map(Fields::iter) {
                    if !FORBIDDEN_IN_TRAILERS.iter().any(|name| field.is(name)) {
                        put_field(field, out);
                    }
                }
                out.put(b"\r\n");
                Ok(())
            }
        }
    }
}

/// Formats `chunk-size CRLF`, in hexadecimal.
fn chunk_size(mut size: u64, line: &mut [u8; 18]) -> &[u8] {
    line[16..].copy_from_slice(b"\r\n");
    let mut at = 16;
    loop {
        at -= 1;
        line[at] = b"0123456789abcdef"[(size & 15) as usize];
        size >>= 4;
        if size == 0 {
            return &line[at..];
        }
    }
}

/// Whether the machine decides the field of that name, whatever the caller passes.
#[inline]
pub(super) fn is_managed_field(name: &[u8]) -> bool {
    match name.len() {
        10 => is_name(name, b"connection") || is_name(name, b"keep-alive"),
        14 => is_name(name, b"content-length"),
        17 => is_name(name, b"transfer-encoding"),
        _ => false,
    }
}

/// Writes `field-name ": " field-value CRLF`. Name and value were checked when the field was created.
#[inline]
pub(super) fn put_field(field: Field<'_>, out: &mut impl Sink) {
    out.put(field.name_bytes());
    out.put(b": ");
    out.put(field.value());
    out.put(b"\r\n");
}

/// Announces a body of that size, and returns its writer.
pub(super) fn announce(
    size: BodySize,
    chunks_are_understood: bool,
    out: &mut impl Sink,
) -> BodyWriter {
    match size {
        BodySize::Exact(length) => {
            put_length(length, out);
            BodyWriter::Length(length)
        }
        BodySize::Unknown if chunks_are_understood => {
            out.put(b"transfer-encoding: chunked\r\n");
            BodyWriter::Chunked
        }
        BodySize::Unknown => BodyWriter::UntilClose,
    }
}

#[inline]
pub(super) fn put_length(length: u64, out: &mut impl Sink) {
    out.put(b"content-length: ");
    out.put(itoa::Buffer::new().format(length).as_bytes());
    out.put(b"\r\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunk_sizes_are_hexadecimal() {
        for (size, line) in [(1, "1\r\n"), (10, "a\r\n"), (4096, "1000\r\n")] {
            assert_eq!(chunk_size(size, &mut [0; 18]), line.as_bytes());
        }
        assert_eq!(chunk_size(u64::MAX, &mut [0; 18]), b"ffffffffffffffff\r\n");
    }

    #[test]
    fn content_that_another_writes_is_framed_as_its_announced_length() {
        for (mut writer, expected) in [
            (BodyWriter::Length(5), Ok("hello")),
            (BodyWriter::Length(4), Err(Misuse::BodyTooLong)),
            (BodyWriter::Chunked, Ok("5\r\nhello\r\n")),
            (BodyWriter::UntilClose, Ok("hello")),
            (BodyWriter::Nothing, Ok("")),
        ] {
            let mut out = Vec::new();
            let sent = writer.data_by(5, &mut out, |out| out.put(b"hello"));
            assert_eq!(sent.map(|()| String::from_utf8(out).unwrap()), expected.map(str::to_owned));
        }
    }

    #[test]
    fn no_content_is_no_chunk() {
        let mut out = Vec::new();
        BodyWriter::Chunked.data_by(0, &mut out, |out| out.put(b"x")).unwrap();
        assert_eq!(out, b"");
    }
}
