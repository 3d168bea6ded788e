//! Bodies: one reader and one writer for each framing, chosen once by the head.

use std::ops::Range;

use bytes::Bytes;

use crate::Sink;
use crate::error::{Misuse, Violation};
use crate::fields::Fields;
use crate::h1::framing::Framing;
use crate::h1::head::Scan;
use crate::limits::Limits;
use crate::message::BodySize;

/// What a body reader found at the front of its input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Piece {
    /// Content, as a span of the input.
    Data(Range<usize>),
    /// The body is complete; `trailers` if a trailer section was read.
    End { trailers: bool },
    /// Nothing more can be said before more bytes come.
    NeedMore,
}

/// Reads a body. `Copy`, so that one can look ahead with a clone.
#[derive(Clone, Copy, Debug)]
pub(super) enum Reader {
    Length(u64),
    Chunked(Chunked),
    UntilClose { total: u64 },
}

impl Reader {
    pub(super) fn new(framing: Framing, padding_allowed: bool) -> Self {
        match framing {
            Framing::Length(length) => Self::Length(length),
            Framing::Chunked => Self::Chunked(Chunked { padding_allowed, ..Chunked::default() }),
            Framing::UntilClose | Framing::Tunnel => Self::UntilClose { total: 0 },
        }
    }

    /// Reads from the front of `input`: how many bytes are done with, and what they were.
    pub(super) fn read(
        &mut self,
        input: &[u8],
        trailers: &mut Fields,
        limits: &Limits,
    ) -> Result<(usize, Piece), Violation> {
        match self {
            Self::Length(0) => Ok((0, Piece::End { trailers: false })),
            Self::Length(left) => {
                let n = usize::try_from(*left).unwrap_or(usize::MAX).min(input.len());
                *left -= n as u64;
                Ok((n, if n == 0 { Piece::NeedMore } else { Piece::Data(0..n) }))
            }
            Self::Chunked(chunked) => chunked.read(input, trailers, limits),
            Self::UntilClose { .. } if input.is_empty() => Ok((0, Piece::NeedMore)),
            Self::UntilClose { total } => {
                *total += input.len() as u64;
                within_limit(*total, limits)?;
                Ok((input.len(), Piece::Data(0..input.len())))
            }
        }
    }

    /// Whether the body is complete now that the peer will send no more.
    pub(super) fn at_end(&self) -> Result<(), Violation> {
        match self {
            Self::Length(0) | Self::UntilClose { .. } => Ok(()),
            Self::Length(_) | Self::Chunked(_) => Err(Violation::BodyCutShort),
        }
    }

    /// How many bytes are still to come, where that is known.
    pub(super) fn remaining(&self) -> Option<u64> {
        match self {
            Self::Length(left) => Some(*left),
            Self::Chunked(_) | Self::UntilClose { .. } => None,
        }
    }
}

fn within_limit(total: u64, limits: &Limits) -> Result<(), Violation> {
    match limits.body_bytes_max {
        Some(max) if total > max => Err(Violation::BodyTooLarge),
        _ => Ok(()),
    }
}

/// The chunked transfer coding (RFC 9112 §7.1), byte by byte up to the content, so that nothing is
/// read twice however the input is cut.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Chunked {
    at: At,
    /// The size being read, then what is left of the chunk.
    size: u64,
    digits: u8,
    /// Old servers pad chunk sizes with spaces; only a client puts up with it.
    padding_allowed: bool,
    line: u32,
    extensions: u64,
    total: u64,
    scan: Scan,
}

/// Where in `chunk = chunk-size [ chunk-ext ] CRLF chunk-data CRLF` we are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum At {
    #[default]
    Size,
    /// Whitespace before an extension's semicolon: BWS, which only an extension may have.
    Space,
    Extension,
    SizeLf,
    Data,
    DataCr,
    DataLf,
    Trailers,
}

impl Chunked {
    fn read(
        &mut self,
        input: &[u8],
        trailers: &mut Fields,
        limits: &Limits,
    ) -> Result<(usize, Piece), Violation> {
        let mut at = 0;
        while at < input.len() {
            match self.at {
                At::Data => {
                    let left = usize::try_from(self.size).unwrap_or(usize::MAX);
                    let n = left.min(input.len() - at);
                    self.size -= n as u64;
                    if self.size == 0 {
                        self.at = At::DataCr;
                    }
                    self.total = self.total.saturating_add(n as u64);
                    within_limit(self.total, limits)?;
                    return Ok((at + n, Piece::Data(at..at + n)));
                }
                At::Trailers => {
                    let rest = &input[at..];
                    // The usual case: no trailer section at all.
                    if rest.starts_with(b"\r\n") {
                        return Ok((at + 2, Piece::End { trailers: false }));
                    }
                    if rest == b"\r" {
                        break;
                    }
                    return match self.scan.trailers(rest, trailers, limits)? {
                        Some(n) => {
                            FORBIDDEN_IN_TRAILERS.iter().for_each(|name| trailers.remove(name));
                            Ok((at + n, Piece::End { trailers: true }))
                        }
                        None => Ok((at, Piece::NeedMore)),
                    };
                }
                _ => self.step(input[at], limits)?,
            }
            at += 1;
        }
        Ok((at, Piece::NeedMore))
    }

