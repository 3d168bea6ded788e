//! Reading heads: the start line and field lines, by `httparse` and then our own checks.
//!
//! Work is linear in what arrives, however it is cut: a head is parsed when its first bytes come,
//! and again only when it is complete or has doubled. In between only the new bytes are searched
//! for line ends.

use std::mem::MaybeUninit;

use http::{Method, StatusCode, Version};
use httparse::{Error, Header, ParserConfig, Status};

use crate::error::Violation;
use crate::fields::{Fields, Span};
use crate::grammar;
use crate::h1::framing::Facts;
use crate::limits::{FIELDS_CEILING, Limits};
use crate::message::{RequestHead, ResponseHead};

/// How far an incomplete head was looked at.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Scan {
    /// Where the search for line ends goes on.
    searched: u32,
    /// How many bytes the last attempt to parse had.
    tried: u32,
}

/// A head that was read: how long it was, and what it says about what follows.
pub(super) struct Parsed {
    pub(super) len: usize,
    pub(super) facts: Facts,
}

/// `Ok(None)`: more bytes are needed.
pub(super) type Step = Result<Option<Parsed>, Violation>;

/// Whether lines may end in a bare LF.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LineEnds {
    Strict,
    Lenient,
}

impl Scan {
    pub(super) const NEW: Self = Self { searched: 0, tried: 0 };

    /// Reads a request head from the front of `input` into `head`.
    pub(super) fn request(
        &mut self,
        input: &[u8],
        head: &mut RequestHead,
        limits: &Limits,
    ) -> Step {
        if !self.worth_parsing(input, LineEnds::Strict) {
            return too_long(input, limits, true);
        }
        let mut headers = [const { MaybeUninit::uninit() }; 128];
        let parsed = match headers.get_mut(..limits.fields_max) {
            Some(headers) => parse_request(input, headers, head, limits),
            None => {
                let mut headers = [const { MaybeUninit::uninit() }; FIELDS_CEILING];
                let max = limits.fields_max.min(FIELDS_CEILING);
                parse_request(input, &mut headers[..max], head, limits)
            }
        };
        self.settle(parsed?, input, limits, true)
    }

    /// Reads a response head from the front of `input` into `head`.
    pub(super) fn response(
        &mut self,
        input: &[u8],
        head: &mut ResponseHead,
        limits: &Limits,
    ) -> Step {
        if !self.worth_parsing(input, LineEnds::Lenient) {
            return too_long(input, limits, false);
        }
        let mut headers = [const { MaybeUninit::uninit() }; 64];
        let parsed = match parse_response(input, &mut headers, head, limits) {
            // Few responses have more; those that do are parsed once more with all the room.
            Err(Violation::TooManyFields) if limits.fields_max > headers.len() => {
                let mut headers = [const { MaybeUninit::uninit() }; FIELDS_CEILING];
                let max = limits.fields_max.min(FIELDS_CEILING);
                parse_response(input, &mut headers[..max], head, limits)
            }
            parsed => parsed,
        };
        self.settle(parsed?, input, limits, false)
    }

    /// Reads a trailer section, its final empty line included, from the front of `input`.
    pub(super) fn trailers(
        &mut self,
        input: &[u8],
        trailers: &mut Fields,
        limits: &Limits,
    ) -> Result<Option<usize>, Violation> {
        if !self.worth_parsing(input, LineEnds::Strict) {
            return match input.len() >= limits.trailers_bytes_max {
                true => Err(Violation::TrailersTooLarge),
                false => Ok(None),
            };
        }
        let mut headers = [httparse::EMPTY_HEADER; 128];
        let max = limits.fields_max.min(headers.len());
        match httparse::parse_headers(input, &mut headers[..max]) {
            Ok(Status::Complete((len, _))) if len > limits.trailers_bytes_max => {
                Err(Violation::TrailersTooLarge)
            }
            Ok(Status::Complete((len, lines))) => {
                trailers.clear();
                let ends = LineEnds::Strict;
                index(&input[..len], 0, lines, trailers, ends, |_, _| Ok(()))?;
                *self = Self::default();
                Ok(Some(len))
            }
            Ok(Status::Partial) if input.len() >= limits.trailers_bytes_max => {
                Err(Violation::TrailersTooLarge)
            }
            Ok(Status::Partial) => {
                self.tried = input.len() as u32;
                Ok(None)
            }
            Err(error) => Err(violation(error, input)),
        }
    }

