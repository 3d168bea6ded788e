//! The reader of the chunked transfer coding (RFC 9112 §7.1).

use std::ops::Range;

use crate::error::Violation;
use crate::fields::{FORBIDDEN_IN_TRAILERS, Fields};
use crate::grammar;
use crate::h1::head;
use crate::h1::scan::{Scan, SectionLimits};
use crate::limits::Limits;

/// The result of reading a body from the front of the input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum BodyPiece {
    /// Content, as a span of the input.
    Data(Range<usize>),
    /// The body is complete; `trailers` if a trailer section was read.
    End { trailers: bool },
    /// More bytes are needed.
    NeedMore,
}

/// The largest content of a message, in bytes: many recipients count in 63 bits, and a number that is
/// negative to one of them has been used for request smuggling.
const CONTENT_BYTES_MAX: u64 = i64::MAX as u64;

/// Reads chunks: the lines byte by byte, so that nothing is read twice however the input is cut.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chunked {
    state: ChunkState,
    /// The size being read, then the number of bytes left of the chunk.
    size: u64,
    digits: u8,
    /// Whether spaces may pad a chunk size, as old servers send them: only a client accepts that.
    padding_allowed: bool,
    /// Bytes of the chunk-size line so far.
    line: usize,
    /// Bytes of chunk extensions minus bytes of content, zero at least.
    extensions: u64,
    /// Bytes of content.
    total: u64,
    scan: Scan,
}

/// The position in `chunk = chunk-size [ chunk-ext ] CRLF chunk-data CRLF`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ChunkState {
    Size,
    /// In whitespace before an extension's semicolon: BWS, which only an extension may have.
    Space,
    Extension(ExtensionState),
    SizeLf,
    Data,
    DataCr,
    DataLf,
    Trailers,
}

/// The position in `chunk-ext = *( BWS ";" BWS chunk-ext-name [ BWS "=" BWS chunk-ext-val ] )`
/// (RFC 9112 §7.1.1); the value is a token or a quoted string (RFC 9110 §5.6.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ExtensionState {
    /// Behind the semicolon: a name must follow.
    BeforeName,
    Name,
    /// In whitespace behind a name.
    AfterName,
    /// Behind the equals sign: a value must follow.
    BeforeValue,
    Token,
    Quoted,
    /// Behind a backslash within quotes.
    Escaped,
    /// Behind the closing quote.
    AfterQuoted,
    /// In whitespace behind a value.
    AfterValue,
}

impl ExtensionState {
    /// The state after one more byte; `None` if the grammar does not allow it.
    fn next(self, byte: u8) -> Option<Self> {
        let is_token = grammar::is_token(&[byte]);
        Some(match (self, byte) {
            (Self::BeforeName | Self::BeforeValue, b' ' | b'\t') => self,
            (Self::BeforeName | Self::Name, _) if is_token => Self::Name,
            (Self::Name | Self::AfterName, b' ' | b'\t') => Self::AfterName,
            (Self::Name | Self::AfterName, b'=') => Self::BeforeValue,
            (Self::BeforeValue, b'"') => Self::Quoted,
            (Self::BeforeValue | Self::Token, _) if is_token => Self::Token,
            (Self::Quoted, b'"') => Self::AfterQuoted,
            (Self::Token | Self::AfterQuoted | Self::AfterValue, b' ' | b'\t') => Self::AfterValue,
            (Self::Quoted, b'\\') => Self::Escaped,
            (Self::Quoted | Self::Escaped, b'\t' | b' '..=b'~' | 0x80..) => Self::Quoted,
            (
                Self::Name | Self::AfterName | Self::Token | Self::AfterQuoted | Self::AfterValue,
                b';',
            ) => Self::BeforeName,
            _ => return None,
        })
    }

    /// Whether the line may end here.
    fn may_end(self) -> bool {
        matches!(self, Self::Name | Self::Token | Self::AfterQuoted)
    }
}

impl Chunked {
    pub(super) const fn new(padding_allowed: bool) -> Self {
        Self {
            state: ChunkState::Size,
            size: 0,
            digits: 0,
            padding_allowed,
            line: 0,
            extensions: 0,
            total: 0,
            scan: Scan::NEW,
        }
    }