    fn step(&mut self, byte: u8, limits: &Limits) -> Result<(), Violation> {
        match (self.at, byte) {
            (At::Size, b'0'..=b'9' | b'a'..=b'f' | b'A'..=b'F') => {
                // Sixteen digits are 64 bits; more would only be leading zeros or an overflow.
                if self.digits == 16 {
                    return Err(Violation::ChunkSizeOverflow);
                }
                self.digits += 1;
                let digit = (byte as char).to_digit(16).unwrap_or_default();
                self.size = self.size << 4 | u64::from(digit);
            }
            (At::Size, _) if self.digits == 0 => return Err(Violation::ChunkSize),
            (At::Size, b'\r') => self.at = At::SizeLf,
            (At::Space, b'\r') if self.padding_allowed => self.at = At::SizeLf,
            (At::Size | At::Space, b';') => self.at = At::Extension,
            (At::Size | At::Space, b' ' | b'\t') => self.at = At::Space,
            (At::Size | At::Space, _) => return Err(Violation::ChunkSize),
            (At::Extension, b'\r') => self.at = At::SizeLf,
            (At::Extension, b'\t' | b' '..=b'~' | 0x80..) => {}
            (At::Extension, _) => return Err(Violation::ChunkExtension),
            (At::SizeLf, b'\n') => {
                self.line = 0;
                self.at = match self.size {
                    0 => At::Trailers,
                    _ => At::Data,
                };
                self.digits = 0;
                return within_limit(self.total.saturating_add(self.size), limits);
            }
            (At::SizeLf, _) => return Err(Violation::ChunkSize),
            (At::DataCr, b'\r') => self.at = At::DataLf,
            (At::DataLf, b'\n') => self.at = At::Size,
            (At::DataCr | At::DataLf, _) => return Err(Violation::ChunkEnd),
            (At::Data | At::Trailers, _) => {}
        }
        if matches!(self.at, At::Space | At::Extension) {
            self.line += 1;
            self.extensions += 1;
            if self.line as usize > limits.chunk_line_bytes_max
                || self.extensions > limits.chunk_extensions_bytes_max
            {
                return Err(Violation::ChunkExtensionsTooLong);
            }
        }
        Ok(())
    }
}

/// Fields that frame, route, authenticate or control must not come behind the content: RFC 9110
/// §6.5.1. They are dropped where they do, and not sent.
pub(super) const FORBIDDEN_IN_TRAILERS: [&str; 22] = [
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
    "host",
    "keep-alive",
    "location",
    "max-forwards",
    "proxy-authorization",
    "set-cookie",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "www-authenticate",
];

/// Writes a body in the framing its head announced.
#[derive(Clone, Copy, Debug)]
pub(super) enum Writer {
    /// This much is left to write.
    Length(u64),
    /// Chunks.
    Chunked,
    /// Whatever comes; the end of the connection ends it.
    UntilClose,
    /// The head was all: an answer to HEAD, a 304. What is written is counted as sent.
    Nothing,
}

impl Writer {
    pub(super) fn data(&mut self, data: Bytes, out: &mut impl Sink) -> Result<(), Misuse> {
        if data.is_empty() {
            return Ok(());
        }
        match self {
            Self::Length(left) => {
                *left = left.checked_sub(data.len() as u64).ok_or(Misuse::BodyTooLong)?;
                out.share(data);
            }
            Self::Chunked => {
                let mut line = [0; 18];
                out.put(chunk_size(data.len() as u64, &mut line));
                out.share(data);
                out.put(b"\r\n");
            }
            Self::UntilClose => out.share(data),
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
                        put_field(field.name(), field.value(), out);
                    }
                }
                out.put(b"\r\n");
                Ok(())
            }
        }
    }
}

/// `chunk-size CRLF` in hexadecimal.
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

/// Fields the machine decides on, whatever the caller passes.
pub(super) fn is_ours(name: &str) -> bool {
    ["content-length", "transfer-encoding", "connection", "keep-alive"]
        .iter()
        .any(|ours| name.eq_ignore_ascii_case(ours))
}

/// `field-name ": " field-value CRLF`. Both were checked when they were made.
#[inline]
pub(super) fn put_field(name: &str, value: &[u8], out: &mut impl Sink) {
    out.put(name.as_bytes());
    out.put(b": ");
    out.put(value);
    out.put(b"\r\n");
}

/// Announces a body of that size, and says how it is then written.
pub(super) fn announce(size: BodySize, chunks_are_understood: bool, out: &mut impl Sink) -> Writer {
    match size {
        BodySize::Exact(length) => {
            put_length(length, out);
            Writer::Length(length)
        }
        BodySize::Unknown if chunks_are_understood => {
            out.put(b"transfer-encoding: chunked\r\n");
            Writer::Chunked
        }
        BodySize::Unknown => Writer::UntilClose,
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
}
