//! [`AgreedDeflate`]: what both ends have agreed on.

/// What an end has agreed to compress and decompress with (RFC 7692 §7.1).
///
/// [`Deflate::accept`](crate::Deflate::accept) and [`Deflate::verify`](crate::Deflate::verify) make it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AgreedDeflate {
    /// What this end sends.
    pub(crate) outgoing: Direction,
    /// What it receives.
    pub(crate) incoming: Direction,
    /// The effort of compressing, 1 to 9.
    pub(crate) level: u8,
    /// Bytes below which a message is not compressed.
    pub(crate) message_bytes_min: usize,
}

/// The terms of one direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Direction {
    /// A message may refer to those before it.
    pub(crate) keeps_context: bool,
    /// The base-2 logarithm of the window, 8 to 15.
    pub(crate) window_bits: u8,
}

impl AgreedDeflate {
    /// Whether the window of what this end sends outlives a message.
    pub fn keeps_outgoing_context(&self) -> bool {
        self.outgoing.keeps_context
    }

    /// Whether the window of what this end receives outlives a message.
    pub fn keeps_incoming_context(&self) -> bool {
        self.incoming.keeps_context
    }
}
