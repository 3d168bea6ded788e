//! [`Section`]: reads a header block into a head or trailer section, by the rules of RFC 9113 §8.
//!
//! A block is always decoded to its end, even after a fault, because the tables of both ends must stay
//! equal; the first fault counts.

use http::{Method, StatusCode};

use crate::fields::{FORBIDDEN_IN_TRAILERS, Fields};
use crate::grammar;
use crate::grammar::TargetForm;
use crate::h2::fault::Fault;
use crate::h2::kind::LineKind;
use crate::hpack::{Decoder, Line};
use crate::limits::Limits;

/// The bytes that RFC 9113 §6.5.2 counts for a line beside its name and value.
const LINE_BYTES: usize = 32;

/// A section larger than this many times the limit ends the connection: up to there it is decoded, and
/// not kept, so that only its stream ends.
const LIST_FACTOR_MAX: usize = 4;

/// Capacity that is kept for cookies.
const COOKIE_KEPT_MAX: usize = 4 * 1024;

/// The kind of a field section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SectionKind {
    Request,
    Response,
    Trailers,
}

/// A decoded field section. It is used again for the next.
#[derive(Debug, Default)]
pub(super) struct Section {
    pub(super) fields: Fields,
    pub(super) method: Method,
    /// `:path`, or of a CONNECT `:authority`.
    pub(super) target: String,
    pub(super) form: TargetForm,
    pub(super) protocol: Option<Box<str>>,
    pub(super) status: StatusCode,
    pub(super) content_length: Option<u64>,
    /// Whether the fields have a `priority`.
    pub(super) has_priority: bool,
    bytes: usize,
    seen: SeenFields,
    /// The cookie fields of a request, joined.
    cookie: Vec<u8>,
    fault: Option<Fault>,
}

/// Which pseudo-fields were seen, and whether a field was.
#[derive(Clone, Copy, Debug, Default)]
struct SeenFields(u16);

const METHOD: u16 = 1;
const SCHEME: u16 = 2;
const PATH: u16 = 4;
const AUTHORITY: u16 = 8;
const PROTOCOL: u16 = 16;
const STATUS: u16 = 32;
const FIELD: u16 = 64;
const HOST: u16 = 128;
const COOKIE: u16 = 256;

impl SeenFields {
    fn has(self, what: u16) -> bool {
        self.0 & what != 0
    }

    /// §8.3: a pseudo-field comes once, and ahead of all fields.
    #[inline]
    fn pseudo(&mut self, what: u16) -> Result<(), Fault> {
        if self.has(FIELD) {
            return Err(Fault::PseudoLate);
        }
        if self.has(what) {
            return Err(Fault::PseudoRepeated);
        }
        self.0 |= what;
        Ok(())
    }
}

/// Options for the rules of a section.
#[derive(Clone, Copy, Debug)]
pub(super) struct SectionOptions {
    /// Whether we sent SETTINGS_ENABLE_CONNECT_PROTOCOL: RFC 8441.
    pub(super) extended_connect: bool,
    /// Whether equal Content-Lengths count as one: responses are accepted if they have one meaning.
    pub(super) equal_lengths: bool,
}

impl Section {
    /// Reads a whole header block. Returns whether that has changed the decoder's table.
    ///
    /// # Errors
    /// A fault that ends the connection. [`Section::finish`] returns one that ends the stream.
    pub(super) fn read(
        &mut self,
        decoder: &mut Decoder,
        block: &[u8],
        section: SectionKind,
        options: SectionOptions,
        limits: &Limits,
    ) -> Result<bool, Fault> {
        self.clear();
        let bytes_max = match section {
            SectionKind::Trailers => limits.trailers_bytes_max,
            SectionKind::Request | SectionKind::Response => limits.head_bytes_max,
        };
        let mut block = decoder.block(block);
        while let Some(line) = block.next().map_err(|_| Fault::Compression)? {
            self.bytes += line.name.len() + line.value.len() + LINE_BYTES;
            let kind = LineKind::of(&line);
            if self.bytes > bytes_max
                || self.adds_field(kind) && self.field_count() >= limits.fields_max
            {
                if self.bytes > bytes_max.saturating_mul(LIST_FACTOR_MAX) {
                    return Err(Fault::BlockTooLarge);
                }
                self.fault.get_or_insert(Fault::HeadTooLarge);
                continue;
            }
            let mut mark = kind.mark();
            if self.fault.is_none() {
                match self.take_line(kind, &line, section, options) {
                    Ok(()) => mark = kind.taken().mark(),
                    Err(fault) => self.fault = Some(fault),
                }
            }
            if line.mark != mark {
                block.mark(mark);
            }
        }
        Ok(block.has_changed_table())
    }

