//! Errors: [`Violation`], the peer's, and [`Misuse`], the caller's; with the consequence of each.

use std::fmt;

use http::StatusCode;

/// The peer broke the protocol or went past a limit.
///
/// [`Violation::answer`] is the status that a server sends before it closes; the text of each violation
/// names the section with the rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Violation {
    /// The request line is not `method SP request-target SP HTTP-version`.
    RequestLine,
    /// The request line is longer than the limit.
    RequestLineTooLong,
    /// The request-target has a character that no URI may have, or is none of the four forms.
    Target,
    /// The request-target's form does not belong to the method.
    TargetForm,
    /// The major version is not 1.
    Version,
    /// The status line is not `HTTP-version SP status-code SP [reason-phrase]`.
    StatusLine,
    /// A line ends in LF without CR before it.
    BareLf,
    /// A field name is not a token.
    FieldName,
    /// A field value has a control character in it.
    FieldValue,
    /// Whitespace follows a field name, where only the colon may.
    SpaceBeforeColon,
    /// A field line is continued on the next line.
    ObsFold,
    /// The head is larger than the limit.
    HeadTooLarge,
    /// The head has more field lines than the limit.
    TooManyFields,
    /// An HTTP/1.1 request has no Host.
    HostMissing,
    /// A request has more than one Host.
    HostRepeated,
    /// Host is not `uri-host [":" port]`.
    HostInvalid,
    /// Content-Length is not one decimal number.
    LengthInvalid,
    /// Several lengths were given, and they differ, or this peer may not repeat one.
    LengthRepeated,
    /// One message has both Content-Length and Transfer-Encoding.
    LengthAndCoding,
    /// An HTTP/1.0 message has a Transfer-Encoding.
    CodingInOldVersion,
    /// A transfer coding is not implemented here.
    CodingUnknown,
    /// Chunked is given, but not as the last transfer coding.
    ChunkedNotLast,
    /// Chunked is applied more than once, or has parameters.
    ChunkedRepeated,
    /// Transfer-Encoding is not a list of codings.
    CodingInvalid,
    /// An expectation is not 100-continue.
    Expectation,
    /// A chunk size is not a hexadecimal number.
    ChunkSize,
    /// A chunk size does not fit into 64 bits, or has more than 16 digits.
    ChunkSizeOverflow,
    /// A chunk extension has a control character in it, or a bare CR or LF.
    ChunkExtension,
    /// A chunk-size line, or all chunk extensions of the body, are longer than the limit.
    ChunkExtensionsTooLong,
    /// Chunk data is not followed by CRLF.
    ChunkEnd,
    /// The trailer section is larger than the limit.
    TrailersTooLarge,
    /// The content is larger than the limit.
    BodyTooLarge,
    /// A 101 answers a request that did not offer to switch, or one that is not completely sent.
    SwitchUnasked,
    /// There are more interim responses than the limit.
    TooManyInterim,
    /// Bytes arrived that answer no request.
    Unsolicited,
    /// The connection ended within a head.
    HeadCutShort,
    /// The connection ended before the body did.
    BodyCutShort,
}

