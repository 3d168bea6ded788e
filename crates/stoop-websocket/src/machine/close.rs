//! The payload of Close frames (RFC 6455 §5.5.1).

use std::fmt;

use crate::machine::code::CloseCode;
use crate::machine::fault::Fault;

/// Bytes of a reason: what a control frame has room for behind the code (RFC 6455 §5.5).
pub const REASON_BYTES_MAX: usize = 123;

/// Why an end closes the connection: the payload of a Close frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CloseReason {
    /// The status code.
    pub code: CloseCode,
    /// A text for logs, of 123 bytes at most; often empty.
    pub text: String,
}

impl CloseReason {
    /// Reads the payload of a Close frame; an empty one gives no reason.
    pub(crate) fn read(payload: &[u8]) -> Result<Option<Self>, Fault> {
        match payload {
            [] => Ok(None),
            [_] => Err(Fault::CloseTooShort),
            [high, low, text @ ..] => {
                let code = u16::from_be_bytes([*high, *low]);
                let code = CloseCode::new(code).ok_or(Fault::CloseCode)?;
                let text = str::from_utf8(text).map_err(|_| Fault::CloseReason)?.to_owned();
                Ok(Some(Self { code, text }))
            }
        }
    }
}

impl fmt::Display for CloseReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.text.as_str() {
            "" => self.code.fmt(f),
            text => write!(f, "{}: {}", self.code, text.escape_debug()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 6455 §5.5.1: "the first two bytes of the body MUST be a 2-byte unsigned integer".
    #[test]
    fn a_payload_is_nothing_or_a_code_with_a_text() {
        assert_eq!(CloseReason::read(b""), Ok(None));
        assert_eq!(CloseReason::read(b"\x03"), Err(Fault::CloseTooShort));
        let bye = CloseReason { code: CloseCode::NORMAL, text: "bye".into() };
        assert_eq!(bye.to_string(), "1000: bye");
        assert_eq!(CloseReason::read(b"\x03\xe8bye"), Ok(Some(bye)));
        assert_eq!(CloseReason::read(b"\x03\xe8\xff"), Err(Fault::CloseReason));
    }
}