    /// Makes this what another section was when its block had been read.
    pub(super) fn copy_from(&mut self, other: &Self) {
        // All of them are named, so that none is forgotten.
        let Self {
            fields,
            method,
            target,
            form,
            protocol,
            status,
            content_length,
            has_priority,
            bytes,
            seen,
            cookie,
            fault,
        } = other;
        self.fields.copy_from(fields);
        self.target.clone_from(target);
        self.protocol.clone_from(protocol);
        (self.method, self.form, self.status) = (method.clone(), *form, *status);
        self.cookie.clone_from(cookie);
        (self.content_length, self.has_priority) = (*content_length, *has_priority);
        (self.bytes, self.seen, self.fault) = (*bytes, *seen, *fault);
    }

    /// Whether a line that was read is wrong.
    pub(super) fn has_fault(&self) -> bool {
        self.fault.is_some()
    }

    /// The size of the section: names, values and 32 bytes for each line (RFC 9113 §6.5.2).
    pub(super) fn list_bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn heap_bytes(&self) -> usize {
        let text = self.target.capacity() + self.cookie.capacity();
        self.fields.heap_bytes() + text + self.protocol.as_ref().map_or(0, |name| name.len())
    }

    /// The number of fields.
    fn field_count(&self) -> usize {
        self.fields.len() + usize::from(self.seen.has(COOKIE))
    }

    /// Whether a line of this kind is one more field.
    fn adds_field(&self, kind: LineKind) -> bool {
        match kind {
            LineKind::Cookie => !self.seen.has(COOKIE),
            LineKind::Plain
            | LineKind::Priority
            | LineKind::ContentLength
            | LineKind::Host
            | LineKind::Authority
            | LineKind::ValidAuthority => true,
            _ => false,
        }
    }

    pub(super) fn clear(&mut self) {
        self.fields.clear();
        self.method = Method::GET;
        self.target.clear();
        self.form = TargetForm::Origin;
        self.protocol = None;
        self.status = StatusCode::OK;
        self.content_length = None;
        self.has_priority = false;
        self.cookie.clear();
        self.cookie.shrink_to(COOKIE_KEPT_MAX);
        (self.bytes, self.seen, self.fault) = (0, SeenFields::default(), None);
    }

