//! The fast path for plain heads, as nearly all peers write them: parsed in one pass.
//!
//! A head is plain if it is completely here and has only CRLF, single spaces, and a target that is a
//! path. For any other head the result is `None`, and `head` parses it or reports the violation. So the
//! only possible error here is to accept a head that `head` refuses, or to read it differently. A head
//! that arrives in pieces is always parsed by `head`: feeding a message whole and cut compares both.

use http::{Method, StatusCode, Version};

use crate::error::Violation;
use crate::fields::{Fields, Span};
use crate::grammar::{TargetForm, is_whitespace, target_len, text_len, token_len};
use crate::h1::framing::FramingFacts;
use crate::h1::parsed::ParsedSection;
use crate::h1::scan::SectionLimits;
use crate::limits::FIELDS_CEILING;
use crate::message::{RequestHead, ResponseHead};

/// The number of lines for which an index has room at first.
const FEW_LINES: usize = 16;

/// Parses a request head if it is plain.
#[inline]
pub(super) fn request(
    input: &[u8],
    head: &mut RequestHead,
    section: &SectionLimits,
) -> Option<ParsedSection> {
    let (method, rest) = input.split_at(token_len(input));
    let rest = rest.strip_prefix(b" ").filter(|rest| rest.starts_with(b"/"))?;
    let (target, rest) = rest.split_at(target_len(rest));
    let line_len = method.len() + 1 + target.len() + " HTTP/1.x".len();
    if line_len > section.line_max {
        return None;
    }
    head.version = match rest.first_chunk()? {
        b" HTTP/1.1\r\n" => Version::HTTP_11,
        b" HTTP/1.0\r\n" => Version::HTTP_10,
        _ => return None,
    };
    match method {
        // Assigned directly: to create and move the value costs more than the rest of the line does.
        b"GET" => head.method = Method::GET,
        b"CONNECT" => return None,
        _ => head.method = Method::from_bytes(method).ok()?,
    }
    head.form = TargetForm::Origin;
    std::str::from_utf8(target).ok()?.clone_into(&mut head.target);
    let (at, mut facts) = (line_len + 2, FramingFacts::default());
    let note = |name: &[u8], value: &[u8]| facts.note(name, value);
    let len = at + fields(&input[at..], &mut head.fields, section, note)?;
    // RFC 9112 §3.2: Host is required in HTTP/1.1.
    (facts.has_host() || head.version == Version::HTTP_10).then_some(ParsedSection { len, facts })
}

/// Parses a response head if it is plain.
#[inline]
pub(super) fn response(
    input: &[u8],
    head: &mut ResponseHead,
    section: &SectionLimits,
) -> Option<ParsedSection> {
    head.version = match input.first_chunk()? {
        b"HTTP/1.1 " => Version::HTTP_11,
        b"HTTP/1.0 " => Version::HTTP_10,
        _ => return None,
    };
    let after_version = &input["HTTP/1.x ".len()..];
    let (code, rest) = after_version.split_first_chunk::<3>()?;
    head.status = StatusCode::from_bytes(code).ok()?;
    let reason = &rest[..text_len(rest)];
    if !rest[reason.len()..].starts_with(b"\r\n") || !matches!(reason.first(), None | Some(b' ')) {
        return None;
    }
    head.reason.clear();
    head.reason.extend_from_slice(reason.trim_ascii());
    let (at, mut facts) = ("HTTP/1.x 200".len() + reason.len() + 2, FramingFacts::default());
    let note = |name: &[u8], value: &[u8]| facts.note_response(name, value);
    let len = at + fields(&input[at..], &mut head.fields, section, note)?;
    Some(ParsedSection { len, facts })
}

/// Copies the field section at the front of `input` into `fields` and indexes its lines; returns its
/// length, with the empty line.
#[inline]
fn fields(
    input: &[u8],
    fields: &mut Fields,
    section: &SectionLimits,
    mut note: impl FnMut(&[u8], &[u8]) -> Result<(), Violation>,
) -> Option<usize> {
    let max = section.fields_max.min(FIELDS_CEILING);
    fields.clear();
    fields.reserve(FEW_LINES);
    let mut at = 0;
    loop {
        let line = &input[at..];
        let name_len = token_len(line);
        if name_len == 0 {
            at += if line.starts_with(b"\r\n") { 2 } else { return None };
            fields.bytes.extend_from_slice(&input[..at]);
            return Some(at);
        }
        if line.get(name_len) != Some(&b':') || fields.len() == max {
            return None;
        }
        let mut value_at = name_len + 1;
        while line.get(value_at).is_some_and(|&byte| is_whitespace(byte)) {
            value_at += 1;
        }
        let text = &line[value_at..];
        let text_len = text_len(text);
        if !text[text_len..].starts_with(b"\r\n") {
            return None;
        }
        let mut value = &text[..text_len];
        // Of the bytes that a value may have, only whitespace is below `!`.
        while let [rest @ .., ..=b' '] = value {
            value = rest;
        }
        note(&line[..name_len], value).ok()?;
        fields.index(Span::new(at, name_len), Span::new(at + value_at, value.len()));
        at += value_at + text_len + 2;
    }
}
