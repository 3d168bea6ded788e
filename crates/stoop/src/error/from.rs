//! What the errors of others mean: of the system, of the machines, and of the `http` crate.

use std::io;

use stoop_proto::{Misuse, Violation, h2};

use super::{Error, ErrorKind, Phase};

impl Error {
    /// What an I/O error means in this phase.
    pub(crate) fn io(error: io::Error, phase: Phase) -> Self {
        let kind = match (os_error(&error), error.kind()) {
            (Some(Os::TooManyFiles), _) => ErrorKind::TooManyFiles,
            (Some(Os::NoLocalPorts), _) => ErrorKind::NoLocalPorts,
            (_, io::ErrorKind::ConnectionRefused) => ErrorKind::ConnectRefused,
            (_, io::ErrorKind::NotFound) if phase == Phase::Connect => ErrorKind::ConnectRefused,
            (_, io::ErrorKind::TimedOut) if phase == Phase::Connect => ErrorKind::ConnectTimeout,
            (_, io::ErrorKind::TimedOut) => ErrorKind::ReadTimeout,
            (_, io::ErrorKind::HostUnreachable | io::ErrorKind::NetworkUnreachable) => {
                ErrorKind::ConnectUnreachable
            }
            (_, io::ErrorKind::ConnectionReset | io::ErrorKind::ConnectionAborted)
                if phase == Phase::Connect =>
            {
                ErrorKind::ConnectReset
            }
            (_, io::ErrorKind::ConnectionReset | io::ErrorKind::ConnectionAborted) => {
                ErrorKind::Reset
            }
            (_, io::ErrorKind::BrokenPipe) => ErrorKind::Reset,
            (_, io::ErrorKind::UnexpectedEof) => ErrorKind::ClosedEarly,
            _ if phase == Phase::Connect => ErrorKind::ConnectUnreachable,
            _ => ErrorKind::Reset,
        };
        let mut error_of_ours = Self::new(kind, phase);
        error_of_ours.0.source = Some(error.into());
        error_of_ours
    }

    /// What a violation of the peer means in this phase.
    pub(crate) fn violation(violation: Violation, phase: Phase) -> Self {
        let kind = match violation {
            Violation::HeadCutShort | Violation::BodyCutShort => ErrorKind::ClosedEarly,
            Violation::BodyTooLarge => ErrorKind::BodyTooLarge,
            _ => ErrorKind::H1Parse,
        };
        Self::new(kind, phase).with_detail(violation)
    }

    /// What a fault of the peer over HTTP/2 means in this phase.
    pub(crate) fn fault(fault: h2::Fault, phase: Phase) -> Self {
        let kind = match fault {
            h2::Fault::CutShort | h2::Fault::PingIgnored => ErrorKind::ClosedEarly,
            h2::Fault::BodyTooLarge => ErrorKind::BodyTooLarge,
            _ => ErrorKind::H2Protocol,
        };
        Self::new(kind, phase).with_detail(fault)
    }

    /// What the failure of a request's body means, whatever its reason.
    pub(crate) fn into_request_body_error(self) -> Self {
        match self.kind() {
            ErrorKind::RequestBody => self,
            kind => {
                let cause = Some(self.0.cause.unwrap_or((self.0.role, kind)));
                let mut error = Self::new(ErrorKind::RequestBody, Phase::Send).with_source(self);
                error.0.cause = cause;
                error
            }
        }
    }

    /// A call that the protocol does not allow.
    pub(crate) fn misuse(misuse: Misuse, phase: Phase) -> Self {
        let kind = match misuse {
            Misuse::BodyTooLong | Misuse::BodyTooShort => ErrorKind::RequestBody,
            Misuse::Order => ErrorKind::Internal,
            Misuse::Target => ErrorKind::InvalidUrl,
            _ => ErrorKind::InvalidMessage,
        };
        Self::new(kind, phase).with_detail(misuse)
    }
}

enum Os {
    TooManyFiles,
    NoLocalPorts,
}

/// The two that `io::ErrorKind` does not tell apart. Numbers of Linux and macOS.
fn os_error(error: &io::Error) -> Option<Os> {
    match error.raw_os_error()? {
        23 | 24 => Some(Os::TooManyFiles),
        99 | 49 if error.kind() == io::ErrorKind::AddrNotAvailable => Some(Os::NoLocalPorts),
        _ => None,
    }
}

impl From<std::convert::Infallible> for Error {
    fn from(never: std::convert::Infallible) -> Self {
        match never {}
    }
}

/// [`ErrorKind::InvalidMessage`], as a rule. The answer of a handler that passes it on by `?` is 500: it
/// is this program that made the message.
impl From<Misuse> for Error {
    fn from(misuse: Misuse) -> Self {
        Self::misuse(misuse, Phase::Request)
    }
}

/// [`ErrorKind::InvalidMessage`]: what the `http` crate refuses, as in [`Request::into_http`](crate::Request::into_http).
impl From<http::Error> for Error {
    fn from(error: http::Error) -> Self {
        Self::new(ErrorKind::InvalidMessage, Phase::Request).with_source(error)
    }
}

impl From<Error> for io::Error {
    fn from(error: Error) -> Self {
        let kind = match error.kind() {
            kind if kind.is_timeout() => io::ErrorKind::TimedOut,
            ErrorKind::ConnectRefused => io::ErrorKind::ConnectionRefused,
            ErrorKind::ClosedEarly => io::ErrorKind::UnexpectedEof,
            ErrorKind::Reset => io::ErrorKind::ConnectionReset,
            _ => io::ErrorKind::Other,
        };
        Self::new(kind, error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_system_says_has_a_kind_in_each_phase() {
        use ErrorKind::*;
        for (kind, connecting, later) in [
            (io::ErrorKind::ConnectionRefused, ConnectRefused, ConnectRefused),
            (io::ErrorKind::ConnectionReset, ConnectReset, Reset),
            (io::ErrorKind::ConnectionAborted, ConnectReset, Reset),
            (io::ErrorKind::TimedOut, ConnectTimeout, ReadTimeout),
            (io::ErrorKind::HostUnreachable, ConnectUnreachable, ConnectUnreachable),
            (io::ErrorKind::NetworkUnreachable, ConnectUnreachable, ConnectUnreachable),
            (io::ErrorKind::BrokenPipe, Reset, Reset),
            (io::ErrorKind::UnexpectedEof, ClosedEarly, ClosedEarly),
            (io::ErrorKind::PermissionDenied, ConnectUnreachable, Reset),
        ] {
            assert_eq!(Error::io(kind.into(), Phase::Connect).kind(), connecting, "{kind}");
            assert_eq!(Error::io(kind.into(), Phase::Receive).kind(), later, "{kind}");
        }
        let code = |code| Error::io(io::Error::from_raw_os_error(code), Phase::Connect).kind();
        assert_eq!((code(24), code(23)), (TooManyFiles, TooManyFiles));
        #[cfg(target_os = "linux")]
        assert_eq!((code(99), code(111)), (NoLocalPorts, ConnectRefused));
    }
}
