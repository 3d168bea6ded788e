//! [`ValueError`]: why names with values cannot be made a type.

use std::fmt;

use serde::de;

/// Why names with values are no value of a type.
#[derive(Debug)]
pub(super) enum ValueError {
    /// There is no such name.
    Missing(&'static str),
    /// What the type says.
    Other(String),
    /// It is among the problems already.
    Noted,
}

impl de::Error for ValueError {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self::Other(message.to_string())
    }

    fn missing_field(field: &'static str) -> Self {
        Self::Missing(field)
    }
}

impl fmt::Display for ValueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing(name) => write!(f, "`{name}` is missing"),
            Self::Other(message) => f.write_str(message),
            Self::Noted => f.write_str("it is malformed"),
        }
    }
}

impl std::error::Error for ValueError {}
