//! Why a request failed, with curl's exit code.

use std::io;

use stoop::Error;

use super::cause::Cause;
use super::exit;

/// A failure, and what is told of it.
#[derive(Debug)]
pub(super) struct GetFailure {
    pub(super) code: u8,
    pub(super) message: String,
    pub(super) cause: Cause,
}

impl GetFailure {
    pub(super) fn new(code: u8, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), cause: Cause::Other }
    }

    pub(super) fn read(what: &str, error: &io::Error) -> Self {
        Self::new(exit::READ_ERROR, format!("cannot read {what}: {error}"))
    }

    /// What was wrong with the options of TLS, if this says that TLS could not be spoken by them.
    pub(super) fn or_deferred(self, deferred: Option<Self>) -> Self {
        #[cfg(feature = "tls")]
        let is_of_tls = self.cause == Cause::NotPinned;
        #[cfg(not(feature = "tls"))]
        let is_of_tls = self.code == exit::UNKNOWN_SCHEME;
        deferred.filter(|_| is_of_tls).unwrap_or(self)
    }

    /// Headers that cannot be read, or are none.
    pub(super) fn headers(error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::InvalidInput => Self::new(exit::BAD_USE, error.to_string()),
            _ => Self::read("headers", error),
        }
    }

    pub(super) fn write(error: &io::Error) -> Self {
        Self::new(exit::WRITE_ERROR, format!("cannot write: {error}"))
    }
}

impl From<Error> for GetFailure {
    fn from(error: Error) -> Self {
        let cause = Cause::of(&error);
        let code = match cause {
            #[cfg(feature = "tls")]
            Cause::NotPinned => exit::NOT_PINNED,
            _ => exit::code(&error),
        };
        Self { cause, ..Self::new(code, error.to_string()) }
    }
}