impl Violation {
    /// All violations, for tables and tests.
    pub const ALL: &'static [Self] = &[
        Self::RequestLine,
        Self::RequestLineTooLong,
        Self::Target,
        Self::TargetForm,
        Self::Version,
        Self::StatusLine,
        Self::BareLf,
        Self::FieldName,
        Self::FieldValue,
        Self::SpaceBeforeColon,
        Self::ObsFold,
        Self::HeadTooLarge,
        Self::TooManyFields,
        Self::HostMissing,
        Self::HostRepeated,
        Self::HostInvalid,
        Self::LengthInvalid,
        Self::LengthRepeated,
        Self::LengthAndCoding,
        Self::CodingInOldVersion,
        Self::CodingUnknown,
        Self::ChunkedNotLast,
        Self::ChunkedRepeated,
        Self::CodingInvalid,
        Self::Expectation,
        Self::ChunkSize,
        Self::ChunkSizeOverflow,
        Self::ChunkExtension,
        Self::ChunkExtensionsTooLong,
        Self::ChunkEnd,
        Self::TrailersTooLarge,
        Self::BodyTooLarge,
        Self::SwitchUnasked,
        Self::TooManyInterim,
        Self::Unsolicited,
        Self::HeadCutShort,
        Self::BodyCutShort,
    ];

    /// The status with which a server answers before it closes; `None` if the violation is a server's.
    pub const fn answer(self) -> Option<StatusCode> {
        match self {
            Self::RequestLine
            | Self::Target
            | Self::TargetForm
            | Self::BareLf
            | Self::FieldName
            | Self::FieldValue
            | Self::SpaceBeforeColon
            | Self::ObsFold
            | Self::HostMissing
            | Self::HostRepeated
            | Self::HostInvalid
            | Self::LengthInvalid
            | Self::LengthRepeated
            | Self::LengthAndCoding
            | Self::CodingInOldVersion
            | Self::ChunkedNotLast
            | Self::ChunkedRepeated
            | Self::CodingInvalid
            | Self::ChunkSize
            | Self::ChunkSizeOverflow
            | Self::ChunkExtension
            | Self::ChunkExtensionsTooLong
            | Self::ChunkEnd
            | Self::HeadCutShort
            | Self::BodyCutShort => Some(StatusCode::BAD_REQUEST),
            Self::RequestLineTooLong => Some(StatusCode::URI_TOO_LONG),
            Self::HeadTooLarge | Self::TooManyFields | Self::TrailersTooLarge => {
                Some(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE)
            }
            Self::BodyTooLarge => Some(StatusCode::PAYLOAD_TOO_LARGE),
            Self::Expectation => Some(StatusCode::EXPECTATION_FAILED),
            Self::CodingUnknown => Some(StatusCode::NOT_IMPLEMENTED),
            Self::Version => Some(StatusCode::HTTP_VERSION_NOT_SUPPORTED),
            Self::StatusLine | Self::SwitchUnasked | Self::TooManyInterim | Self::Unsolicited => {
                None
            }
        }
    }

    /// The section with the rule, such as `RFC 9112 §3`.
    pub const fn section(self) -> &'static str {
        match self {
            Self::RequestLine | Self::RequestLineTooLong => "RFC 9112 §3",
            Self::Target | Self::TargetForm => "RFC 9112 §3.2",
            Self::Version => "RFC 9110 §2.5",
            Self::StatusLine => "RFC 9112 §4",
            Self::BareLf => "RFC 9112 §2.2",
            Self::FieldName | Self::SpaceBeforeColon => "RFC 9112 §5.1",
            Self::FieldValue => "RFC 9110 §5.5",
            Self::ObsFold => "RFC 9112 §5.2",
            Self::HeadTooLarge | Self::TooManyFields | Self::TrailersTooLarge => "RFC 6585 §5",
            Self::HostMissing | Self::HostRepeated | Self::HostInvalid => "RFC 9112 §3.2",
            Self::LengthInvalid | Self::LengthRepeated => "RFC 9110 §8.6",
            Self::LengthAndCoding | Self::ChunkedNotLast => "RFC 9112 §6.3",
            Self::CodingInOldVersion
            | Self::CodingUnknown
            | Self::ChunkedRepeated
            | Self::CodingInvalid => "RFC 9112 §6.1",
            Self::Expectation => "RFC 9110 §10.1.1",
            Self::ChunkSize | Self::ChunkSizeOverflow | Self::ChunkEnd => "RFC 9112 §7.1",
            Self::ChunkExtension | Self::ChunkExtensionsTooLong => "RFC 9112 §7.1.1",
            Self::BodyTooLarge => "RFC 9110 §15.5.14",
            Self::SwitchUnasked => "RFC 9110 §7.8",
            Self::TooManyInterim => "RFC 9110 §15.2",
            Self::Unsolicited => "RFC 9112 §9.2",
            Self::HeadCutShort | Self::BodyCutShort => "RFC 9112 §8",
        }
    }

    /// A description, short and in lower case.
    pub const fn explain(self) -> &'static str {
        match self {
            Self::RequestLine => "the request line is malformed",
            Self::RequestLineTooLong => "the request line is too long",
            Self::Target => "the request target is malformed",
            Self::TargetForm => "the form of the request target does not fit the method",
            Self::Version => "the HTTP version is not 1.x",
            Self::StatusLine => "the status line is malformed",
            Self::BareLf => "a line ends in LF without CR",
            Self::FieldName => "a field name is malformed",
            Self::FieldValue => "a field value contains a control character",
            Self::SpaceBeforeColon => "whitespace follows a field name",
            Self::ObsFold => "a field line is folded",
            Self::HeadTooLarge => "the head is too large",
            Self::TooManyFields => "there are too many field lines",
            Self::HostMissing => "the Host field is missing",
            Self::HostRepeated => "the Host field is repeated",
            Self::HostInvalid => "the Host field is malformed",
            Self::LengthInvalid => "Content-Length is not a number",
            Self::LengthRepeated => "Content-Length is given more than once",
            Self::LengthAndCoding => "Content-Length and Transfer-Encoding are both given",
            Self::CodingInOldVersion => "Transfer-Encoding is given in HTTP/1.0",
            Self::CodingUnknown => "the transfer coding is not implemented",
            Self::ChunkedNotLast => "chunked is not the last transfer coding",
            Self::ChunkedRepeated => "chunked is repeated or has parameters",
            Self::CodingInvalid => "Transfer-Encoding is malformed",
            Self::Expectation => "the expectation is not 100-continue",
            Self::ChunkSize => "a chunk size is malformed",
            Self::ChunkSizeOverflow => "a chunk size is too large a number",
            Self::ChunkExtension => "a chunk extension is malformed",
            Self::ChunkExtensionsTooLong => "the chunk extensions are too long",
            Self::ChunkEnd => "chunk data is not followed by CRLF",
            Self::TrailersTooLarge => "the trailer section is too large",
            Self::BodyTooLarge => "the body is too large",
            Self::SwitchUnasked => "the server switches protocols unasked",
            Self::TooManyInterim => "there are too many interim responses",
            Self::Unsolicited => "bytes arrived that answer no request",
            Self::HeadCutShort => "the connection ended within a head",
            Self::BodyCutShort => "the connection ended before the body was complete",
        }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.explain(), self.section())
    }
}

