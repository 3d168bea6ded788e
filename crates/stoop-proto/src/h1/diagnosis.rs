//! Names the violation in a head or trailer section that could not be parsed.
//!
//! The result depends on the bytes up to the first violation, and on nothing else: not on how they were
//! cut, nor on the bytes that follow. It may be slow, since the connection ends with it.

use std::mem::MaybeUninit;

use httparse::{EMPTY_HEADER, Error, ParserConfig};

use crate::error::Violation;
use crate::grammar;
use crate::h1::parsed::ParseFailure;
use crate::h1::scan::{ScannedSection, SectionLimits, bare_lf};
use crate::limits::FIELDS_CEILING;

/// The parser configuration for responses, which allows what old servers send: RFC 9112 §4, §5.1, §5.2.
pub(super) fn response_config() -> ParserConfig {
    let mut config = ParserConfig::default();
    config
        .allow_obsolete_multiline_headers_in_responses(true)
        .allow_spaces_after_header_name_in_responses(true)
        .allow_multiple_spaces_in_response_status_delimiters(true);
    config
}

/// Returns the first violation in `input`, which could not be parsed for the reason given.
#[cold]
pub(super) fn first_violation(
    input: &[u8],
    failure: ParseFailure,
    section: &SectionLimits,
) -> Violation {
    let (mut wrong, mut violation) = match failure {
        ParseFailure::Rule(len, violation) => (&input[..len], violation),
        ParseFailure::Incomplete | ParseFailure::Syntax => (input, section.too_large()),
    };
    if let Some(len) = section.line_over(wrong) {
        (wrong, violation) = (&wrong[..len], Violation::RequestLineTooLong);
    }
    if let (true, Some(at)) = (section.is_strict(), bare_lf(wrong)) {
        (wrong, violation) = (&wrong[..=at], Violation::BareLf);
    }
    first_syntax_error(wrong, section).unwrap_or(violation)
}

/// Finds the shortest prefix of `input` that no more bytes can make valid, by bisection: a parser that
/// refuses some bytes refuses them whatever follows.
fn first_syntax_error(input: &[u8], section: &SectionLimits) -> Option<Violation> {
    let mut violation = syntax_error(input, section)?;
    let (mut fits, mut fails) = (0, input.len());
    while fits + 1 < fails {
        let middle = fits.midpoint(fails);
        match syntax_error(&input[..middle], section) {
            Some(earlier) => (fails, violation) = (middle, earlier),
            None => fits = middle,
        }
    }
    Some(violation)
}

fn syntax_error(input: &[u8], section: &SectionLimits) -> Option<Violation> {
    let error = match section.kind {
        ScannedSection::Request | ScannedSection::Response => {
            let mut lines = [const { MaybeUninit::uninit() }; FIELDS_CEILING];
            let lines = &mut lines[..section.fields_max.min(FIELDS_CEILING)];
            match section.kind {
                ScannedSection::Request => {
                    httparse::Request::new(&mut []).parse_with_uninit_headers(input, lines).err()?
                }
                _ => response_config()
                    .parse_response_with_uninit_headers(
                        &mut httparse::Response::new(&mut []),
                        input,
                        lines,
                    )
                    .err()?,
            }
        }
        ScannedSection::Trailers => {
            let mut lines = [EMPTY_HEADER; FIELDS_CEILING];
            let lines = &mut lines[..section.fields_max.min(FIELDS_CEILING)];
            httparse::parse_headers(input, lines).err()?
        }
    };
    match error {
        Error::Version => match as_version_1_1(input, section) {
            Ok(as_1_1) => syntax_error(&as_1_1, section),
            Err(ParseFailure::Rule(_, violation)) => Some(violation),
            Err(ParseFailure::Syntax) => Some(section.malformed_line()),
            Err(ParseFailure::Incomplete) => None,
        },
        error => Some(name_violation(error, input, section)),
    }
}

/// The violation for `error`, which the last byte of `input` caused.
fn name_violation(error: Error, input: &[u8], section: &SectionLimits) -> Violation {
    let (offender, before) = match input.split_last() {
        Some((&offender, before)) => (offender, before),
        None => return section.malformed_line(),
    };
    let line = match memchr::memrchr(b'\n', before) {
        Some(end) => &before[end + 1..],
        None if section.kind == ScannedSection::Trailers => before,
        None => return section.malformed_line(),
    };
    match error {
        Error::TooManyHeaders => Violation::TooManyFields,
        Error::HeaderValue => Violation::FieldValue,
        Error::HeaderName if grammar::is_whitespace(offender) && line.is_empty() => {
            Violation::ObsFold
        }
        Error::HeaderName if grammar::is_whitespace(offender) => Violation::SpaceBeforeColon,
        _ => Violation::FieldName,
    }
}

/// Copies `input`, whose version httparse does not know, with version HTTP/1.1 if its own is a later
/// 1.x, since it is read so (RFC 9110 §2.5).
#[cold]
pub(super) fn as_version_1_1(
    input: &[u8],
    section: &SectionLimits,
) -> Result<Vec<u8>, ParseFailure> {
    let at = match section.kind {
        ScannedSection::Request => {
            let mut spaces = memchr::memchr_iter(b' ', input);
            spaces.next();
            spaces.next().ok_or(ParseFailure::Syntax)? + 1
        }
        ScannedSection::Response | ScannedSection::Trailers => 0,
    };
    let text = &input[at..input.len().min(at + "HTTP/1.1".len())];
    let fits = text.iter().zip(b"HTTP/#.#").all(|(&byte, &pattern)| match pattern {
        b'#' => byte.is_ascii_digit(),
        _ => byte == pattern,
    });
    match text {
        _ if !fits => Err(ParseFailure::Syntax),
        [.., b'1', b'.', b'2'..=b'9'] => {
            let mut copy = input.to_vec();
            copy[at + "HTTP/1.".len()] = b'1';
            Ok(copy)
        }
        // The version is not the error; and no version 0.x ever stood in a first line.
        [_, _, _, _, _, b'1', _, _] | [_, _, _, _, _, b'0', ..] => Err(ParseFailure::Syntax),
        [_, _, _, _, _, _, _, _] => Err(ParseFailure::Rule(input.len(), Violation::Version)),
        _ => Err(ParseFailure::Incomplete),
    }
}
