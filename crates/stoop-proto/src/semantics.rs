//! RFC 9110's rules that do not depend on the version of HTTP: which messages have content, which length
//! is announced for it, and what a head must and must not have. Both machines call these.

use http::{Method, StatusCode};

use crate::error::{Misuse, Violation};
use crate::fields::{Field, Fields};
use crate::grammar::{self, TargetForm};
use crate::message::{BodySize, RequestHead, ResponseHead, ResponseParts};

/// The rules for the head of a response.
impl<'a> ResponseParts<'a> {
    /// Checks that no value could end its line early. The type of the fields rules that out for them.
    ///
    /// # Errors
    /// [`Misuse::FieldValue`] if the Content-Type or Date has a control character.
    pub(crate) fn check(&self) -> Result<(), Misuse> {
        let type_fits = self.content_type.is_none_or(|t| grammar::is_field_value(t.as_bytes()));
        let date_fits = self.date.is_none_or(grammar::is_date);
        if type_fits && date_fits { Ok(()) } else { Err(Misuse::FieldValue) }
    }

    /// Whether the response may have content: not in answer to HEAD, nor with some statuses (RFC 9110
    /// §6.4.1). A 205 must not be sent with content (§15.3.6), though one that was received may have some.
    #[inline]
    pub(crate) fn may_have_content(&self, is_head: bool) -> bool {
        !is_head && has_content(self.status) && self.status != StatusCode::RESET_CONTENT
    }

    /// The size that the head announces (RFC 9110 §8.6): that of the content, or, where the response has
    /// none, of the content that a GET would have got. The latter is the Content-Length in the fields;
    /// without one, the size of the content that the caller gave, unless that is empty: then it is unknown.
    ///
    /// # Errors
    /// As [`BodySize::declared_by`], where there is content.
    #[inline]
    pub(crate) fn announced_size(&self, is_head: bool, size: BodySize) -> Result<BodySize, Misuse> {
        if self.may_have_content(is_head) {
            return self.fields.map_or(Ok(size), |fields| size.declared_by(fields));
        }
        let declared = || self.fields.and_then(|fields| declared_length(fields).ok().flatten());
        Ok(match (self.status, size) {
            (StatusCode::NO_CONTENT, _) => BodySize::Unknown,
            (StatusCode::RESET_CONTENT, _) => BodySize::Exact(0),
            (StatusCode::NOT_MODIFIED, _) | (_, BodySize::Exact(0) | BodySize::Unknown) => {
                declared().map_or(BodySize::Unknown, BodySize::Exact)
            }
            (_, BodySize::Exact(length)) => BodySize::Exact(declared().unwrap_or(length)),
        })
    }

    /// The fields that the server adds to the caller's, which have `present`: RFC 9110 §6.6.1, §8.3.
    #[inline]
    pub(crate) fn added_fields(&self, present: PresentFields) -> AddedFields<'a> {
        AddedFields {
            content_type: self.content_type.filter(|_| !present.content_type),
            date: self.date.filter(|_| !present.date),
        }
    }
}

/// Whether a final response with that status has content, if its request is no HEAD (RFC 9110 §6.4.1).
#[inline]
fn has_content(status: StatusCode) -> bool {
    !matches!(status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED)
}

/// What follows the head of a response that was received, whatever its fields announce.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FollowingData {
    /// A tunnel (RFC 9110 §9.3.6): any 2xx to CONNECT opens one, even a 204.
    Tunnel,
    /// Nothing that belongs to the response (RFC 9110 §6.4.1).
    Nothing,
    /// Content, as the fields announce it.
    Content,
}

impl FollowingData {
    /// What follows the head of a final response to a HEAD, to a CONNECT, or to another request.
    #[inline]
    pub(crate) fn of(status: StatusCode, is_head: bool, is_connect: bool) -> Self {
        match status {
            _ if is_connect && status.is_success() => Self::Tunnel,
            _ if is_head || !has_content(status) => Self::Nothing,
            _ => Self::Content,
        }
    }
}

impl ResponseHead {
    /// Whether the server that sent this final response does not want the rest of the request's content:
    /// it answered instead of sending the 100 that the client waits for (`awaiting_continue`), or it
    /// answered with a failure (RFC 9110 §10.1.1, RFC 9112 §9.5).
    pub fn declines_content(&self, awaiting_continue: bool) -> bool {
        awaiting_continue || !self.status().is_success()
    }
}

/// Which of the fields that the server would add are in the caller's.
#[derive(Clone, Copy, Default)]
pub(crate) struct PresentFields {
    content_type: bool,
    date: bool,
}

impl PresentFields {
    pub(crate) fn in_fields(fields: Option<&Fields>) -> Self {
        let mut present = Self::default();
        fields.into_iter().flat_map(Fields::iter).for_each(|field| present.note(field));
        present
    }

    #[inline]
    pub(crate) fn note(&mut self, field: Field<'_>) {
        self.content_type |= field.is("content-type");
        self.date |= field.is("date");
    }
}

/// The fields that the server adds to a response.
pub(crate) struct AddedFields<'a> {
    pub(crate) content_type: Option<&'a str>,
    pub(crate) date: Option<&'a [u8; 29]>,
}

