//! Extensible priorities: RFC 9218 §4, as the `priority` field and PRIORITY_UPDATE carry them.

/// How urgent a response is, and whether a part of it is of use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Priority {
    /// 0 is the most urgent, 7 the least, 3 what is not told.
    pub urgency: u8,
    /// Whether it is of use piece by piece: then it shares the bandwidth with others of its urgency,
    /// which otherwise go one after the other.
    pub incremental: bool,
}

impl Priority {
    /// What holds for a client that says nothing. RFC 9218 §4.2 would have such responses go one
    /// after the other, which suits pages and not downloads: a client that does not know of
    /// priorities gets fairness.
    pub const UNTOLD: Self = Self { urgency: 3, incremental: true };

    /// What a field or frame says: a dictionary (RFC 9651 §3.2), in which what is absent, unknown
    /// or out of range stands for its default, and which is ignored as a whole if it is none.
    pub fn parse(text: &[u8]) -> Self {
        let mut priority = Self { urgency: 3, incremental: false };
        for member in text.split(|&byte| byte == b',').map(<[u8]>::trim_ascii) {
            let (key, value) = match member.iter().position(|&byte| byte == b'=') {
                Some(at) => (&member[..at], &member[at + 1..]),
                None => (member, &b"?1"[..]),
            };
            // Parameters say nothing that is known.
            let value = value.split(|&byte| byte == b';').next().unwrap_or_default();
            let key = key.split(|&byte| byte == b';').next().unwrap_or_default();
            match (key, value) {
                (b"u", [digit @ b'0'..=b'7']) => priority.urgency = digit - b'0',
                (b"i", b"?1") => priority.incremental = true,
                (b"i", b"?0") => priority.incremental = false,
                ([], _) if !text.trim_ascii().is_empty() => return Self::parse(b""),
                ([b'a'..=b'z' | b'*', ..] | [], _) => {}
                _ => return Self::parse(b""),
            }
        }
        priority
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_counts_and_what_is_not_has_its_default() {
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
