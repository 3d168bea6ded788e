//! The framing of a message's body (RFC 9112 §6.3), decided once from the head, for each role by one
//! function. The rest of the machine uses the [`Framing`] and no fields.

use http::{StatusCode, Version};

use crate::error::Violation;
use crate::fields::Fields;
use crate::grammar::{self, is_name};
use crate::persistence::CloseReason;
use crate::semantics::{FollowingData, expects_continue};

/// How the body of a message is delimited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Framing {
    /// This many bytes follow; no body, if zero.
    Length(u64),
    /// Chunks follow, up to one of size zero and a trailer section.
    Chunked,
    /// All bytes until the connection ends.
    UntilClose,
    /// No body: the bytes that follow belong to a tunnel.
    Tunnel,
}

/// The facts about framing and persistence in the field lines of one head, gathered while they are
/// indexed.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FramingFacts {
    length: DeclaredLength,
    codings: Codings,
    /// Bits instead of six booleans, which the compiler gathers one by one, with a hundred instructions
    /// for each head.
    flags: u8,
}

/// Bits of [`FramingFacts::flags`].
const HOST: u8 = 1;
const CLOSE: u8 = 2;
const KEEP_ALIVE: u8 = 4;
const UPGRADE_LISTED: u8 = 8;
const UPGRADE: u8 = 16;
const EXPECTS_CONTINUE: u8 = 32;

#[derive(Clone, Copy, Debug, Default)]
enum DeclaredLength {
    #[default]
    None,
    One(u64),
    Repeated(u64),
}

/// The transfer codings of a message, first to last.
#[derive(Clone, Copy, Debug, Default)]
struct Codings {
    present: bool,
    /// Whether chunked was seen.
    chunked: bool,
    /// The violation, if another coding followed chunked, or chunked came again.
    after_chunked: Option<Violation>,
    unknown: bool,
}

impl Codings {
    /// Step 4: chunked must be the final coding, and it is the only one that is decoded.
    fn framing(&self) -> Result<Framing, Violation> {
        if let Some(violation) = self.after_chunked {
            return Err(violation);
        }
        if self.unknown {
            return Err(Violation::CodingUnknown);
        }
        Ok(Framing::Chunked)
    }
}

impl FramingFacts {
    /// Notes one field line. It compares the length first, which most names do not pass.
    #[inline]
    pub(super) fn note(&mut self, name: &[u8], value: &[u8]) -> Result<(), Violation> {
        match name.len() {
            4 if is_name(name, b"host") => self.note_host(value),
            6 if is_name(name, b"expect") => self.note_expect(value),
            7 if is_name(name, b"upgrade") => {
                self.flags |= UPGRADE;
                Ok(())
            }
            10 if is_name(name, b"connection") => {
                self.note_connection(value);
                Ok(())
            }
            14 if is_name(name, b"content-length") => self.note_length(value),
            17 if is_name(name, b"transfer-encoding") => self.note_codings(value),
            _ => Ok(()),
        }
    }

    /// Notes one field line of a response, in which Host and Expect mean nothing.
    #[inline]
    pub(super) fn note_response(&mut self, name: &[u8], value: &[u8]) -> Result<(), Violation> {
        match name.len() {
            4 | 6 => Ok(()),
            _ => self.note(name, value),
        }
    }

    fn note_host(&mut self, value: &[u8]) -> Result<(), Violation> {
        if self.has_host() {
            return Err(Violation::HostRepeated);
        }
        self.flags |= HOST;
        if grammar::is_host(value) { Ok(()) } else { Err(Violation::HostInvalid) }
    }

    /// Notes Expect = #expectation (RFC 9110 §10.1.1): one other than 100-continue may be refused.
    fn note_expect(&mut self, value: &[u8]) -> Result<(), Violation> {
        if expects_continue(value)? {
            self.flags |= EXPECTS_CONTINUE;
        }
        Ok(())
    }

    fn note_connection(&mut self, value: &[u8]) {
        if value.eq_ignore_ascii_case(b"keep-alive") {
            self.flags |= KEEP_ALIVE;
            return;
        }
        for option in grammar::list(value) {
            self.flags |= match option {
                _ if option.eq_ignore_ascii_case(b"close") => CLOSE,
                _ if option.eq_ignore_ascii_case(b"keep-alive") => KEEP_ALIVE,
                _ if option.eq_ignore_ascii_case(b"upgrade") => UPGRADE_LISTED,
                _ => 0,
            };
        }
    }

    /// Notes Content-Length = 1*DIGIT (RFC 9110 §8.6): no sign, no space, no list of differing numbers.
    fn note_length(&mut self, value: &[u8]) -> Result<(), Violation> {
        for item in value.split(|&byte| byte == b',') {
            let number = grammar::length(grammar::trim(item)).ok_or(Violation::LengthInvalid)?;
            self.length = match self.length {
                DeclaredLength::None => DeclaredLength::One(number),
                DeclaredLength::One(same) | DeclaredLength::Repeated(same) if same == number => {
                    DeclaredLength::Repeated(number)
                }
                DeclaredLength::One(_) | DeclaredLength::Repeated(_) => {
                    return Err(Violation::LengthRepeated);
                }
            };
        }
        Ok(())
    }