    /// Whether parsing can tell something new: at first, at a complete head, at twice the bytes.
    #[inline]
    fn worth_parsing(&mut self, input: &[u8], ends: LineEnds) -> bool {
        if self.tried == 0 {
            return !input.is_empty();
        }
        let searched = self.searched as usize;
        self.searched = input.len() as u32;
        for found in memchr::memchr_iter(b'\n', input.get(searched..).unwrap_or_default()) {
            let end = searched + found;
            let after_cr = end > 0 && input[end - 1] == b'\r';
            let line_end = if after_cr { end - 1 } else { end };
            let is_empty = line_end == 0 || input[line_end - 1] == b'\n';
            if is_empty || !after_cr && ends == LineEnds::Strict {
                // The end, or something to complain of: the parser tells which.
                return true;
            }
        }
        input.len() >= 2 * self.tried as usize
    }

    fn settle(
        &mut self,
        parsed: Option<Parsed>,
        input: &[u8],
        limits: &Limits,
        request: bool,
    ) -> Step {
        if parsed.is_some() {
            *self = Self::default();
            return Ok(parsed);
        }
        self.tried = input.len() as u32;
        too_long(input, limits, request)
    }
}

/// An incomplete head beyond a limit will not get better.
fn too_long(input: &[u8], limits: &Limits, request: bool) -> Step {
    let line_max = limits.request_line_bytes_max;
    if request && input.len() > line_max && memchr::memchr(b'\n', &input[..=line_max]).is_none() {
        return Err(Violation::RequestLineTooLong);
    }
    if input.len() >= limits.head_bytes_max {
        return Err(Violation::HeadTooLarge);
    }
    Ok(None)
}

fn parse_request<'b>(
    input: &'b [u8],
    headers: &mut [MaybeUninit<Header<'b>>],
    head: &mut RequestHead,
    limits: &Limits,
) -> Step {
    let mut parsed = httparse::Request::new(&mut []);
    let status =
        ParserConfig::default().parse_request_with_uninit_headers(&mut parsed, input, headers);
    let len = match status {
        Ok(Status::Complete(len)) => len,
        Ok(Status::Partial) => return bare_lf(input).map(|()| None),
        Err(Error::Version) => return other_version(input, head, limits),
        Err(error) => return Err(violation(error, input)),
    };
    let (Some(method), Some(target), Some(minor)) = (parsed.method, parsed.path, parsed.version)
    else {
        return Err(Violation::RequestLine);
    };
    // httparse tolerates empty lines before the request line; the caller has dropped what we do.
    let line_len = method.len() + 1 + target.len() + " HTTP/1.x".len();
    let begins_here = input.starts_with(method.as_bytes());
    if !begins_here {
        return Err(Violation::RequestLine);
    }
    if line_len > limits.request_line_bytes_max {
        return Err(Violation::RequestLineTooLong);
    }
    if len > limits.head_bytes_max {
        return Err(Violation::HeadTooLarge);
    }
    head.method = Method::from_bytes(method.as_bytes()).map_err(|_| Violation::RequestLine)?;
    head.version = if minor == 0 { Version::HTTP_10 } else { Version::HTTP_11 };
    head.form = grammar::target_form(&head.method, target.as_bytes())?;
    head.target = Span::new(method.len() + 1, target.len());
    let fields_at = line_end(input, line_len)?;
    head.fields.clear();
    let mut facts = Facts::default();
    let ends = LineEnds::Strict;
    index(&input[..len], fields_at, parsed.headers, &mut head.fields, ends, |name, value| {
        facts.note(name, value)
    })?;
    // RFC 9112 §3.2: Host is required in HTTP/1.1, whatever the target says.
    if facts.host.is_none() && head.version == Version::HTTP_11 {
        return Err(Violation::HostMissing);
    }
    Ok(Some(Parsed { len, facts }))
}

