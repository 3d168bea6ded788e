//! Indexes the field lines of a head or trailer section (RFC 9112 §5): from `httparse`'s slices to
//! `Fields`.

use httparse::Header;

use crate::error::Violation;
use crate::fields::{Fields, Span};
use crate::grammar;

/// Copies a field section, its final empty line included, into `fields` and indexes its lines.
///
/// It makes the checks that httparse does not: each line begins where the one before ended, with only
/// CRLF in between.
#[inline]
pub(super) fn index(
    section: &[u8],
    lines: &[Header<'_>],
    fields: &mut Fields,
    mut note: impl FnMut(&[u8], &[u8]) -> Result<(), Violation>,
) -> Result<(), Violation> {
    copy_section(section, lines, fields);
    let mut at = 0;
    for line in lines {
        let name = line.name.as_bytes();
        let name_at = offset(section, name);
        let colon = name_at + name.len();
        if name_at != at || section.get(colon) != Some(&b':') {
            return Err(Violation::FieldName);
        }
        let value_at = match line.value {
            [] => colon + 1,
            value => offset(section, value),
        };
        at = line_end(section, value_at + line.value.len())?;
        note(name, line.value)?;
        fields.index(Span::new(name_at, name.len()), Span::new(value_at, line.value.len()));
    }
    match section.get(at..) {
        Some(b"\r\n") => Ok(()),
        _ => Err(Violation::BareLf),
    }
}

/// Copies the section's bytes and makes room for its lines.
#[inline]
fn copy_section(section: &[u8], lines: &[Header<'_>], fields: &mut Fields) {
    fields.clear();
    fields.bytes.extend_from_slice(section);
    fields.reserve(lines.len());
}

/// The end of the line whose text ends at `at`: behind whitespace and CRLF.
#[inline]
fn line_end(section: &[u8], mut at: usize) -> Result<usize, Violation> {
    while section.get(at).is_some_and(|&byte| grammar::is_whitespace(byte)) {
        at += 1;
    }
    match (section.get(at), section.get(at + 1)) {
        (Some(b'\r'), Some(b'\n')) => Ok(at + 2),
        (Some(b'\n'), _) => Err(Violation::BareLf),
        _ => Err(Violation::FieldValue),
    }
}

/// As [`index`], but accepts what RFC 9112 §2.2 and §5 allow a client to accept: bare LF, whitespace
/// before a colon, and folded lines; the latter two not in the fields that frame the message.
pub(super) fn index_leniently(
    section: &[u8],
    lines: &[Header<'_>],
    fields: &mut Fields,
    mut note: impl FnMut(&[u8], &[u8]) -> Result<(), Violation>,
) -> Result<(), Violation> {
    copy_section(section, lines, fields);
    // Lines are folded if there are more line ends than one for each line and the empty one.
    let has_folds = memchr::memchr_iter(b'\n', section).count() != lines.len() + 1;
    for line in lines {
        let name = line.name.as_bytes();
        let name_at = offset(section, name);
        let colon = name_at + name.len();
        let value_at = match line.value {
            [] => colon,
            value => offset(section, value),
        };
        let value = value_at..value_at + line.value.len();
        let is_spaced = section.get(colon) != Some(&b':');
        let is_folded = has_folds && section[colon..value.end].contains(&b'\n');
        if (is_spaced || is_folded) && is_framing_field(name) {
            let spaced = Violation::SpaceBeforeColon;
            return Err(if is_spaced { spaced } else { Violation::ObsFold });
        }
        if is_folded {
            // RFC 9112 §5.2: a user agent replaces a fold by spaces.
            let folded = fields.bytes[value.clone()].iter_mut();
            folded.filter(|byte| matches!(byte, b'\r' | b'\n')).for_each(|byte| *byte = b' ');
        }
        note(name, &fields.bytes[value])?;
        fields.index(Span::new(name_at, name.len()), Span::new(value_at, line.value.len()));
    }
    Ok(())
}

fn is_framing_field(name: &[u8]) -> bool {
    name.eq_ignore_ascii_case(b"content-length") || name.eq_ignore_ascii_case(b"transfer-encoding")
}

/// The offset in `whole` of `part`, a slice of it.
#[inline]
fn offset(whole: &[u8], part: &[u8]) -> usize {
    (part.as_ptr() as usize).wrapping_sub(whole.as_ptr() as usize)
}
