//! The table of faults: the consequence, code, section and text of each.

use super::Fault;
use crate::h2::code::ErrorCode;

/// A row of the table: whether a fault ends the connection, its code, section and text.
pub(super) struct FaultRow {
    pub(super) fault: Fault,
    pub(super) ends_connection: bool,
    pub(super) code: ErrorCode,
    pub(super) section: &'static str,
    pub(super) explain: &'static str,
}

const fn stream(
    fault: Fault,
    code: ErrorCode,
    section: &'static str,
    explain: &'static str,
) -> FaultRow {
    FaultRow { fault, ends_connection: false, code, section, explain }
}

const fn connection(
    fault: Fault,
    code: ErrorCode,
    section: &'static str,
    explain: &'static str,
) -> FaultRow {
    FaultRow { fault, ends_connection: true, code, section, explain }
}

/// All rows, in the order of [`Fault`].
pub(super) const ROWS: &[FaultRow] = &[
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
        "more came for a stream that had ended",
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
        Fault::LateContent,
        ErrorCode::FLOW_CONTROL_ERROR,
        "RFC 9113 §6.9",
        "more was sent for streams that were reset than their windows had allowed",
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
    stream(
        Fault::TunnelFields,
        ErrorCode::PROTOCOL_ERROR,
        "RFC 9113 §8.5",
        "a tunnel carries fields",
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