impl std::error::Error for Violation {}

/// The caller asked for something that would break the protocol. A peer cannot cause it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Misuse {
    /// A field name is not a token, or is empty.
    FieldName,
    /// A field value has a control character in it, such as CR or LF.
    FieldValue,
    /// A request-target has a character that no URI may have, such as a space.
    Target,
    /// An extended CONNECT over a connection of HTTP/1.
    ExtendedConnect,
    /// A request does not have exactly one Host.
    Host,
    /// Host is not `uri-host [":" port]`.
    HostInvalid,
    /// The call is not due now: the message that it continues was not begun, or has ended.
    Order,
    /// Content-Length is no number, is given several times and differs, or is not the size of the body,
    /// where that is known.
    ContentLength,
    /// The body is longer than its announced length.
    BodyTooLong,
    /// The body is shorter than its announced length.
    BodyTooShort,
    /// A 2xx to CONNECT, or a 101, is not followed by a tunnel.
    Tunnel,
    /// The status is 1xx where a final one is needed, or the reverse.
    Status,
    /// The field section grew beyond 4 GiB or the limit on fields.
    TooLarge,
}

impl fmt::Display for Misuse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::FieldName => "the field name is not a token (RFC 9110 §5.1)",
            Self::FieldValue => "the field value contains a control character (RFC 9110 §5.5)",
            Self::Target => "the request target contains a character no URI may have",
            Self::ExtendedConnect => {
                "the connection is one of HTTP/1.1, and an extended CONNECT is one of HTTP/2 alone (RFC 8441 §4)"
            }
            Self::Host => "a request needs exactly one Host field (RFC 9112 §3.2)",
            Self::HostInvalid => {
                "the Host field is not a host with or without a port (RFC 9110 §7.2)"
            }
            Self::Order => "this part of the message is not due now",
            Self::ContentLength => {
                "the Content-Length is no number, or not that of the content (RFC 9110 §8.6)"
            }
            Self::BodyTooLong => "the body is longer than its announced length",
            Self::BodyTooShort => "the body is shorter than its announced length",
            Self::Tunnel => "this status opens a tunnel, and none was given",
            Self::Status => "a status of this class is not allowed here",
            Self::TooLarge => "the field section is too large",
        })
    }
}

impl std::error::Error for Misuse {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_violation_explains_itself_and_names_its_section() {
        for violation in Violation::ALL {
            let text = violation.to_string();
            assert!(text.contains("(RFC ") && text.contains('§'), "{violation:?}: {text}");
            assert!(text.starts_with(|c: char| c.is_lowercase() || text.starts_with(['C', 'T'])));
        }
    }

    #[test]
    fn answers_are_client_errors_or_501_or_505() {
        for violation in Violation::ALL {
            if let Some(status) = violation.answer() {
                assert!(status.is_client_error() || matches!(status.as_u16(), 501 | 505));
            }
        }
    }
}
