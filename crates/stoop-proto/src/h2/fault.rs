//! What a peer can do wrong over HTTP/2, whether a stream or the connection ends of it, and with
//! which code.

use std::fmt;

use crate::h2::code::ErrorCode;

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

/// What is known of each: whether it ends the connection, the code, the section, the text.
struct Row {
    fault: Fault,
    ends_connection: bool,
    code: ErrorCode,
    section: &'static str,
    explain: &'static str,
}

const fn stream(
    fault: Fault,
    code: ErrorCode,
    section: &'static str,
    explain: &'static str,
) -> Row {
    Row { fault, ends_connection: false, code, section, explain }
}

const fn connection(
    fault: Fault,
    code: ErrorCode,
    section: &'static str,
    explain: &'static str,
) -> Row {
    Row { fault, ends_connection: true, code, section, explain }
}

/// In the order of the enumeration.
const ROWS: &[Row] = &[
    connection(
        Fault::Preface,
        ErrorCode::PROTOCOL_ERROR,
        "RFC 9113 §3.4",
        "the connection preface is malformed",
    ),
    connection(
        Fault::NoSettings,
        ErrorCode::PROTOCOL_ERROR,
        "RFC 9113 §3.4",
        "the first frame is not SETTINGS",
    ),
    connection(
        Fault::FrameTooLarge,
        ErrorCode::FRAME_SIZE_ERROR,
        "RFC 9113 §4.2",
        "a frame is larger than SETTINGS_MAX_FRAME_SIZE",
    ),
    connection(
        Fault::FrameSize,
        ErrorCode::FRAME_SIZE_ERROR,
        "RFC 9113 §4.2",
        "a frame's length does not fit its type",
    ),
    connection(
        Fault::OnConnection,
        ErrorCode::PROTOCOL_ERROR,
        "RFC 9113 §5.1.1",
        "a frame of a stream names none",
    ),
    connection(
        Fault::OnStream,
        ErrorCode::PROTOCOL_ERROR,
        "RFC 9113 §6",
        "a frame of the connection names a stream",
    ),
    connection(
        Fault::Padding,
        ErrorCode::PROTOCOL_ERROR,
        "RFC 9113 §6.1",
        "padding is longer than its frame",
    ),
    connection(
        Fault::Interleaved,
        ErrorCode::PROTOCOL_ERROR,
        "RFC 9113 §6.10",
        "a header block is interrupted by another frame",
    ),
    connection(
        Fault::Continuation,
        ErrorCode::PROTOCOL_ERROR,
        "RFC 9113 §6.10",
        "CONTINUATION continues nothing",
    ),
    connection(
        Fault::Compression,
        ErrorCode::COMPRESSION_ERROR,
        "RFC 9113 §4.3",
        "a header block cannot be decompressed",
    ),
    connection(
        Fault::StreamIdle,
        ErrorCode::PROTOCOL_ERROR,
        "RFC 9113 §5.1",
        "a frame came for an idle stream",
    ),
    connection(
        Fault::StreamId,
        ErrorCode::PROTOCOL_ERROR,
        "RFC 9113 §5.1.1",
        "a stream identifier is not the peer's to open",
    ),
    connection(
        Fault::StreamEnded,
        ErrorCode::STREAM_CLOSED,
        "RFC 9113 §5.1",
        "headers came for a stream that had ended",
    ),
    connection(Fault::Push, ErrorCode::PROTOCOL_ERROR, "RFC 9113 §8.4", "a push was not allowed"),
    connection(
        Fault::Setting,
        ErrorCode::PROTOCOL_ERROR,
        "RFC 9113 §6.5.2",
        "a setting has a value it may not have",
    ),
    connection(
        Fault::InitialWindow,
        ErrorCode::FLOW_CONTROL_ERROR,
        "RFC 9113 §6.5.2",
        "SETTINGS_INITIAL_WINDOW_SIZE is too large",
    ),
    connection(
        Fault::SettingsIgnored,
        ErrorCode::SETTINGS_TIMEOUT,
        "RFC 9113 §6.5.3",
        "SETTINGS were not acknowledged in time",
    ),
    connection(
        Fault::PingIgnored,
        ErrorCode::NO_ERROR,
        "RFC 9113 §6.7",
        "a PING was not answered in time",
    ),
    connection(
        Fault::WindowExceeded,
        ErrorCode::FLOW_CONTROL_ERROR,
        "RFC 9113 §6.9",
        "more was sent than the connection's window allows",
    ),
    connection(
        Fault::WindowOverflow,
        ErrorCode::FLOW_CONTROL_ERROR,
        "RFC 9113 §6.9.1",
        "the connection's window is too large",
    ),
    connection(
        Fault::WindowUnchanged,
        ErrorCode::PROTOCOL_ERROR,
        "RFC 9113 §6.9",
        "the connection's window is updated by nothing",
    ),
    connection(
        Fault::GoAway,
        ErrorCode::PROTOCOL_ERROR,
        "RFC 9113 §6.8",
        "the last stream of GOAWAY rose",
    ),
    connection(
        Fault::PriorityUpdate,
        ErrorCode::PROTOCOL_ERROR,
        "RFC 9218 §7.1",
        "PRIORITY_UPDATE names a stream it may not",
    ),
    connection(
        Fault::BlockTooLarge,
        ErrorCode::ENHANCE_YOUR_CALM,
        "RFC 9113 §10.5.1",
        "a header block is far too large",
    ),
    connection(
        Fault::TooManySettings,
        ErrorCode::ENHANCE_YOUR_CALM,
        "RFC 9113 §10.5",
        "there are too many settings in one frame",
    ),
    connection(
        Fault::TooManyResets,
        ErrorCode::ENHANCE_YOUR_CALM,
        "RFC 9113 §10.5",
        "too many streams are reset",
    ),
    connection(
        Fault::TooMuchOverhead,
        ErrorCode::ENHANCE_YOUR_CALM,
        "RFC 9113 §10.5",
        "too many frames bring nothing",
    ),
    connection(
        Fault::CutShort,
        ErrorCode::NO_ERROR,
        "RFC 9113 §5.4",
        "the connection ended while streams were open",
    ),
    stream(
        Fault::FieldName,
        ErrorCode::PROTOCOL_ERROR,
        "RFC 9113 §8.2.1",
        "a field name is malformed",
    ),
    stream(
        Fault::FieldValue,
        ErrorCode::PROTOCOL_ERROR,
        "RFC 9113 §8.2.1",
        "a field value is malformed",
    ),
    stream(
        Fault::ConnectionField,
        ErrorCode::PROTOCOL_ERROR,
        "RFC 9113 §8.2.2",
        "a connection-specific field is given",
    ),
    stream(
        Fault::PseudoUnknown,
        ErrorCode::PROTOCOL_ERROR,
        "RFC 9113 §8.3",
        "a pseudo-field is not one of this message",
    ),
    stream(
        Fault::PseudoLate,
        ErrorCode::PROTOCOL_ERROR,
        "RFC 9113 §8.3",
        "a pseudo-field follows a field",
    ),
    stream(
        Fault::PseudoRepeated,
        ErrorCode::PROTOCOL_ERROR,
        "RFC 9113 §8.3",
        "a pseudo-field is repeated",
    ),
    stream(
        Fault::PseudoMissing,
        ErrorCode::PROTOCOL_ERROR,
        "RFC 9113 §8.3.1",
        "a pseudo-field is missing",
    ),
    stream(Fault::Method, ErrorCode::PROTOCOL_ERROR, "RFC 9113 §8.3.1", "the method is malformed"),
    stream(Fault::Scheme, ErrorCode::PROTOCOL_ERROR, "RFC 9113 §8.3.1", "the scheme is malformed"),
    stream(Fault::Path, ErrorCode::PROTOCOL_ERROR, "RFC 9113 §8.3.1", "the path is malformed"),
    stream(
        Fault::Authority,
        ErrorCode::PROTOCOL_ERROR,
        "RFC 9113 §8.3.1",
        "the authority is malformed or not what Host says",
    ),
    stream(
        Fault::Connect,
        ErrorCode::PROTOCOL_ERROR,
        "RFC 9113 §8.5",
        "CONNECT has the wrong pseudo-fields",
    ),
    stream(Fault::Status, ErrorCode::PROTOCOL_ERROR, "RFC 9113 §8.3.2", "the status is malformed"),
    stream(
        Fault::Length,
        ErrorCode::PROTOCOL_ERROR,
        "RFC 9113 §8.1.1",
        "the content is not as long as Content-Length says",
    ),
    stream(
        Fault::InterimEnds,
        ErrorCode::PROTOCOL_ERROR,
        "RFC 9113 §8.1",
        "an interim response ends the stream",
    ),
    stream(
        Fault::TooManyInterim,
        ErrorCode::ENHANCE_YOUR_CALM,
        "RFC 9110 §15.2",
        "there are too many interim responses",
    ),
    stream(
        Fault::HeadMissing,
        ErrorCode::PROTOCOL_ERROR,
        "RFC 9113 §8.1",
        "content comes ahead of the response",
    ),
    stream(
        Fault::TrailersOpen,
        ErrorCode::PROTOCOL_ERROR,
        "RFC 9113 §8.1",
        "trailers do not end the stream",
    ),
    stream(
        Fault::HeadTooLarge,
        ErrorCode::ENHANCE_YOUR_CALM,
        "RFC 9113 §10.5.1",
        "a field section is too large",
    ),
    stream(Fault::BodyTooLarge, ErrorCode::CANCEL, "RFC 9110 §15.5.14", "the content is too large"),
    stream(
        Fault::TooManyStreams,
        ErrorCode::REFUSED_STREAM,
        "RFC 9113 §5.1.2",
        "there are too many streams at a time",
    ),
    stream(
        Fault::AfterEnd,
        ErrorCode::STREAM_CLOSED,
        "RFC 9113 §5.1",
        "a frame came for a stream that had ended",
    ),
    stream(
        Fault::StreamWindowExceeded,
        ErrorCode::FLOW_CONTROL_ERROR,
        "RFC 9113 §6.9",
        "more was sent than the stream's window allows",
    ),
    stream(
        Fault::StreamWindowOverflow,
        ErrorCode::FLOW_CONTROL_ERROR,
        "RFC 9113 §6.9.1",
        "the stream's window is too large",
    ),
    stream(
        Fault::StreamWindowUnchanged,
        ErrorCode::PROTOCOL_ERROR,
        "RFC 9113 §6.9",
        "the stream's window is updated by nothing",
    ),
    stream(
        Fault::PrioritySize,
        ErrorCode::FRAME_SIZE_ERROR,
        "RFC 9113 §6.3",
        "PRIORITY is not five bytes",
    ),
    stream(
        Fault::PrioritySelf,
        ErrorCode::PROTOCOL_ERROR,
        "RFC 7540 §5.3.1",
        "a stream depends on itself",
    ),
];

impl Fault {
    const fn row(self) -> &'static Row {
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
