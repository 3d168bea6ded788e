//! Reading heads and trailer sections: by `httparse`, then by further checks.
//!
//! `diagnosis.rs` names the violation in one that cannot be parsed.

use std::mem::MaybeUninit;

use http::{Method, StatusCode, Version};
use httparse::{EMPTY_HEADER, Error, Header, ParserConfig, Status};

use crate::error::Violation;
use crate::fields::Fields;
use crate::grammar;
use crate::h1::diagnosis;
use crate::h1::framing::FramingFacts;
use crate::h1::lines::{index, index_leniently};
use crate::h1::parsed::{ParseFailure, ParsedSection};
use crate::h1::plain;
use crate::h1::scan::{Scan, SectionLimits};
use crate::limits::FIELDS_CEILING;
use crate::message::{RequestHead, ResponseHead};

/// The result of parsing a section; `None` if more bytes are needed.
pub(super) type SectionResult = Result<Option<ParsedSection>, Violation>;

/// Reads a request head from the front of `input` into `head`. The caller has dropped the empty
/// lines that may come before it.
pub(super) fn request(
    scan: &mut Scan,
    input: &[u8],
    head: &mut RequestHead,
    section: &SectionLimits,
) -> SectionResult {
    if !scan.is_due(input, section) {
        return Ok(None);
    }
    let input = section.within(input);
    match scan.is_new().then(|| plain::request(input, head, section)).flatten() {
        Some(parsed) => Ok(Some(parsed)),
        None => parse_any_request(scan, input, head, section),
    }
}

/// Parses any request head. It is not inlined, since [`request`] does not need its room on the stack.
#[inline(never)]
fn parse_any_request(
    scan: &mut Scan,
    input: &[u8],
    head: &mut RequestHead,
    section: &SectionLimits,
) -> SectionResult {
    let mut lines = [const { MaybeUninit::uninit() }; 128];
    let parsed = match lines.get_mut(..section.fields_max) {
        Some(lines) => parse_request(input, lines, head, section),
        None => with_max_lines(section, |lines| parse_request(input, lines, head, section)),
    };
    conclude(scan, input, parsed, section)
}

/// Reads a response head from the front of `input` into `head`. The caller has dropped the empty
/// lines that may come before it.
pub(super) fn response(
    scan: &mut Scan,
    input: &[u8],
    head: &mut ResponseHead,
    section: &SectionLimits,
) -> SectionResult {
    if !scan.is_due(input, section) {
        return Ok(None);
    }
    let input = section.within(input);
    match scan.is_new().then(|| plain::response(input, head, section)).flatten() {
        Some(parsed) => Ok(Some(parsed)),
        None => parse_any_response(scan, input, head, section),
    }
}

/// Parses any response head; not inlined, as [`parse_any_request`].
#[inline(never)]
fn parse_any_response(
    scan: &mut Scan,
    input: &[u8],
    head: &mut ResponseHead,
    section: &SectionLimits,
) -> SectionResult {
    let mut lines = [const { MaybeUninit::uninit() }; 64];
    let room = section.fields_max.min(lines.len());
    let parsed = match parse_response(input, &mut lines[..room], head, section) {
        // Few responses have more lines; those that do are parsed once more with room for all.
        Err(ParseFailure::Syntax) if section.fields_max > room => {
            with_max_lines(section, |lines| parse_response(input, lines, head, section))
        }
        parsed => parsed,
    };
    conclude(scan, input, parsed, section)
}

/// Reads a trailer section, its final empty line included, from the front of `input`.
pub(super) fn trailers(
    scan: &mut Scan,
    input: &[u8],
    trailers: &mut Fields,
    section: &SectionLimits,
) -> SectionResult {
    if !scan.is_due(input, section) {
        return Ok(None);
    }
    let input = section.within(input);
    let mut lines = [EMPTY_HEADER; FIELDS_CEILING];
    let room = section.fields_max.min(FIELDS_CEILING);
    let parsed = match httparse::parse_headers(input, &mut lines[..room]) {
        Ok(Status::Complete((len, lines))) => index(&input[..len], lines, trailers, |_, _| Ok(()))
            .map(|()| ParsedSection { len, facts: FramingFacts::default() })
            .map_err(|violation| ParseFailure::Rule(len, violation)),
        Ok(Status::Partial) => Err(ParseFailure::Incomplete),
        Err(_) => Err(ParseFailure::Syntax),
    };
    conclude(scan, input, parsed, section)
}

/// Turns the result of an attempt into complete, incomplete or a violation.
fn conclude(
    scan: &mut Scan,
    input: &[u8],
    parsed: Result<ParsedSection, ParseFailure>,
    section: &SectionLimits,
) -> SectionResult {
    match parsed {
        Ok(parsed) => {
            *scan = Scan::NEW;
            Ok(Some(parsed))
        }
        Err(ParseFailure::Incomplete) if !section.is_hopeless(input) => {
            scan.tried(input);
            Ok(None)
        }
        Err(failure) => Err(diagnosis::first_violation(input, failure, section)),
    }
}

