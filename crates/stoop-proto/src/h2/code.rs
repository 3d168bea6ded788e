//! Error codes of RST_STREAM and GOAWAY: RFC 9113 §7.

use std::fmt;

/// An error code: why a stream or a connection was ended.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct ErrorCode(pub u32);

impl ErrorCode {
    /// No error: a graceful end.
    pub const NO_ERROR: Self = Self(0x00);
    /// The protocol was broken in a way that has no code of its own.
    pub const PROTOCOL_ERROR: Self = Self(0x01);
    /// An internal error of the sender.
    pub const INTERNAL_ERROR: Self = Self(0x02);
    /// More was sent than the windows allowed, or a window grew too large.
    pub const FLOW_CONTROL_ERROR: Self = Self(0x03);
    /// SETTINGS were not acknowledged in time.
    pub const SETTINGS_TIMEOUT: Self = Self(0x04);
    /// A frame came for a stream that had ended.
    pub const STREAM_CLOSED: Self = Self(0x05);
    /// A frame has a size it may not have.
    pub const FRAME_SIZE_ERROR: Self = Self(0x06);
    /// The stream was not processed at all: its request may be retried.
    pub const REFUSED_STREAM: Self = Self(0x07);
    /// The stream is not wanted any more.
    pub const CANCEL: Self = Self(0x08);
    /// A header block could not be decompressed.
    pub const COMPRESSION_ERROR: Self = Self(0x09);
    /// The tunnel of a CONNECT was reset or closed.
    pub const CONNECT_ERROR: Self = Self(0x0a);
    /// The peer causes too much work.
    pub const ENHANCE_YOUR_CALM: Self = Self(0x0b);
    /// The transport is not secure enough.
    pub const INADEQUATE_SECURITY: Self = Self(0x0c);
    /// The exchange is to be done over HTTP/1.1.
    pub const HTTP_1_1_REQUIRED: Self = Self(0x0d);

    const NAMES: [&str; 14] = [
        "NO_ERROR",
        "PROTOCOL_ERROR",
        "INTERNAL_ERROR",
        "FLOW_CONTROL_ERROR",
        "SETTINGS_TIMEOUT",
        "STREAM_CLOSED",
        "FRAME_SIZE_ERROR",
        "REFUSED_STREAM",
        "CANCEL",
        "COMPRESSION_ERROR",
        "CONNECT_ERROR",
        "ENHANCE_YOUR_CALM",
        "INADEQUATE_SECURITY",
        "HTTP_1_1_REQUIRED",
    ];

    /// The name in RFC 9113 §7, if the code is one of those.
    pub fn name(self) -> Option<&'static str> {
        Self::NAMES.get(self.0 as usize).copied()
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "error code {:#x}", self.0),
        }
    }
}

impl fmt::Debug for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
