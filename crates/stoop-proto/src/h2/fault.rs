//! What a peer can do wrong over HTTP/2, whether a stream or the connection ends of it, and with
//! which code.

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
    /// A frame has a length that its type does not have.
    FrameSize,
    /// A frame that belongs to a stream came for the connection.
    OnConnection,
    /// A frame that belongs to the connection came for a stream.
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
    /// More DATA for streams that were given up than their windows had allowed before.
    LateContent,
    /// The connection's window grew beyond 2^31−1.
    WindowOverflow,
    /// WINDOW_UPDATE of the connection by nothing.
    WindowUnchanged,
    /// GOAWAY with a higher last stream than before.
    GoAway,
    /// PRIORITY_UPDATE for a stream that it may not name.
    PriorityUpdate,
    /// A header block beyond four times the limit, or in too many frames.
    BlockTooLarge,
    /// More settings in one frame than anybody has use for.
    TooManySettings,
    /// Streams reset, or made to be reset, faster than they are of use.
    TooManyResets,
    /// Frames that ask for work and bring nothing.
    TooMuchOverhead,
    /// The connection ended while streams were open.
    CutShort,
    /// A field name that is no lower-case token.
    FieldName,
    /// A field value with NUL, CR or LF in it, or whitespace around it.
    FieldValue,
    /// A field that belongs to HTTP/1 connections.
    ConnectionField,
    /// A pseudo-field that is not known, or not for this message.
    PseudoUnknown,
    /// A pseudo-field behind a field.
    PseudoLate,
    /// A pseudo-field that is given twice.
    PseudoRepeated,
    /// A pseudo-field that has to be there and is not.
    PseudoMissing,
    /// The method is no token.
    Method,
    /// The scheme is none.
    Scheme,
    /// The path is empty, does not begin with a slash, or has a character that no URI may have.
    Path,
    /// The authority is no host, has user information, or is not what Host says.
    Authority,
    /// CONNECT with a scheme or path, or the extended one without or uninvited.
    Connect,
    /// Header or trailer sections within a tunnel.
    TunnelFields,
    /// The status is no three-digit number, or 101.
    Status,
    /// Content-Length is no number, or several, or not what DATA adds up to.
    Length,
    /// An interim response that ends the stream.
    InterimEnds,
    /// More interim responses than the limit.
    TooManyInterim,
    /// Content ahead of a response.
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
    /// WINDOW_UPDATE of the stream by nothing.
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

    /// Each of them, for tables and tests.
    pub fn all() -> impl Iterator<Item = Self> {
        ROWS.iter().map(|row| row.fault)
    }

    /// Whether the connection ends of it, and not only a stream.
    pub const fn ends_connection(self) -> bool {
        self.row().ends_connection
    }

    /// What GOAWAY or RST_STREAM says.
    pub const fn code(self) -> ErrorCode {
        self.row().code
    }

    /// Where the rule stands.
    pub const fn section(self) -> &'static str {
        self.row().section
    }

    /// What happened, short and in lower case.
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
