//! What is known of a failed request beyond curl's code.

#[cfg(feature = "tls")]
use std::error::Error as StdError;
#[cfg(feature = "tls")]
use std::io;

#[cfg(feature = "tls")]
use stoop::tls::{TlsError, TlsErrorKind};
use stoop::{Error, ErrorKind};

/// The alert of a server that wants a certificate and was shown none (RFC 8446 §6.2).
#[cfg(feature = "tls")]
const CERTIFICATE_REQUIRED: u8 = 116;

/// What is known of a failure beyond its code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Cause {
    #[default]
    Other,
    /// The certificate is not valid at this time.
    Expired,
    /// The certificate is for other names.
    WrongName,
    /// The server ended TLS because it was shown no certificate.
    #[cfg(feature = "tls")]
    NoCertificateShown,
    /// The server's key is none of those of `--pinnedpubkey`.
    #[cfg(feature = "tls")]
    NotPinned,
    /// What came is not TLS, or the server closed before it came to that.
    #[cfg(feature = "tls")]
    NotTls,
}

impl Cause {
    /// The cause of an error of a request.
    pub(super) fn of(error: &Error) -> Self {
        match error.kind() {
            ErrorKind::TlsCertExpired => Self::Expired,
            ErrorKind::TlsCertName => Self::WrongName,
            #[cfg(feature = "tls")]
            _ => tls_error(error).map_or(Self::Other, Self::of_tls),
            #[cfg(not(feature = "tls"))]
            _ => Self::Other,
        }
    }

    #[cfg(feature = "tls")]
    fn of_tls(error: &TlsError) -> Self {
        match error.kind() {
            TlsErrorKind::Alert(alert) if alert.0 == CERTIFICATE_REQUIRED => {
                Self::NoCertificateShown
            }
            TlsErrorKind::KeyNotPinned => Self::NotPinned,
            TlsErrorKind::NotTls | TlsErrorKind::Closed => Self::NotTls,
            _ => Self::Other,
        }
    }
}

/// The error of TLS that led to another one.
#[cfg(feature = "tls")]
fn tls_error(error: &Error) -> Option<&TlsError> {
    let mut next = error.source();
    while let Some(error) = next {
        let inner = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        let found = error.downcast_ref().or_else(|| inner.and_then(|inner| inner.downcast_ref()));
        if found.is_some() {
            return found;
        }
        next = error.source();
    }
    None
}