fn parse_response<'b>(
    input: &'b [u8],
    headers: &mut [MaybeUninit<Header<'b>>],
    head: &mut ResponseHead,
    limits: &Limits,
) -> Step {
    let mut config = ParserConfig::default();
    config
        .allow_obsolete_multiline_headers_in_responses(true)
        .allow_spaces_after_header_name_in_responses(true)
        .allow_multiple_spaces_in_response_status_delimiters(true);
    let mut parsed = httparse::Response::new(&mut []);
    let len = match config.parse_response_with_uninit_headers(&mut parsed, input, headers) {
        Ok(Status::Complete(len)) => len,
        Ok(Status::Partial) => return Ok(None),
        Err(Error::Status | Error::Token | Error::NewLine) => return Err(Violation::StatusLine),
        Err(Error::Version) if input.starts_with(b"HTTP/") => return Err(Violation::Version),
        Err(Error::Version) => return Err(Violation::StatusLine),
        Err(error) => return Err(violation(error, input)),
    };
    if len > limits.head_bytes_max {
        return Err(Violation::HeadTooLarge);
    }
    let (Some(minor), Some(code)) = (parsed.version, parsed.code) else {
        return Err(Violation::StatusLine);
    };
    head.version = if minor == 0 { Version::HTTP_10 } else { Version::HTTP_11 };
    head.status = StatusCode::from_u16(code).map_err(|_| Violation::StatusLine)?;
    let line = memchr::memchr(b'\n', input).unwrap_or_default();
    let reason = parsed.reason.unwrap_or_default();
    head.reason = match reason.is_empty() {
        true => Span::default(),
        false => Span::new(offset(input, reason.as_bytes()), reason.len()),
    };
    head.fields.clear();
    let mut facts = Facts::default();
    let ends = LineEnds::Lenient;
    index(&input[..len], line + 1, parsed.headers, &mut head.fields, ends, |name, value| {
        // Host and Expect mean nothing in a response.
        match name.len() {
            4 | 6 => Ok(()),
            _ => facts.note(name, value),
        }
    })?;
    Ok(Some(Parsed { len, facts }))
}