/// Parses with room for as many field lines as the limits allow.
#[cold]
fn with_max_lines<'b, T>(
    section: &SectionLimits,
    parse: impl FnOnce(&mut [MaybeUninit<Header<'b>>]) -> T,
) -> T {
    let mut lines = [const { MaybeUninit::uninit() }; FIELDS_CEILING];
    parse(&mut lines[..section.fields_max.min(FIELDS_CEILING)])
}

fn parse_request<'b>(
    input: &'b [u8],
    lines: &mut [MaybeUninit<Header<'b>>],
    head: &mut RequestHead,
    section: &SectionLimits,
) -> Result<ParsedSection, ParseFailure> {
    let mut parsed = httparse::Request::new(&mut []);
    let config = ParserConfig::default();
    match config.parse_request_with_uninit_headers(&mut parsed, input, lines) {
        Ok(Status::Complete(len)) => fill_request(&input[..len], &parsed, head, section)
            .map(|facts| ParsedSection { len, facts })
            .map_err(|violation| ParseFailure::Rule(len, violation)),
        Ok(Status::Partial) => Err(ParseFailure::Incomplete),
        Err(Error::Version) => {
            let as_1_1 = diagnosis::as_version_1_1(input, section)?;
            with_max_lines(section, |lines| parse_request(&as_1_1, lines, head, section))
        }
        Err(_) => Err(ParseFailure::Syntax),
    }
}

#[inline]
fn fill_request(
    wire: &[u8],
    parsed: &httparse::Request<'_, '_>,
    head: &mut RequestHead,
    section: &SectionLimits,
) -> Result<FramingFacts, Violation> {
    let (Some(method), Some(target), Some(minor)) = (parsed.method, parsed.path, parsed.version)
    else {
        return Err(Violation::RequestLine);
    };
    let line_len = method.len() + 1 + target.len() + " HTTP/1.x".len();
    if line_len > section.line_max {
        return Err(Violation::RequestLineTooLong);
    }
    let fields = wire.get(line_len + 2..).ok_or(Violation::RequestLine)?;
    if wire[line_len] != b'\r' {
        return Err(Violation::BareLf);
    }
    head.method = Method::from_bytes(method.as_bytes()).map_err(|_| Violation::RequestLine)?;
    head.version = if minor == 0 { Version::HTTP_10 } else { Version::HTTP_11 };
    head.form = grammar::target_form(&head.method, target.as_bytes())?;
    target.clone_into(&mut head.target);
    let mut facts = FramingFacts::default();
    index(fields, parsed.headers, &mut head.fields, |name, value| facts.note(name, value))?;
    // RFC 9112 §3.2: Host is required in HTTP/1.1, whatever the target says.
    if !facts.has_host() && head.version == Version::HTTP_11 {
        return Err(Violation::HostMissing);
    }
    Ok(facts)
}

fn parse_response<'b>(
    input: &'b [u8],
    lines: &mut [MaybeUninit<Header<'b>>],
    head: &mut ResponseHead,
    section: &SectionLimits,
) -> Result<ParsedSection, ParseFailure> {
    let mut parsed = httparse::Response::new(&mut []);
    let config = diagnosis::response_config();
    match config.parse_response_with_uninit_headers(&mut parsed, input, lines) {
        Ok(Status::Complete(len)) => fill_response(&input[..len], &parsed, head)
            .map(|facts| ParsedSection { len, facts })
            .map_err(|violation| ParseFailure::Rule(len, violation)),
        Ok(Status::Partial) => Err(ParseFailure::Incomplete),
        Err(Error::Version) => {
            let as_1_1 = diagnosis::as_version_1_1(input, section)?;
            with_max_lines(section, |lines| parse_response(&as_1_1, lines, head, section))
        }
        Err(_) => Err(ParseFailure::Syntax),
    }
}

fn fill_response(
    wire: &[u8],
    parsed: &httparse::Response<'_, '_>,
    head: &mut ResponseHead,
) -> Result<FramingFacts, Violation> {
    let (Some(minor), Some(code)) = (parsed.version, parsed.code) else {
        return Err(Violation::StatusLine);
    };
    head.version = if minor == 0 { Version::HTTP_10 } else { Version::HTTP_11 };
    head.status = StatusCode::from_u16(code).map_err(|_| Violation::StatusLine)?;
    let line_end = memchr::memchr(b'\n', wire).ok_or(Violation::StatusLine)?;
    // httparse leaves out a reason with obs-text in it.
    let after_version = wire[..line_end].get("HTTP/1.x".len()..).unwrap_or_default();
    let after_code = after_version.trim_ascii_start().get("200".len()..).unwrap_or_default();
    head.reason.clear();
    head.reason.extend_from_slice(after_code.trim_ascii());
    let mut facts = FramingFacts::default();
    let note = |name: &[u8], value: &[u8]| facts.note_response(name, value);
    index_leniently(&wire[line_end + 1..], parsed.headers, &mut head.fields, note)?;
    Ok(facts)
}