    /// Notes Transfer-Encoding = #transfer-coding (RFC 9112 §6.1); the lines of a head are one list.
    ///
    /// Empty items, which other lists may have, are refused here: a recipient that compares the whole
    /// value with "chunked" would see another framing than one that splits it.
    fn note_codings(&mut self, value: &[u8]) -> Result<(), Violation> {
        self.codings.present = true;
        for coding in value.split(|&byte| byte == b',') {
            let end = coding.iter().position(|&byte| byte == b';').unwrap_or(coding.len());
            let (name, parameters) = (grammar::trim(&coding[..end]), &coding[end..]);
            if !grammar::is_token(name) {
                return Err(Violation::CodingInvalid);
            }
            let chunked = name.eq_ignore_ascii_case(b"chunked");
            if self.codings.chunked {
                let violation = match chunked {
                    true => Violation::ChunkedRepeated,
                    false => Violation::ChunkedNotLast,
                };
                self.codings.after_chunked.get_or_insert(violation);
            }
            if chunked && !parameters.is_empty() {
                return Err(Violation::ChunkedRepeated);
            }
            self.codings.chunked |= chunked;
            self.codings.unknown |= !chunked;
        }
        Ok(())
    }

    fn has_all(&self, all: u8) -> bool {
        self.flags & all == all
    }

    pub(super) fn has_host(&self) -> bool {
        self.has_all(HOST)
    }

    /// Whether there is an Upgrade that Connection lists (RFC 9110 §7.8).
    pub(super) fn offers_upgrade(&self) -> bool {
        self.has_all(UPGRADE | UPGRADE_LISTED)
    }

    pub(super) fn expects_continue(&self) -> bool {
        self.has_all(EXPECTS_CONTINUE)
    }

    /// Why the peer ends the connection after this message, if it does: RFC 9112 §9.3.
    pub(super) fn close_reason(&self, version: Version) -> Option<CloseReason> {
        match version {
            _ if self.has_all(CLOSE) => Some(CloseReason::PeerCloses),
            Version::HTTP_11 => None,
            _ if self.has_all(KEEP_ALIVE) => None,
            _ => Some(CloseReason::OldVersion),
        }
    }
}

/// Decides the framing of a request (RFC 9112 §6.3), as strictly as the RFC allows: a head that two
/// recipients could read differently is refused.
pub(super) fn of_request(facts: &FramingFacts, version: Version) -> Result<Framing, Violation> {
    // 3. Both fields: an attempt at smuggling until proven otherwise.
    if facts.codings.present {
        if version == Version::HTTP_10 {
            return Err(Violation::CodingInOldVersion);
        }
        if !matches!(facts.length, DeclaredLength::None) {
            return Err(Violation::LengthAndCoding);
        }
        return facts.codings.framing();
    }
    match facts.length {
        // 5. A list of equal numbers may be refused; legitimate clients do not send one.
        DeclaredLength::Repeated(_) => Err(Violation::LengthRepeated),
        // 6. One number.
        DeclaredLength::One(length) => Ok(Framing::Length(length)),
        // 7. A request without either has no body.
        DeclaredLength::None => Ok(Framing::Length(0)),
    }
}

/// The facts about a request that decide how its response is read.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RequestContext {
    pub(super) head_only: bool,
    pub(super) connect: bool,
    pub(super) upgrade: bool,
}

/// Decides the framing of a response (RFC 9112 §6.3); accepts what servers are known to send if it has
/// one meaning.
pub(super) fn of_response(
    facts: &FramingFacts,
    request: RequestContext,
    status: StatusCode,
) -> Result<Framing, Violation> {
    // 1., 2. Some responses have no body, whatever their fields announce.
    if status.is_informational() {
        return Ok(Framing::Length(0));
    }
    match FollowingData::of(status, request.head_only, request.connect) {
        FollowingData::Tunnel => return Ok(Framing::Tunnel),
        FollowingData::Nothing => return Ok(Framing::Length(0)),
        FollowingData::Content => {}
    }
    // 3. Transfer-Encoding wins over Content-Length; the connection is not used again then.
    if facts.codings.present {
        return facts.codings.framing();
    }
    match facts.length {
        // 5., 6. One number, however often it is repeated.
        DeclaredLength::One(length) | DeclaredLength::Repeated(length) => {
            Ok(Framing::Length(length))
        }
        // 8. No length is given: the end of the connection ends the body.
        DeclaredLength::None => Ok(Framing::UntilClose),
    }
}

impl FramingFacts {
    /// Makes a response's Content-Length agree with its framing, since the caller may forward it: none if
    /// there is a Transfer-Encoding, where an intermediary "MUST first remove the received Content-Length
    /// field" (RFC 9112 §6.3), and a single one if the number was repeated (RFC 9110 §8.6).
    pub(super) fn settle_length(&self, fields: &mut Fields) {
        match (self.codings.present, self.length) {
            (_, DeclaredLength::None) | (false, DeclaredLength::One(_)) => {}
            (true, _) => fields.remove("content-length"),
            (false, DeclaredLength::Repeated(length)) => {
                fields.remove("content-length");
                fields.append(b"content-length", length.to_string().as_bytes());
            }
        }
    }

    /// Whether the framing of a response is ambiguous, so that its connection must not be used again
    /// (RFC 9112 §6.1, §6.3): the head announces a body other than the one that is read.
    pub(super) fn is_doubtful(&self, version: Version, status: StatusCode) -> bool {
        let has_length = !matches!(self.length, DeclaredLength::None);
        let two_ways = self.codings.present && (has_length || version == Version::HTTP_10);
        // RFC 9110 §8.6, RFC 9112 §6.1: a 204 must not announce a body; one that does may send it.
        let body_where_none_is = status == StatusCode::NO_CONTENT
            && (self.codings.present
                || !matches!(self.length, DeclaredLength::None | DeclaredLength::One(0)));
        two_ways || body_where_none_is
    }
}