/// Copies a head into `fields` and indexes its lines.
///
/// Strictly, it checks what httparse does not: that each line begins where the one before ended,
/// with CRLF and nothing else in between. Leniently, it mends what RFC 9112 §5 allows a client to.
#[inline]
fn index(
    head: &[u8],
    mut at: usize,
    headers: &[Header<'_>],
    fields: &mut Fields,
    ends: LineEnds,
    mut note: impl FnMut(&[u8], &[u8]) -> Result<(), Violation>,
) -> Result<(), Violation> {
    fields.bytes.extend_from_slice(head);
    fields.reserve(headers.len());
    for header in headers {
        let name = header.name.as_bytes();
        let name_at = offset(head, name);
        let colon = name_at + name.len();
        let value_at = match header.value.is_empty() {
            true => colon,
            false => offset(head, header.value),
        };
        let mut value = header.value;
        let unfolded;
        if ends == LineEnds::Strict {
            if name_at != at || head.get(colon) != Some(&b':') {
                return Err(Violation::FieldName);
            }
            at = line_end(head, value_at.max(colon + 1) + value.len())?;
        } else {
            let frames = matches!(name.len(), 14 | 17)
                && [&b"content-length"[..], b"transfer-encoding"]
                    .iter()
                    .any(|framing| name.eq_ignore_ascii_case(framing));
            if frames && head.get(colon) != Some(&b':') {
                return Err(Violation::SpaceBeforeColon);
            }
            if value.contains(&b'\n') {
                // §5.2: a user agent replaces a fold by spaces.
                let copy = &mut fields.bytes[value_at..value_at + value.len()];
                copy.iter_mut().filter(|c| matches!(c, b'\r' | b'\n')).for_each(|c| *c = b' ');
                unfolded = copy.to_vec();
                value = &unfolded;
            }
        }
        note(name, value)?;
        fields.index(Span::new(name_at, name.len()), Span::new(value_at, value.len()));
    }
    Ok(())
}

/// Where the line whose text ends at `at` is over: whitespace, then CRLF.
#[inline]
fn line_end(head: &[u8], mut at: usize) -> Result<usize, Violation> {
    while head.get(at).is_some_and(|&byte| grammar::is_whitespace(byte)) {
        at += 1;
    }
    match (head.get(at), head.get(at + 1)) {
        (Some(b'\r'), Some(b'\n')) => Ok(at + 2),
        (Some(b'\n'), _) => Err(Violation::BareLf),
        _ => Err(Violation::FieldValue),
    }
}

#[inline]
fn offset(whole: &[u8], part: &[u8]) -> usize {
    (part.as_ptr() as usize).wrapping_sub(whole.as_ptr() as usize)
}

fn bare_lf(input: &[u8]) -> Result<(), Violation> {
    match memchr::memchr_iter(b'\n', input).any(|at| at == 0 || input[at - 1] != b'\r') {
        true => Err(Violation::BareLf),
        false => Ok(()),
    }
}

/// The version is not one httparse knows: a later 1.x, which is read as 1.1 (RFC 9110 §2.5),
/// another major version, or no version at all.
#[cold]
fn other_version(input: &[u8], head: &mut RequestHead, limits: &Limits) -> Step {
    let line_len = memchr::memchr(b'\r', input).unwrap_or(input.len());
    let version_at = memchr::memrchr(b' ', &input[..line_len]).map_or(0, |space| space + 1);
    match input[version_at..line_len] {
        [b'H', b'T', b'T', b'P', b'/', b'1', b'.', b'2'..=b'9'] => {
            let mut as_1_1 = input.to_vec();
            as_1_1[line_len - 1] = b'1';
            let mut headers = [const { MaybeUninit::uninit() }; FIELDS_CEILING];
            let max = limits.fields_max.min(FIELDS_CEILING);
            parse_request(&as_1_1, &mut headers[..max], head, limits)
        }
        [b'H', b'T', b'T', b'P', b'/', b'0'..=b'9', b'.', b'0'..=b'9'] => Err(Violation::Version),
        _ => Err(Violation::RequestLine),
    }
}

/// Names what httparse found, and finds out the common special cases.
#[cold]
fn violation(error: Error, input: &[u8]) -> Violation {
    let lf = bare_lf(input).is_err();
    match error {
        Error::TooManyHeaders => Violation::TooManyFields,
        Error::HeaderName => header_name(input),
        Error::HeaderValue => Violation::FieldValue,
        Error::NewLine if lf => Violation::BareLf,
        Error::NewLine => Violation::FieldValue,
        Error::Status => Violation::StatusLine,
        Error::Token | Error::Version => Violation::RequestLine,
    }
}

fn header_name(input: &[u8]) -> Violation {
    let mut lines = input.split(|&byte| byte == b'\n');
    lines.next();
    for line in lines {
        let colon = line.iter().position(|&byte| byte == b':').unwrap_or(line.len());
        match &line[..colon] {
            [first, ..] if grammar::is_whitespace(*first) => return Violation::ObsFold,
            [name @ .., last]
                if grammar::is_whitespace(*last) && grammar::is_token(name.trim_ascii()) =>
            {
                return Violation::SpaceBeforeColon;
            }
            name if !grammar::is_token(name) => return Violation::FieldName,
            _ => {}
        }
    }
    Violation::FieldName
}
