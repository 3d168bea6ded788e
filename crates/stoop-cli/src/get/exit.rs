//! The exit codes of curl, for the errors of a request.

use stoop::{Error, ErrorKind, Phase};

use super::content::is_not_rewound;

pub(super) const UNKNOWN_SCHEME: u8 = 1;
pub(super) const BAD_USE: u8 = 2;
pub(super) const NO_CONNECTION: u8 = 7;
pub(super) const INCOMPLETE: u8 = 18;
pub(super) const HTTP_ERROR: u8 = 22;
pub(super) const WRITE_ERROR: u8 = 23;
pub(super) const READ_ERROR: u8 = 26;
pub(super) const TIMEOUT: u8 = 28;
pub(super) const NO_RESUME: u8 = 33;
pub(super) const BAD_HEADER: u8 = 43;
pub(super) const TOO_MANY_REDIRECTS: u8 = 47;
pub(super) const NO_TUNNEL: u8 = 56;
#[cfg(feature = "tls")]
pub(super) const NO_TLS: u8 = 35;
#[cfg(feature = "tls")]
pub(super) const CERTIFICATE: u8 = 58;
#[cfg(feature = "tls")]
pub(super) const NOT_PINNED: u8 = 90;
#[cfg(feature = "tls")]
pub(super) const CA_FILE: u8 = 77;

pub(super) const BAD_CODING: u8 = 61;
pub(super) const TOO_LARGE: u8 = 63;
const NOT_REWOUND: u8 = 65;
/// One stream of HTTP/2 failed.
const STREAM: u8 = 92;

/// What `%{ssl_verify_result}` says of a certificate, by OpenSSL's numbers: with `-k` that it was not verified.
pub(super) const UNVERIFIED: u32 = 1;
const WRONG_NAME: u32 = 1;
const EXPIRED: u32 = 10;
const UNTRUSTED: u32 = 20;

/// What `%{ssl_verify_result}` says of an error of a request: 0 where the certificate is not why.
pub(super) fn verify_result(error: &Error) -> u32 {
    match error.kind() {
        ErrorKind::TlsCertExpired => EXPIRED,
        ErrorKind::TlsCertName => WRONG_NAME,
        ErrorKind::TlsCertUntrusted => UNTRUSTED,
        _ => 0,
    }
}

/// The exit code that an error of a request leads to.
pub(super) fn code(error: &Error) -> u8 {
    match error.kind() {
        ErrorKind::InvalidUrl => 3,
        ErrorKind::InvalidMessage => BAD_HEADER,
        ErrorKind::DnsNxdomain | ErrorKind::DnsServfail | ErrorKind::DnsOther => {
            if error.is_proxy() { 5 } else { 6 }
        }
        ErrorKind::AddressDenied
        | ErrorKind::ConnectRefused
        | ErrorKind::ConnectUnreachable
        | ErrorKind::ConnectReset
        | ErrorKind::NoLocalPorts
        | ErrorKind::TooManyFiles => NO_CONNECTION,
        ErrorKind::ConnectTimeout
        | ErrorKind::DnsTimeout
        | ErrorKind::TlsTimeout
        | ErrorKind::QueueTimeout
        | ErrorKind::FirstByteTimeout
        | ErrorKind::ReadTimeout
        | ErrorKind::SlowBody
        | ErrorKind::TotalTimeout => TIMEOUT,
        ErrorKind::ProxyAuth | ErrorKind::ProxyRefused => 97,
        ErrorKind::TlsHandshake => 35,
        ErrorKind::TlsCertExpired | ErrorKind::TlsCertName | ErrorKind::TlsCertUntrusted => 60,
        ErrorKind::H2Protocol | ErrorKind::Reset if error.is_of_stream() => STREAM,
        ErrorKind::H2Protocol => 16,
        ErrorKind::H2GoAway | ErrorKind::H2Refused => STREAM,
        ErrorKind::ClosedEarly | ErrorKind::Reset => match error.phase() {
            Phase::Receive if error.kind() == ErrorKind::ClosedEarly => INCOMPLETE,
            Phase::Send => 55,
            Phase::Tls => 35,
            Phase::Connect => 7,
            _ if error.kind() == ErrorKind::Reset => 56,
            _ => 52,
        },
        ErrorKind::H1Parse => 56,
        ErrorKind::BodyTooLarge => TOO_LARGE,
        ErrorKind::Decode => BAD_CODING,
        ErrorKind::HttpStatus => HTTP_ERROR,
        ErrorKind::RequestBody if is_not_rewound(error) => NOT_REWOUND,
        ErrorKind::RequestBody => READ_ERROR,
        ErrorKind::File => WRITE_ERROR,
        ErrorKind::RedirectLimit => TOO_MANY_REDIRECTS,
        ErrorKind::RedirectDenied => 1,
        ErrorKind::Cancelled => 42,
        ErrorKind::Internal => 91,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_certificate_that_is_refused_counts_as_verified() {
        for kind in ErrorKind::ALL {
            let error = Error::new(*kind, Phase::Tls);
            assert_eq!(verify_result(&error) != 0, code(&error) == 60, "{kind:?}");
        }
    }
}