/// Checks that a status is interim. 101 is not: it is final for HTTP, and HTTP/2 does not have it (RFC
/// 9110 §15.2.2, RFC 9113 §8.6).
///
/// # Errors
/// [`Misuse::Status`] if not.
pub(crate) fn check_interim(status: StatusCode) -> Result<(), Misuse> {
    match status.is_informational() && status != StatusCode::SWITCHING_PROTOCOLS {
        true => Ok(()),
        false => Err(Misuse::Status),
    }
}

/// Checks that a status is final.
///
/// # Errors
/// [`Misuse::Status`] if not.
#[inline]
pub(crate) fn check_final(status: StatusCode) -> Result<(), Misuse> {
    if status.is_informational() { Err(Misuse::Status) } else { Ok(()) }
}

/// Checks that a request has one Host, and a valid one (RFC 9110 §7.2): `first` is the first of `hosts`
/// fields. Over HTTP/2 it becomes the authority.
///
/// # Errors
/// [`Misuse::Host`] unless there is exactly one; [`Misuse::HostInvalid`] if it is malformed.
#[inline]
pub(crate) fn check_host(first: Option<&[u8]>, hosts: u32) -> Result<(), Misuse> {
    match first {
        Some(host) if hosts == 1 && grammar::is_host(host) => Ok(()),
        Some(_) if hosts == 1 => Err(Misuse::HostInvalid),
        _ => Err(Misuse::Host),
    }
}

/// Checks that a request has a target, in a form that fits its method (RFC 9110 §7.1, RFC 9112 §3.2; RFC
/// 8441 §4 for an extended CONNECT, which names a path).
///
/// # Errors
/// [`Misuse::Target`] if not.
#[inline]
pub(crate) fn check_target(head: &RequestHead) -> Result<(), Misuse> {
    let is_connect = head.method == Method::CONNECT;
    let fits = match head.form {
        TargetForm::Authority => is_connect && head.protocol.is_none(),
        TargetForm::Asterisk => head.method == Method::OPTIONS,
        TargetForm::Origin | TargetForm::Absolute => is_connect == head.protocol.is_some(),
    };
    if fits && !head.target.is_empty() { Ok(()) } else { Err(Misuse::Target) }
}

impl RequestHead {
    /// Whether the client waits for a 100 before it sends the content (RFC 9110 §10.1.1), if there is any.
    ///
    /// # Errors
    /// [`Violation::Expectation`] if the request has another expectation, which may be refused by 417.
    pub fn expects_continue(&self) -> Result<bool, Violation> {
        self.fields
            .all("expect")
            .try_fold(false, |expects, value| Ok(expects | expects_continue(value)?))
    }
}

/// Whether the value of an Expect, a list (RFC 9110 §10.1.1), has 100-continue in it.
///
/// # Errors
/// [`Violation::Expectation`] if it has any other item.
pub(crate) fn expects_continue(value: &[u8]) -> Result<bool, Violation> {
    grammar::list(value).try_fold(false, |_, expectation| {
        match expectation.eq_ignore_ascii_case(b"100-continue") {
            true => Ok(true),
            false => Err(Violation::Expectation),
        }
    })
}

impl BodySize {
    /// The announced size of a body whose caller may have declared a Content-Length in `fields`.
    ///
    /// RFC 9110 §8.6: "a sender MUST NOT forward a message with a Content-Length header field value that
    /// is known to be incorrect". To replace the caller's number would hide a defect of the caller, whose
    /// content may be cut or mixed up: so it is refused.
    ///
    /// # Errors
    /// [`Misuse::ContentLength`] if the declared length is malformed, or is not that of the body.
    #[inline]
    pub(crate) fn declared_by(self, fields: &Fields) -> Result<Self, Misuse> {
        if fields.is_empty() {
            return Ok(self);
        }
        match (self, declared_length(fields)?) {
            (size, None) => Ok(size),
            (Self::Exact(known), Some(declared)) if known != declared => Err(Misuse::ContentLength),
            (_, Some(declared)) => Ok(Self::Exact(declared)),
        }
    }

    /// The size that a request announces, if any: without content, only if its method gives content a
    /// meaning or the caller declared a Content-Length (RFC 9110 §8.6), which is `declares`.
    ///
    /// # Errors
    /// As [`BodySize::declared_by`].
    #[inline]
    pub(crate) fn announced_by_request(
        self,
        method: &Method,
        fields: &Fields,
        declares: bool,
    ) -> Result<Option<Self>, Misuse> {
        let announced = if declares { self.declared_by(fields)? } else { self };
        let is_announced = self != Self::Exact(0)
            || match *method {
                Method::POST | Method::PUT | Method::PATCH => true,
                Method::CONNECT => false,
                _ => declares,
            };
        Ok(is_announced.then_some(announced))
    }
}

/// The Content-Length that the caller declared, if any: RFC 9110 §8.6.
///
/// # Errors
/// [`Misuse::ContentLength`] if it is not a number, or several are declared that differ.
fn declared_length(fields: &Fields) -> Result<Option<u64>, Misuse> {
    let mut declared = None;
    for value in fields.all("content-length") {
        let length = grammar::length(value).ok_or(Misuse::ContentLength)?;
        if declared.replace(length).is_some_and(|other| other != length) {
            return Err(Misuse::ContentLength);
        }
    }
    Ok(declared)
}
