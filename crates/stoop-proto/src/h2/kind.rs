//! [`LineKind`]: the meaning of a field line for the protocol (RFC 9113 §8.2, §8.3), found once for each
//! entry of the dynamic table and stored with it.

use crate::grammar;
use crate::h2::fault::Fault;
use crate::hpack::Line;

/// The kind of a field line, as a number that the decoder stores as the entry's mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum LineKind {
    /// A field without a meaning for the protocol.
    Plain = 1,
    Method,
    Scheme,
    Path,
    Authority,
    /// An `:authority` whose value was examined: it is one.
    ValidAuthority,
    Status,
    Protocol,
    Host,
    Cookie,
    ContentLength,
    Priority,
    UnknownPseudo,
    ConnectionField,
    BadName,
    BadValue,
}

impl LineKind {
    const ALL: [Self; 16] = [
        Self::Plain,
        Self::Method,
        Self::Scheme,
        Self::Path,
        Self::Authority,
        Self::ValidAuthority,
        Self::Status,
        Self::Protocol,
        Self::Host,
        Self::Cookie,
        Self::ContentLength,
        Self::Priority,
        Self::UnknownPseudo,
        Self::ConnectionField,
        Self::BadName,
        Self::BadValue,
    ];

    pub(super) fn mark(self) -> u8 {
        self as u8
    }

    /// The kind of the same line once a request has taken it.
    #[inline]
    pub(super) fn taken(self) -> Self {
        match self {
            Self::Authority => Self::ValidAuthority,
            kind => kind,
        }
    }

    /// The kind of a line: from its mark, or by examining it.
    #[inline]
    pub(super) fn of(line: &Line<'_>) -> Self {
        if let Some(kind) = Self::ALL.get(usize::from(line.mark).wrapping_sub(1)) {
            return *kind;
        }
        let kind = match line.static_name {
            0 => Self::of_name(line.name),
            index => Self::of_static(index),
        };
        if line.is_static || is_value(line.value) {
            return match kind {
                // §8.2.2: TE may have one value in a request.
                Self::ConnectionField if is_te_trailers(line) => Self::Plain,
                kind => kind,
            };
        }
        match kind {
            Self::BadName | Self::ConnectionField | Self::UnknownPseudo => kind,
            _ => Self::BadValue,
        }
    }

    /// The kind of a name in the static table: RFC 7541, Appendix A.
    #[inline]
    fn of_static(index: u8) -> Self {
        match index {
            1 => Self::Authority,
            2 | 3 => Self::Method,
            4 | 5 => Self::Path,
            6 | 7 => Self::Scheme,
            8..=14 => Self::Status,
            28 => Self::ContentLength,
            32 => Self::Cookie,
            38 => Self::Host,
            57 => Self::ConnectionField,
            _ => Self::Plain,
        }
    }

    fn of_name(name: &[u8]) -> Self {
        match name {
            b"host" => Self::Host,
            b"cookie" => Self::Cookie,
            b"content-length" => Self::ContentLength,
            b"priority" => Self::Priority,
            b"connection" | b"keep-alive" | b"proxy-connection" | b"transfer-encoding"
            | b"upgrade" | b"te" => Self::ConnectionField,
            [b':', ..] => match name {
                b":method" => Self::Method,
                b":scheme" => Self::Scheme,
                b":path" => Self::Path,
                b":authority" => Self::Authority,
                b":status" => Self::Status,
                b":protocol" => Self::Protocol,
                _ => Self::UnknownPseudo,
            },
            name if is_name(name) => Self::Plain,
            _ => Self::BadName,
        }
    }

    /// The fault of a line of this kind, if it is one in any section.
    #[inline]
    pub(super) fn fault(self) -> Option<Fault> {
        match self {
            Self::UnknownPseudo => Some(Fault::PseudoUnknown),
            Self::ConnectionField => Some(Fault::ConnectionField),
            Self::BadName => Some(Fault::FieldName),
            Self::BadValue => Some(Fault::FieldValue),
            _ => None,
        }
    }
}

fn is_te_trailers(line: &Line<'_>) -> bool {
    line.name == b"te" && line.value.eq_ignore_ascii_case(b"trailers")
}

/// Whether a field name is valid: in lower case (§8.2.1), and a token (RFC 9110 §5.1).
fn is_name(name: &[u8]) -> bool {
    grammar::is_token(name) && !name.iter().any(u8::is_ascii_uppercase)
}

/// Whether a field value is valid (§8.2.1, RFC 9110 §5.5): no control characters, no whitespace at
/// either end.
#[inline]
fn is_value(value: &[u8]) -> bool {
    let trimmed = |end: Option<&u8>| end.is_none_or(|&byte| !grammar::is_whitespace(byte));
    grammar::is_field_value(value) && trimmed(value.first()) && trimmed(value.last())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hpack::static_entry;

    fn of(name: &str, value: &str) -> LineKind {
        LineKind::of(&Line {
            name: name.as_bytes(),
            value: value.as_bytes(),
            static_name: 0,
            is_static: false,
            mark: 0,
            never_indexed: false,
        })
    }

    #[test]
    fn a_static_entry_has_the_kind_of_its_name() {
        for index in 1..=61 {
            let (name, value) = static_entry(index).unwrap();
            let line = Line {
                name,
                value,
                static_name: index,
                is_static: true,
                mark: 0,
                never_indexed: false,
            };
            assert_eq!(LineKind::of(&line), of(std::str::from_utf8(name).unwrap(), ""), "{index}");
        }
    }

    #[test]
    fn a_mark_gives_the_kind_that_was_stored() {
        for kind in LineKind::ALL {
            let line = Line {
                name: b"x",
                value: b"y",
                static_name: 0,
                is_static: false,
                mark: kind.mark(),
                never_indexed: false,
            };
            assert_eq!(LineKind::of(&line), kind);
        }
    }

    #[test]
    fn names_and_values_are_examined() {
        assert_eq!(of("x-y_z", "a b\t\u{e4}"), LineKind::Plain);
        assert_eq!(
            (of("te", "Trailers"), of("te", "gzip")),
            (LineKind::Plain, LineKind::ConnectionField)
        );
        assert_eq!(
            (of("priority", "u=1"), of(":protocol", "a")),
            (LineKind::Priority, LineKind::Protocol)
        );
        for name in ["", "X", "a b", "a:", "a\r\n", "\u{e4}", "a\0"] {
            assert_eq!(of(name, "v"), LineKind::BadName, "{name:?}");
        }
        for value in ["a\r", "a\nb", "\0", " a", "a ", "\ta", "\x7f"] {
            assert_eq!(of("a", value), LineKind::BadValue, "{value:?}");
        }
        for name in [":", ":Path", ":version", "::path"] {
            assert_eq!(of(name, "v"), LineKind::UnknownPseudo, "{name:?}");
        }
        for name in ["connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade"]
        {
            assert_eq!(of(name, "v"), LineKind::ConnectionField, "{name:?}");
        }
    }
}
