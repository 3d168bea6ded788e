//! [`Fault`]: what a peer did against the protocol, with the close code that answers it.

use std::fmt;

use crate::machine::code::CloseCode;

/// The peer broke RFC 6455 or RFC 7692, or went past a limit.
///
/// It is answered by a Close frame with [`Fault::close_code`], behind which nothing is read any more (RFC 6455
/// §7.1.7). Its text names the section with the rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
// A word: what holds one among other things, as an event does, is moved by words.
#[repr(usize)]
pub enum Fault {
    /// A reserved bit is set that no extension gives a meaning, or in a frame where it has none.
    ReservedBit,
    /// The opcode is none that is defined.
    ReservedOpcode,
    /// A control frame is a fragment.
    ControlFragmented,
    /// The payload of a control frame has more than 125 bytes.
    ControlTooLong,
    /// A client's frame is not masked.
    MaskMissing,
    /// A server's frame is masked.
    MaskForbidden,
    /// The length is encoded in more bytes than it needs.
    LengthNotMinimal,
    /// The length has its most significant bit set.
    LengthTooLarge,
    /// A continuation frame continues no message.
    ContinuationUnexpected,
    /// A message begins before the one under way has ended.
    ContinuationMissing,
    /// The payload of a Close frame is a single byte.
    CloseTooShort,
    /// The status code of a Close frame is not one that may be sent.
    CloseCode,
    /// The reason of a Close frame is not UTF-8.
    CloseReason,
    /// A text message is not UTF-8.
    Text,
    /// A compressed message is not DEFLATE, or ends within a block.
    Deflate,
    /// A frame is larger than the limit.
    FrameTooLarge,
    /// A message is larger than the limit.
    MessageTooLarge,
    /// A message has begun and takes longer than the limit.
    MessageTooSlow,
}

impl Fault {
    /// Each of them.
    pub const ALL: &'static [Self] = &[
        Self::ReservedBit,
        Self::ReservedOpcode,
        Self::ControlFragmented,
        Self::ControlTooLong,
        Self::MaskMissing,
        Self::MaskForbidden,
        Self::LengthNotMinimal,
        Self::LengthTooLarge,
        Self::ContinuationUnexpected,
        Self::ContinuationMissing,
        Self::CloseTooShort,
        Self::CloseCode,
        Self::CloseReason,
        Self::Text,
        Self::Deflate,
        Self::FrameTooLarge,
        Self::MessageTooLarge,
        Self::MessageTooSlow,
    ];

    /// The code of the Close frame that answers it (RFC 6455 §7.4.1).
    pub const fn close_code(self) -> CloseCode {
        match self {
            Self::ReservedBit
            | Self::ReservedOpcode
            | Self::ControlFragmented
            | Self::ControlTooLong
            | Self::MaskMissing
            | Self::MaskForbidden
            | Self::LengthNotMinimal
            | Self::LengthTooLarge
            | Self::ContinuationUnexpected
            | Self::ContinuationMissing
            | Self::CloseTooShort
            | Self::CloseCode => CloseCode::PROTOCOL_ERROR,
            Self::CloseReason | Self::Text | Self::Deflate => CloseCode::INVALID_DATA,
            Self::FrameTooLarge | Self::MessageTooLarge => CloseCode::TOO_LARGE,
            Self::MessageTooSlow => CloseCode::POLICY,
        }
    }

    const fn text(self) -> &'static str {
        match self {
            Self::ReservedBit => {
                "a reserved bit is set in a frame where it has no meaning (RFC 6455 §5.2)"
            }
            Self::ReservedOpcode => "the opcode of a frame is not defined (RFC 6455 §5.2)",
            Self::ControlFragmented => "a control frame is fragmented (RFC 6455 §5.5)",
            Self::ControlTooLong => "a control frame has more than 125 bytes (RFC 6455 §5.5)",
            Self::MaskMissing => "a frame of a client is not masked (RFC 6455 §5.1)",
            Self::MaskForbidden => "a frame of a server is masked (RFC 6455 §5.1)",
            Self::LengthNotMinimal => "a length takes more bytes than it needs (RFC 6455 §5.2)",
            Self::LengthTooLarge => "a length has more than 63 bits (RFC 6455 §5.2)",
            Self::ContinuationUnexpected => {
                "a continuation frame continues no message (RFC 6455 §5.4)"
            }
            Self::ContinuationMissing => {
                "a message begins before the one under way has ended (RFC 6455 §5.4)"
            }
            Self::CloseTooShort => "a Close frame has a single byte (RFC 6455 §5.5.1)",
            Self::CloseCode => "the code of a Close frame may not be sent (RFC 6455 §7.4)",
            Self::CloseReason => "the reason of a Close frame is not UTF-8 (RFC 6455 §5.5.1)",
            Self::Text => "a text message is not UTF-8 (RFC 6455 §8.1)",
            Self::Deflate => "a compressed message is not DEFLATE (RFC 7692 §7.2.2)",
            Self::FrameTooLarge => "a frame is larger than the limit",
            Self::MessageTooLarge => "a message is larger than the limit",
            Self::MessageTooSlow => "a message takes longer than the limit",
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

impl std::error::Error for Fault {}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 6455 §5.5: the reason that goes with the code is the text, in a control frame.
    #[test]
    fn every_text_fits_into_a_close_frame() {
        for fault in Fault::ALL {
            let text = fault.to_string();
            assert!(!text.is_empty() && text.len() <= 123, "{fault:?}: {} bytes", text.len());
        }
    }
}
