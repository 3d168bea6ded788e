//! [`CloseCode`]: the status codes of Close frames (RFC 6455 §7.4).

use std::fmt;

/// The status code of a Close frame: one that may be sent (RFC 6455 §7.4).
///
/// ```
/// use stoop_websocket::CloseCode;
///
/// assert_eq!(CloseCode::new(1001), Some(CloseCode::GOING_AWAY));
/// assert_eq!(CloseCode::new(4000).unwrap().get(), 4000);
/// // 1006 says locally that no Close frame came; no frame has it.
/// assert_eq!(CloseCode::new(1006), None);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CloseCode(u16);

impl CloseCode {
    /// 1000: the purpose of the connection is fulfilled.
    pub const NORMAL: Self = Self(1000);
    /// 1001: a server goes down, or a browser leaves the page.
    pub const GOING_AWAY: Self = Self(1001);
    /// 1002: the peer broke the protocol.
    pub const PROTOCOL_ERROR: Self = Self(1002);
    /// 1003: the peer sent a type of message that is not accepted, such as binary instead of text.
    pub const UNSUPPORTED_DATA: Self = Self(1003);
    /// 1007: a message is not what its type says, such as a text that is not UTF-8.
    pub const INVALID_DATA: Self = Self(1007);
    /// 1008: a message goes against a policy of this end.
    pub const POLICY: Self = Self(1008);
    /// 1009: a message is too large.
    pub const TOO_LARGE: Self = Self(1009);
    /// 1010: the server did not agree to an extension that the client needs.
    pub const EXTENSION_MISSING: Self = Self(1010);
    /// 1011: the server met an error of its own.
    pub const INTERNAL_ERROR: Self = Self(1011);
    /// 1012: the service restarts (IANA's registry, as the next two).
    pub const SERVICE_RESTART: Self = Self(1012);
    /// 1013: the server is overloaded; the client may come back later.
    pub const TRY_AGAIN_LATER: Self = Self(1013);
    /// 1014: a gateway got an invalid answer from the server behind it.
    pub const BAD_GATEWAY: Self = Self(1014);

    /// The code of that number, if it may be sent: 1000 to 1003, 1007 to 1014, 3000 to 4999, of which those
    /// from 4000 on are for private use.
    pub const fn new(code: u16) -> Option<Self> {
        match code {
            1000..=1003 | 1007..=1014 | 3000..=4999 => Some(Self(code)),
            _ => None,
        }
    }

    /// The number.
    pub const fn get(self) -> u16 {
        self.0
    }
}

impl fmt::Display for CloseCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for CloseCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CloseCode({})", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 6455 §7.4.2, and what IANA has registered since.
    #[test]
    fn codes_that_may_not_be_sent_are_none() {
        let never = [0, 999, 1004, 1005, 1006, 1015, 1016, 1100, 2000, 2999, 5000, 65535];
        for code in never {
            assert_eq!(CloseCode::new(code), None, "{code}");
        }
        for code in [1000, 1001, 1002, 1003, 1007, 1011, 1012, 1014, 3000, 3999, 4000, 4999] {
            assert_eq!(CloseCode::new(code).map(CloseCode::get), Some(code));
        }
    }
}