    #[inline]
    fn take_line(
        &mut self,
        kind: LineKind,
        line: &Line<'_>,
        section: SectionKind,
        options: SectionOptions,
    ) -> Result<(), Fault> {
        match kind {
            LineKind::Plain
            | LineKind::Cookie
            | LineKind::Priority
            | LineKind::ContentLength
            | LineKind::Host => {
                self.seen.0 |= FIELD;
                return self.take_field(kind, line, section, options);
            }
            _ => {}
        }
        if let Some(fault) = kind.fault() {
            return Err(fault);
        }
        match (kind, section) {
            (LineKind::Method, SectionKind::Request) => {
                self.seen.pseudo(METHOD)?;
                self.method = match line.value {
                    b"GET" => Method::GET,
                    other => Method::from_bytes(other).map_err(|_| Fault::Method)?,
                };
            }
            (LineKind::Path, SectionKind::Request) => {
                self.seen.pseudo(PATH)?;
                self.set_target(line.value, Fault::Path)?;
            }
            (LineKind::Scheme, SectionKind::Request) => {
                self.seen.pseudo(SCHEME)?;
                if !is_scheme(line.value) {
                    return Err(Fault::Scheme);
                }
            }
            (LineKind::Authority | LineKind::ValidAuthority, SectionKind::Request) => {
                self.seen.pseudo(AUTHORITY)?;
                let is_valid = kind == LineKind::ValidAuthority
                    || !line.value.is_empty() && grammar::is_host(line.value);
                if !is_valid {
                    return Err(Fault::Authority);
                }
                // §8.3.1: in HTTP/1.1 it is Host.
                self.fields.append(b"host", line.value);
            }
            (LineKind::Protocol, SectionKind::Request) => {
                self.seen.pseudo(PROTOCOL)?;
                let name = std::str::from_utf8(line.value).ok();
                let name = name.filter(|name| grammar::is_token(name.as_bytes()));
                self.protocol = Some(name.ok_or(Fault::Connect)?.into());
            }
            (LineKind::Status, SectionKind::Response) => {
                self.seen.pseudo(STATUS)?;
                let status = StatusCode::from_bytes(line.value).ok();
                // §8.6: HTTP/2 has no 101.
                let status = status.filter(|&status| status != StatusCode::SWITCHING_PROTOCOLS);
                self.status = status.ok_or(Fault::Status)?;
            }
            _ => return Err(Fault::PseudoUnknown),
        }
        Ok(())
    }

    fn set_target(&mut self, target: &[u8], fault: Fault) -> Result<(), Fault> {
        let fits = !target.is_empty() && grammar::target_len(target) == target.len();
        let text = std::str::from_utf8(target).ok().filter(|_| fits);
        self.target.push_str(text.ok_or(fault)?);
        Ok(())
    }

    fn take_field(
        &mut self,
        kind: LineKind,
        line: &Line<'_>,
        section: SectionKind,
        options: SectionOptions,
    ) -> Result<(), Fault> {
        if section == SectionKind::Trailers {
            // RFC 9110 §6.5.1: a field that must not be a trailer is dropped.
            let is_forbidden = |name: &&str| name.as_bytes() == line.name;
            if !FORBIDDEN_IN_TRAILERS.iter().any(is_forbidden) {
                self.fields.append(line.name, line.value);
            }
            return Ok(());
        }
        match kind {
            // §8.2.3: several cookie fields become one, as HTTP/1.1 requires.
            LineKind::Cookie if section == SectionKind::Request => {
                if self.seen.has(COOKIE) {
                    self.cookie.extend_from_slice(b"; ");
                }
                self.seen.0 |= COOKIE;
                self.cookie.extend_from_slice(line.value);
                return Ok(());
            }
            LineKind::Priority => self.has_priority = true,
            LineKind::ContentLength => {
                let length = grammar::length(line.value).ok_or(Fault::Length)?;
                match self.content_length.replace(length) {
                    None => {}
                    Some(other) if other == length && options.equal_lengths => return Ok(()),
                    Some(_) => return Err(Fault::Length),
                }
            }
            LineKind::Host if section == SectionKind::Request => {
                if self.seen.has(HOST) || line.value.is_empty() || !grammar::is_host(line.value) {
                    return Err(Fault::Authority);
                }
                self.seen.0 |= HOST;
                if self.seen.has(AUTHORITY) {
                    let authority = self.fields.first("host").unwrap_or_default();
                    return match authority.eq_ignore_ascii_case(line.value) {
                        true => Ok(()),
                        false => Err(Fault::Authority),
                    };
                }
            }
            _ => {}
        }
        self.fields.append(line.name, line.value);
        Ok(())
    }

    /// Checks the rules for the whole section.
    ///
    /// # Errors
    /// The first fault of the section, which ends its stream.
    pub(super) fn finish(
        &mut self,
        section: SectionKind,
        options: SectionOptions,
    ) -> Result<(), Fault> {
        if let Some(fault) = self.fault {
            return Err(fault);
        }
        if self.seen.has(COOKIE) {
            self.fields.append(b"cookie", &self.cookie);
        }
        match section {
            SectionKind::Request => self.finish_request(options),
            SectionKind::Response if !self.seen.has(STATUS) => Err(Fault::PseudoMissing),
            SectionKind::Response | SectionKind::Trailers => Ok(()),
        }
    }

