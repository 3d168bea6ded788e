//! When to parse an incomplete head, so that work stays linear however it is cut.
//!
//! A head is parsed when its first bytes come, and again only when its start line or all of it is
//! complete, when it has doubled, or cannot become right any more. In between only the new bytes are
//! searched for line ends.

use crate::error::Violation;
use crate::limits::Limits;

/// The three sections that end in an empty line, and their bounds.
#[derive(Clone, Copy, Debug)]
pub(super) struct SectionLimits {
    pub(super) kind: SectionKind,
    /// The start line, without its end.
    pub(super) line_max: usize,
    /// Everything, the empty line included.
    pub(super) bytes_max: usize,
    pub(super) fields_max: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SectionKind {
    Request,
    Response,
    Trailers,
}

/// What a `Span` can hold; `Limits` may say more.
const BYTES_CEILING: usize = u32::MAX as usize;

impl SectionLimits {
    #[inline]
    pub(super) fn request(limits: &Limits) -> Self {
        Self {
            kind: SectionKind::Request,
            line_max: limits.request_line_bytes_max,
            bytes_max: limits.head_bytes_max.min(BYTES_CEILING),
            fields_max: limits.fields_max,
        }
    }

    /// `spent` bytes went on interim responses to the same request already.
    pub(super) fn response(limits: &Limits, spent: usize) -> Self {
        Self {
            kind: SectionKind::Response,
            line_max: usize::MAX,
            bytes_max: limits.head_bytes_max.saturating_sub(spent).min(BYTES_CEILING),
            fields_max: limits.fields_max,
        }
    }

    pub(super) fn trailers(limits: &Limits) -> Self {
        Self {
            kind: SectionKind::Trailers,
            line_max: usize::MAX,
            bytes_max: limits.trailers_bytes_max.min(BYTES_CEILING),
            fields_max: limits.fields_max,
        }
    }

    /// Whether each line must end in CRLF. A bare LF is refused where leniency allows smuggling,
    /// and accepted from old servers (RFC 9112 §2.2).
    pub(super) fn is_strict(&self) -> bool {
        self.kind != SectionKind::Response
    }

    /// What of `input` may belong to the section.
    #[inline]
    pub(super) fn within<'a>(&self, input: &'a [u8]) -> &'a [u8] {
        &input[..input.len().min(self.bytes_max)]
    }

    /// Whether no further bytes can make an incomplete section right.
    pub(super) fn is_hopeless(&self, input: &[u8]) -> bool {
        input.len() >= self.bytes_max
            || self.line_over(input).is_some()
            || self.is_strict() && bare_lf(input).is_some()
    }

    /// What it is to be longer than `bytes_max`.
    pub(super) fn too_large(&self) -> Violation {
        match self.kind {
            SectionKind::Request | SectionKind::Response => Violation::HeadTooLarge,
            SectionKind::Trailers => Violation::TrailersTooLarge,
        }
    }

    /// What it is to begin with something else than a start line.
    pub(super) fn malformed_line(&self) -> Violation {
        match self.kind {
            SectionKind::Request => Violation::RequestLine,
            SectionKind::Response => Violation::StatusLine,
            SectionKind::Trailers => Violation::FieldName,
        }
    }

    /// The length at which a start line turned out too long, if `input` has that much.
    pub(super) fn line_over(&self, input: &[u8]) -> Option<usize> {
        let line = input.get(..=self.line_max)?;
        memchr::memchr2(b'\r', b'\n', line).is_none().then_some(line.len())
    }
}

/// How far an incomplete section was looked at.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Scan {
    /// Where the search for line ends goes on.
    searched: u32,
    /// How many bytes the last attempt to parse had.
    tried: u32,
    /// Whether a line end was found.
    line_ended: bool,
    /// How many empty lines came before.
    skipped: u8,
}

/// Empty lines that are ignored before a start line (RFC 9112 §2.2).
const EMPTY_LINES_MAX: u8 = 2;

impl Scan {
    pub(super) const NEW: Self = Self { searched: 0, tried: 0, line_ended: false, skipped: 0 };

    /// How many bytes of empty lines stand before the start line.
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

    /// Whether nothing came before what is to be parsed.
    #[inline]
    pub(super) fn is_new(&self) -> bool {
        self.tried == 0 && self.skipped == 0
    }

    /// Whether parsing can tell something new.
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

    /// Searches what came since for a line end that matters: the start line's, the empty line's,
    /// or one to complain of.
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

    /// Takes note of an attempt that found the section incomplete.
    pub(super) fn tried(&mut self, input: &[u8]) {
        self.tried = input.len() as u32;
    }
}

/// Where the first LF is. Most peers that send a head in pieces send small ones.
#[inline]
fn line_feed(bytes: &[u8]) -> Option<usize> {
    match bytes.len() {
        ..16 => bytes.iter().position(|&byte| byte == b'\n'),
        _ => memchr::memchr(b'\n', bytes),
    }
}
/// Where the first LF without CR before it is.
pub(super) fn bare_lf(input: &[u8]) -> Option<usize> {
    memchr::memchr_iter(b'\n', input).find(|&at| at == 0 || input[at - 1] != b'\r')
}
