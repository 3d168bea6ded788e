//! [`Fault`]: a peer's errors over HTTP/2, whether each ends a stream or the connection, and with which
//! code.

use std::fmt;

use crate::h2::code::ErrorCode;

mod table;

use table::{FaultRow, ROWS};

/// The peer broke the protocol or went past a limit. Ends a stream where RFC 9113 allows it (§5.4.2),
/// the connection where it must (§5.4.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Fault {
    /// The connection does not begin with the client's preface.
    Preface,
    /// The first frame is not SETTINGS.
    NoSettings,
    /// A frame is larger than we allow.
    FrameTooLarge,
    /// A frame has a length that does not fit its type.
    FrameSize,
    /// A frame of a type that belongs to a stream has stream identifier 0.
    OnConnection,
    /// A frame of a type that belongs to the connection has a stream identifier.
    OnStream,
    /// Padding as long as the frame or longer.
    Padding,
    /// A header block is interrupted by another frame.
    Interleaved,
    /// CONTINUATION without a header block to continue.
    Continuation,
    /// A header block that cannot be decompressed.
    Compression,
    /// A frame for a stream that was not opened.
    StreamIdle,
    /// A stream with an identifier that the peer may not open, or not any more.
    StreamId,
    /// Headers for a stream that had ended.
    StreamEnded,
    /// PUSH_PROMISE, to a server or to a client that does not allow it.
    Push,
    /// A setting with a value it may not have.
    Setting,
    /// SETTINGS_INITIAL_WINDOW_SIZE beyond 2^31−1, or one that makes a window larger than that.
    InitialWindow,
    /// Our SETTINGS were not acknowledged in time.
    SettingsIgnored,
    /// A PING of ours was not answered in time.
    PingIgnored,
    /// More DATA than the connection's window allowed.
    WindowExceeded,
    /// More DATA for streams that were reset than their windows had allowed before.
    LateContent,
    /// The connection's window grew beyond 2^31−1.
    WindowOverflow,
    /// WINDOW_UPDATE of the connection by 0.
    WindowUnchanged,
    /// GOAWAY with a higher last stream than before.
    GoAway,
    /// PRIORITY_UPDATE for a stream that it may not name.
    PriorityUpdate,
    /// A header block beyond four times the limit, or in too many frames.
    BlockTooLarge,
    /// More than 32 settings in one frame.
    TooManySettings,
    /// Streams are reset, or made to be reset, faster than the limits allow.
    TooManyResets,
    /// Frames that cause work and carry no message, more than the limit allows.
    TooMuchOverhead,
    /// The connection ended while streams were open.
    CutShort,
    /// A field name that is not a lower-case token.
    FieldName,
    /// A field value with NUL, CR or LF in it, or whitespace around it.
    FieldValue,
    /// A field that belongs to HTTP/1 connections.
    ConnectionField,
    /// A pseudo-field that is unknown, or not allowed in this message.
    PseudoUnknown,
    /// A pseudo-field behind a field.
    PseudoLate,
    /// A pseudo-field that is given twice.
    PseudoRepeated,
    /// A required pseudo-field is missing.
    PseudoMissing,
    /// The method is not a token.
    Method,
    /// The scheme is malformed.
    Scheme,
    /// The path is empty, does not begin with a slash, or has a character that no URI may have.
    Path,
    /// The authority is malformed, has user information, or differs from Host.
    Authority,
    /// CONNECT with a scheme or path, or an extended CONNECT without them or without permission.
    Connect,
    /// Header or trailer sections within a tunnel.
    TunnelFields,
    /// The status is not a three-digit number, or is 101.
    Status,
    /// Content-Length is not a number, or repeated, or not the length of the content.
    Length,
    /// An interim response that ends the stream.
    InterimEnds,
    /// More interim responses than the limit.
    TooManyInterim,
    /// Content before the head of a response.
    HeadMissing,
    /// Trailers that do not end the stream.
    TrailersOpen,
    /// A field section larger than the limit.
    HeadTooLarge,
    /// Content larger than the limit.
    BodyTooLarge,
    /// More streams at a time than we allow.
    TooManyStreams,
    /// A frame for a stream that the peer had ended.
    AfterEnd,
    /// More DATA than the stream's window allowed.
    StreamWindowExceeded,
    /// The stream's window grew beyond 2^31−1.
    StreamWindowOverflow,
    /// WINDOW_UPDATE of the stream by 0.
    StreamWindowUnchanged,
    /// PRIORITY that is not five bytes.
    PrioritySize,
    /// A stream that depends on itself.
    PrioritySelf,
}

impl Fault {
    const fn row(self) -> &'static FaultRow {
        &ROWS[self as usize]
    }

    /// All faults, for tables and tests.
    pub fn all() -> impl Iterator<Item = Self> {
        ROWS.iter().map(|row| row.fault)
    }

    /// Whether the fault ends the connection, and not only a stream.
    pub const fn ends_connection(self) -> bool {
        self.row().ends_connection
    }

    /// The error code that is sent in GOAWAY or RST_STREAM.
    pub const fn code(self) -> ErrorCode {
        self.row().code
    }

    /// The section with the rule, such as `RFC 9113 §6.9`.
    pub const fn section(self) -> &'static str {
        self.row().section
    }

    /// A description, short and in lower case.
    pub const fn explain(self) -> &'static str {
        self.row().explain
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.explain(), self.section())
    }
}

impl std::error::Error for Fault {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_row_stands_at_its_place() {
        for (place, row) in ROWS.iter().enumerate() {
            assert_eq!(row.fault as usize, place, "{:?}", row.fault);
            assert!(row.section.starts_with("RFC ") && row.section.contains('§'));
        }
    }

    #[test]
    fn a_stream_is_never_ended_gracefully_for_a_fault() {
        for fault in Fault::all().filter(|fault| !fault.ends_connection()) {
            assert_ne!(fault.code(), ErrorCode::NO_ERROR, "{fault:?}");
        }
    }
}