    /// Checks the pseudo-fields of a request: §8.3.1, §8.5, RFC 8441 §4.
    fn finish_request(&mut self, options: SectionOptions) -> Result<(), Fault> {
        let seen = self.seen;
        if !seen.has(METHOD) {
            return Err(Fault::PseudoMissing);
        }
        if self.method == Method::CONNECT && !seen.has(PROTOCOL) {
            if seen.has(SCHEME) || seen.has(PATH) || !seen.has(AUTHORITY) {
                return Err(Fault::Connect);
            }
            let authority = self.fields.first("host").unwrap_or_default();
            self.target.push_str(std::str::from_utf8(authority).unwrap_or_default());
        } else {
            if seen.has(PROTOCOL) && (self.method != Method::CONNECT || !options.extended_connect) {
                return Err(Fault::Connect);
            }
            if !seen.has(SCHEME) || !seen.has(PATH) || !(seen.has(AUTHORITY) || seen.has(HOST)) {
                return Err(Fault::PseudoMissing);
            }
        }
        self.form = match (self.target.as_bytes(), seen.has(PROTOCOL)) {
            ([b'/', ..], _) if self.method != Method::CONNECT || seen.has(PROTOCOL) => {
                TargetForm::Origin
            }
            (b"*", false) if self.method == Method::OPTIONS => TargetForm::Asterisk,
            (target, false) if self.method == Method::CONNECT => {
                grammar::target_form(&self.method, target).map_err(|_| Fault::Authority)?
            }
            _ => return Err(Fault::Path),
        };
        Ok(())
    }
}

/// Whether `value` is scheme = ALPHA *( ALPHA / DIGIT / "+" / "-" / "." ) (RFC 3986 §3.1)
fn is_scheme(value: &[u8]) -> bool {
    match value {
        b"http" | b"https" => true,
        [first, rest @ ..] => {
            let of_rest = |c: &u8| c.is_ascii_alphanumeric() || matches!(c, b'+' | b'-' | b'.');
            first.is_ascii_alphabetic() && rest.iter().all(of_rest)
        }
        [] => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hpack::{Encoder, Indexing};

    /// What a request with this authority has for Host, in two blocks: the second has it from the dynamic table.
    fn hosts(authority: &str) -> [Result<Vec<u8>, Fault>; 2] {
        let (mut encoder, mut decoder) = (Encoder::new(4_096), Decoder::new(4_096));
        let mut section = Section::default();
        let options = SectionOptions { extended_connect: false, equal_lengths: false };
        [(); 2].map(|()| {
            let mut block = Vec::new();
            encoder.begin(&mut block);
            for (name, value) in [(":method", "GET"), (":scheme", "http"), (":path", "/a")] {
                encoder.line(name.as_bytes(), value.as_bytes(), Indexing::Insert, &mut block);
            }
            encoder.line(b":authority", authority.as_bytes(), Indexing::Insert, &mut block);
            let limits = Limits::default();
            section.read(&mut decoder, &block, SectionKind::Request, options, &limits)?;
            section.finish(SectionKind::Request, options)?;
            Ok(section.fields.first("host").unwrap_or_default().to_vec())
        })
    }

    #[test]
    fn an_authority_is_as_valid_the_second_time() {
        for valid in ["a.test:80", "127.0.0.1", "[::1]:443"] {
            assert_eq!(hosts(valid), [(); 2].map(|()| Ok(valid.as_bytes().to_vec())));
        }
        for invalid in ["user@a.test", "a.test:65536", "a/b", ""] {
            assert_eq!(hosts(invalid), [(); 2].map(|()| Err(Fault::Authority)), "{invalid}");
        }
    }
}
