//! [`Priority`]: extensible priorities (RFC 9218 §4), from the `priority` field and PRIORITY_UPDATE.

use crate::h2::dictionary::{self, Value};

/// The priority of a response: its urgency, and whether it is incremental.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Priority {
    /// 0 is the most urgent, 7 the least, 3 the default.
    pub urgency: u8,
    /// Whether a part of the response is useful: then it shares the bandwidth with others of its urgency,
    /// which otherwise are sent one after the other.
    pub incremental: bool,
}

impl Priority {
    /// The priority for a client that sends none. RFC 9218 §4.2 would send such responses one after the
    /// other, which suits pages and not downloads: a client that does not know of priorities gets
    /// fairness.
    pub const UNTOLD: Self = Self { urgency: 3, incremental: true };

    /// Parses a field or frame: a dictionary (RFC 9651 §3.2), in which a value that is absent, unknown or
    /// out of range means its default, and which is ignored as a whole if it is malformed.
    pub fn parse(text: &[u8]) -> Self {
        const DEFAULT: Priority = Priority { urgency: 3, incremental: false };
        let mut told = DEFAULT;
        let read = dictionary::members(text, |key, value| match (key, value) {
            (b"u", Value::Integer(urgency @ 0..=7)) => told.urgency = urgency as u8,
            (b"u", _) => told.urgency = DEFAULT.urgency,
            (b"i", Value::Boolean(incremental)) => told.incremental = incremental,
            (b"i", _) => told.incremental = DEFAULT.incremental,
            _ => {}
        });
        if read.is_ok() { told } else { DEFAULT }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parameter_that_is_absent_or_invalid_has_its_default() {
        for (text, urgency, incremental) in [
            ("", 3, false),
            ("u=0", 0, false),
            ("i", 3, true),
            ("u=5, i", 5, true),
            (" u=7 ,\ti=?0", 7, false),
            ("i=?1;x=1, u=2;y", 2, true),
            ("u=1, u=4", 4, false),
            ("u=8, i", 3, true),
            ("u=-1", 3, false),
            ("u=\"1\", a=(1 2), i", 3, true),
            ("u=1,,i", 3, false),
            ("U=1", 3, false),
            ("u=1, 9=2", 3, false),
        ] {
            let expected = Priority { urgency, incremental };
            assert_eq!(Priority::parse(text.as_bytes()), expected, "{text}");
        }
    }
}