    pub(super) fn read(
        &mut self,
        input: &[u8],
        trailers: &mut Fields,
        limits: &Limits,
    ) -> Result<(usize, BodyPiece), Violation> {
        let mut at = 0;
        while at < input.len() {
            match self.state {
                ChunkState::Data => {
                    let left = usize::try_from(self.size).unwrap_or(usize::MAX);
                    let n = left.min(input.len() - at);
                    self.size -= n as u64;
                    if self.size == 0 {
                        self.state = ChunkState::DataCr;
                    }
                    self.total = self.total.saturating_add(n as u64);
                    self.extensions = self.extensions.saturating_sub(n as u64);
                    return Ok((at + n, BodyPiece::Data(at..at + n)));
                }
                ChunkState::Trailers => {
                    let rest = &input[at..];
                    // The usual case: no trailer section at all.
                    if rest.starts_with(b"\r\n") {
                        return Ok((at + 2, BodyPiece::End { trailers: false }));
                    }
                    if rest == b"\r" {
                        break;
                    }
                    let section = SectionLimits::trailers(limits);
                    return match head::trailers(&mut self.scan, rest, trailers, &section)? {
                        Some(parsed) => {
                            FORBIDDEN_IN_TRAILERS.iter().for_each(|name| trailers.remove(name));
                            Ok((at + parsed.len, BodyPiece::End { trailers: true }))
                        }
                        None => Ok((at, BodyPiece::NeedMore)),
                    };
                }
                ChunkState::Size if input[at].is_ascii_hexdigit() => {
                    at += self.read_digits(&input[at..], limits)?;
                    continue;
                }
                // The usual cases: line ends of which both bytes are here.
                ChunkState::Size if self.digits > 0 && input[at..].starts_with(b"\r\n") => {
                    self.state = self.end_size_line();
                    at += 2;
                    continue;
                }
                ChunkState::DataCr if input[at..].starts_with(b"\r\n") => {
                    self.state = ChunkState::Size;
                    at += 2;
                    continue;
                }
                ChunkState::Size | ChunkState::Space | ChunkState::Extension(_)
                    if input[at] != b'\r' =>
                {
                    self.read_size_line_byte(input[at], limits)?;
                }
                _ => self.read_line_end_byte(input[at])?,
            }
            at += 1;
        }
        Ok((at, BodyPiece::NeedMore))
    }

    /// Reads the digits of `chunk-size` that are here; returns how many.
    #[inline]
    fn read_digits(&mut self, input: &[u8], limits: &Limits) -> Result<usize, Violation> {
        let max = limits.body_bytes_max.unwrap_or(u64::MAX).min(CONTENT_BYTES_MAX);
        let room = max.saturating_sub(self.total);
        let digits = input.iter().map_while(|&byte| char::from(byte).to_digit(16));
        let mut read = 0;
        for digit in digits {
            // Sixteen digits are 64 bits; more would only be leading zeros or an overflow.
            if self.digits == 16 {
                return Err(Violation::ChunkSizeOverflow);
            }
            self.digits += 1;
            self.size = self.size << 4 | u64::from(digit);
            // Refused before the content is read and before the line has ended: more digits could
            // only make the number larger.
            if self.size > room {
                return Err(self.size_violation());
            }
            self.line += 1;
            if self.line > limits.chunk_line_bytes_max {
                return Err(Violation::ChunkExtensionsTooLong);
            }
            read += 1;
        }
        Ok(read)
    }

    /// Reads any other byte of `chunk-size [ chunk-ext ]`.
    fn read_size_line_byte(&mut self, byte: u8, limits: &Limits) -> Result<(), Violation> {
        match (self.state, byte) {
            (ChunkState::Size, _) if self.digits == 0 => return Err(Violation::ChunkSize),
            (ChunkState::Size | ChunkState::Space, b';') => {
                self.state = ChunkState::Extension(ExtensionState::BeforeName)
            }
            (ChunkState::Size | ChunkState::Space, b' ' | b'\t') => self.state = ChunkState::Space,
            (ChunkState::Extension(ext), _) => {
                self.state =
                    ChunkState::Extension(ext.next(byte).ok_or(Violation::ChunkExtension)?);
            }
            _ => return Err(Violation::ChunkSize),
        }
        self.line += 1;
        self.extensions += u64::from(!matches!(self.state, ChunkState::Size));
        match self.line > limits.chunk_line_bytes_max
            || self.extensions > limits.chunk_extensions_bytes_max
        {
            true => Err(Violation::ChunkExtensionsTooLong),
            false => Ok(()),
        }
    }

    /// The violation that a chunk of this size is.
    #[cold]
    fn size_violation(&self) -> Violation {
        match self.size > CONTENT_BYTES_MAX.saturating_sub(self.total) {
            true => Violation::ChunkSizeOverflow,
            false => Violation::BodyTooLarge,
        }
    }

    /// Ends the line of a chunk's size; returns the state that follows.
    #[inline]
    fn end_size_line(&mut self) -> ChunkState {
        (self.line, self.digits) = (0, 0);
        if self.size == 0 { ChunkState::Trailers } else { ChunkState::Data }
    }

    /// Reads a byte of the line ends before and behind `chunk-data`; any other byte is a violation.
    fn read_line_end_byte(&mut self, byte: u8) -> Result<(), Violation> {
        self.state = match (self.state, byte) {
            (ChunkState::Size, b'\r') if self.digits > 0 => ChunkState::SizeLf,
            (ChunkState::Space, b'\r') if self.padding_allowed => ChunkState::SizeLf,
            (ChunkState::Extension(ext), b'\r') if ext.may_end() => ChunkState::SizeLf,
            (ChunkState::Extension(_), _) => return Err(Violation::ChunkExtension),
            (ChunkState::SizeLf, b'\n') => self.end_size_line(),
            (ChunkState::DataCr, b'\r') => ChunkState::DataLf,
            (ChunkState::DataLf, b'\n') => ChunkState::Size,
            (ChunkState::DataCr | ChunkState::DataLf, _) => return Err(Violation::ChunkEnd),
            _ => return Err(Violation::ChunkSize),
        };
        Ok(())
    }
}
