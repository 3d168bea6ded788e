//! Decides when to parse an incomplete head, so that work stays linear however it is cut.
//!
//! A head is parsed when its first bytes come, and again only when its start line or all of it is
//! complete, when its size has doubled, or when it can no longer become valid. In between only the new
//! bytes are searched for line ends.

use crate::error::Violation;
use crate::limits::Limits;

/// The limits of a section that ends in an empty line.
#[derive(Clone, Copy, Debug)]
pub(super) struct SectionLimits {
    pub(super) kind: ScannedSection,
    /// Bytes of the start line, without its line end.
    pub(super) line_max: usize,
    /// Bytes of the whole section, the empty line included.
    pub(super) bytes_max: usize,
    pub(super) fields_max: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ScannedSection {
    Request,
    Response,
    Trailers,
}

/// The most bytes that a `Span` can address; `Limits` may be larger.
const BYTES_CEILING: usize = u32::MAX as usize;

impl SectionLimits {
    #[inline]
    pub(super) fn request(limits: &Limits) -> Self {
        Self {
            kind: ScannedSection::Request,
            line_max: limits.request_line_bytes_max,
            bytes_max: limits.head_bytes_max.min(BYTES_CEILING),
            fields_max: limits.fields_max,
        }
    }

    /// The limits of a response head; earlier interim responses to the request had `spent` bytes.
    pub(super) fn response(limits: &Limits, spent: usize) -> Self {
        Self {
            kind: ScannedSection::Response,
            line_max: usize::MAX,
            bytes_max: limits.head_bytes_max.saturating_sub(spent).min(BYTES_CEILING),
            fields_max: limits.fields_max,
        }
    }

    pub(super) fn trailers(limits: &Limits) -> Self {
        Self {
            kind: ScannedSection::Trailers,
            line_max: usize::MAX,
            bytes_max: limits.trailers_bytes_max.min(BYTES_CEILING),
            fields_max: limits.fields_max,
        }
    }

    /// Whether each line must end in CRLF. A bare LF is refused where leniency allows smuggling,
    /// and accepted from old servers (RFC 9112 §2.2).
    pub(super) fn is_strict(&self) -> bool {
        self.kind != ScannedSection::Response
    }

    /// The part of `input` that may belong to the section.
    #[inline]
    pub(super) fn within<'a>(&self, input: &'a [u8]) -> &'a [u8] {
        &input[..input.len().min(self.bytes_max)]
    }

    /// Whether no further bytes can make an incomplete section valid.
    pub(super) fn is_hopeless(&self, input: &[u8]) -> bool {
        input.len() >= self.bytes_max
            || self.line_over(input).is_some()
            || self.is_strict() && bare_lf(input).is_some()
    }

    /// The violation of a section longer than `bytes_max`.
    pub(super) fn too_large(&self) -> Violation {
        match self.kind {
            ScannedSection::Request | ScannedSection::Response => Violation::HeadTooLarge,
            ScannedSection::Trailers => Violation::TrailersTooLarge,
        }
    }

    /// The violation of a section that does not begin with a valid line.
    pub(super) fn malformed_line(&self) -> Violation {
        match self.kind {
            ScannedSection::Request => Violation::RequestLine,
            ScannedSection::Response => Violation::StatusLine,
            ScannedSection::Trailers => Violation::FieldName,
        }
    }

    /// The length at which the start line exceeds its limit, if `input` is that long.
    pub(super) fn line_over(&self, input: &[u8]) -> Option<usize> {
        let line = input.get(..=self.line_max)?;
        memchr::memchr2(b'\r', b'\n', line).is_none().then_some(line.len())
    }
}

/// How far an incomplete section was searched and parsed.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Scan {
    /// The position at which the search for line ends continues.
    searched: u32,
    /// How many bytes there were at the last attempt to parse.
    tried: u32,
    /// Whether a line end was found.
    line_ended: bool,
    /// How many empty lines were skipped before it.
    skipped: u8,
}

/// The number of empty lines that are ignored before a start line (RFC 9112 §2.2).
const EMPTY_LINES_MAX: u8 = 2;

impl Scan {
    pub(super) const NEW: Self = Self { searched: 0, tried: 0, line_ended: false, skipped: 0 };

    /// Skips empty lines before the start line; returns their bytes.
    #[inline]
    pub(super) fn skip_empty_lines(
        &mut self,
        input: &[u8],
        section: &SectionLimits,
    ) -> Result<usize, Violation> {
        match input.first() {
            Some(b'\r' | b'\n') => self.skip_some_empty_lines(input, section),
            _ => Ok(0),
        }
    }

    #[cold]
    fn skip_some_empty_lines(
        &mut self,
        input: &[u8],
        section: &SectionLimits,
    ) -> Result<usize, Violation> {
        let mut at = 0;
        loop {
            let may_skip = self.skipped < EMPTY_LINES_MAX;
            at += match &input[at..] {
                [b'\r', b'\n', ..] if may_skip => 2,
                [b'\n', ..] if section.is_strict() => return Err(Violation::BareLf),
                [b'\n', ..] if may_skip => 1,
                [b'\r'] if may_skip => return Ok(at),
                [b'\r' | b'\n', ..] => return Err(section.malformed_line()),
                _ => return Ok(at),
            };
            self.skipped += 1;
        }
    }

    /// Whether this is the first attempt to parse, and no empty line was skipped.
    #[inline]
    pub(super) fn is_new(&self) -> bool {
        self.tried == 0 && self.skipped == 0
    }

    /// Whether the section is to be parsed again.
    #[inline]
    pub(super) fn is_due(&mut self, input: &[u8], section: &SectionLimits) -> bool {
        match self.tried {
            0 => !matches!(input, [] | [b'\r']),
            _ => self.is_due_again(input, section),
        }
    }

    #[inline]
    fn is_due_again(&mut self, input: &[u8], section: &SectionLimits) -> bool {
        let input = section.within(input);
        let searched = self.searched as usize;
        self.searched = input.len() as u32;
        self.found_line_end(input, searched, section)
            || input.len() >= 2 * self.tried as usize
            || input.len() == section.bytes_max
            || !self.line_ended && input.len() > section.line_max
    }

    /// Searches the new bytes for a line end that matters: the start line's, the empty line's, or one that
    /// is a violation.
    #[inline]
    fn found_line_end(&mut self, input: &[u8], mut from: usize, section: &SectionLimits) -> bool {
        while let Some(at) = line_feed(input.get(from..).unwrap_or_default()) {
            let end = from + at;
            let after_cr = end > 0 && input[end - 1] == b'\r';
            let text_end = if after_cr { end - 1 } else { end };
            let is_empty = text_end == 0 || input[text_end - 1] == b'\n';
            let is_first = !std::mem::replace(&mut self.line_ended, true);
            if is_empty || is_first || !after_cr && section.is_strict() {
                return true;
            }
            from = end + 1;
        }
        false
    }

    /// Notes an attempt that found the section incomplete.
    pub(super) fn tried(&mut self, input: &[u8]) {
        self.tried = input.len() as u32;
    }
}

/// The position of the first LF. Most peers that send a head in pieces send small pieces.
#[inline]
fn line_feed(bytes: &[u8]) -> Option<usize> {
    match bytes.len() {
        ..16 => bytes.iter().position(|&byte| byte == b'\n'),
        _ => memchr::memchr(b'\n', bytes),
    }
}

/// The position of the first LF without CR before it.
pub(super) fn bare_lf(input: &[u8]) -> Option<usize> {
    memchr::memchr_iter(b'\n', input).find(|&at| at == 0 || input[at - 1] != b'\r')
}
