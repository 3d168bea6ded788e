//! The kinds of error that a record may have in place of a status, as [`ResultCode::Error`] and formats have them.
//!
//! Those of the client are the texts of its [`ErrorKind`], which says what each means. A later version may have more.
//!
//! ```
//! use stoop_fetch::{Fetch, kinds, source::Jobs, summary::ResultCode};
//!
//! let mut refused = 0;
//! Fetch::new().run_records(Jobs::new(["http://127.0.0.1:1/"]), |record| {
//!     match record.outcome.code {
//!         ResultCode::Error(kinds::CONNECT_REFUSED | kinds::CONNECT_TIMEOUT) => refused += 1,
//!         ResultCode::Error(_) | ResultCode::Status(_) => {}
//!     }
//!     Ok(())
//! })?;
//! assert_eq!(refused, 1);
//! # Ok::<(), stoop_fetch::FetchError>(())
//! ```

#[cfg(doc)]
use crate::summary::ResultCode;
use stoop::ErrorKind;

macro_rules! kinds {
    ($($(#[$doc:meta])* $name:ident = $text:expr;)*) => {
        $($(#[$doc])* pub const $name: &str = $text;)*

        /// All of them, those of the run itself first.
        pub const ALL: &[&str] = &[$($name),*];
    };
}

kinds! {
    /// What the source reported is no job, such as a row without a URL, or fields that may not be sent. No request was sent.
    INVALID_JOB = "invalid_job";
    /// Its host did not answer, or answered 429 or 503 alone, for so long that it is left alone
    /// ([`Politeness`](crate::Politeness)).
    HOST_SUSPENDED = "host_suspended";
    /// robots.txt does not allow the URL, or one that it redirects to.
    ROBOTS_DENIED = "robots_denied";
    /// The content could not be saved, and the run ended there.
    SAVE_FAILED = "save_failed";
    /// [`ErrorKind::InvalidUrl`].
    INVALID_URL = ErrorKind::InvalidUrl.as_str();
    /// [`ErrorKind::DnsNxdomain`].
    DNS_NXDOMAIN = ErrorKind::DnsNxdomain.as_str();
    /// [`ErrorKind::DnsServfail`].
    DNS_SERVFAIL = ErrorKind::DnsServfail.as_str();
    /// [`ErrorKind::DnsTimeout`].
    DNS_TIMEOUT = ErrorKind::DnsTimeout.as_str();
    /// [`ErrorKind::DnsOther`].
    DNS_OTHER = ErrorKind::DnsOther.as_str();
    /// [`ErrorKind::AddressDenied`].
    ADDRESS_DENIED = ErrorKind::AddressDenied.as_str();
    /// [`ErrorKind::ConnectRefused`].
    CONNECT_REFUSED = ErrorKind::ConnectRefused.as_str();
    /// [`ErrorKind::ConnectTimeout`].
    CONNECT_TIMEOUT = ErrorKind::ConnectTimeout.as_str();
    /// [`ErrorKind::ConnectUnreachable`].
    CONNECT_UNREACHABLE = ErrorKind::ConnectUnreachable.as_str();
    /// [`ErrorKind::ConnectReset`].
    CONNECT_RESET = ErrorKind::ConnectReset.as_str();
    /// [`ErrorKind::ProxyAuth`].
    PROXY_AUTH = ErrorKind::ProxyAuth.as_str();
    /// [`ErrorKind::ProxyRefused`].
    PROXY_REFUSED = ErrorKind::ProxyRefused.as_str();
    /// [`ErrorKind::QueueTimeout`].
    QUEUE_TIMEOUT = ErrorKind::QueueTimeout.as_str();
    /// [`ErrorKind::NoLocalPorts`].
    NO_LOCAL_PORTS = ErrorKind::NoLocalPorts.as_str();
    /// [`ErrorKind::TooManyFiles`].
    TOO_MANY_FILES = ErrorKind::TooManyFiles.as_str();
    /// [`ErrorKind::TlsHandshake`].
    TLS_HANDSHAKE = ErrorKind::TlsHandshake.as_str();
    /// [`ErrorKind::TlsCertExpired`].
    TLS_CERT_EXPIRED = ErrorKind::TlsCertExpired.as_str();
    /// [`ErrorKind::TlsCertName`].
    TLS_CERT_NAME = ErrorKind::TlsCertName.as_str();
    /// [`ErrorKind::TlsCertUntrusted`].
    TLS_CERT_UNTRUSTED = ErrorKind::TlsCertUntrusted.as_str();
    /// [`ErrorKind::TlsTimeout`].
    TLS_TIMEOUT = ErrorKind::TlsTimeout.as_str();
    /// [`ErrorKind::H1Parse`].
    H1_PARSE = ErrorKind::H1Parse.as_str();
    /// [`ErrorKind::H2Protocol`].
    H2_PROTOCOL = ErrorKind::H2Protocol.as_str();
    /// [`ErrorKind::H2GoAway`].
    H2_GOAWAY = ErrorKind::H2GoAway.as_str();
    /// [`ErrorKind::H2Refused`].
    H2_REFUSED = ErrorKind::H2Refused.as_str();
    /// [`ErrorKind::ClosedEarly`].
    CLOSED_EARLY = ErrorKind::ClosedEarly.as_str();
    /// [`ErrorKind::Reset`].
    RESET = ErrorKind::Reset.as_str();
    /// [`ErrorKind::FirstByteTimeout`].
    FIRST_BYTE_TIMEOUT = ErrorKind::FirstByteTimeout.as_str();
    /// [`ErrorKind::ReadTimeout`].
    READ_TIMEOUT = ErrorKind::ReadTimeout.as_str();
    /// [`ErrorKind::SlowBody`].
    SLOW_BODY = ErrorKind::SlowBody.as_str();
    /// [`ErrorKind::TotalTimeout`].
    TOTAL_TIMEOUT = ErrorKind::TotalTimeout.as_str();
    /// [`ErrorKind::BodyTooLarge`].
    BODY_TOO_LARGE = ErrorKind::BodyTooLarge.as_str();
    /// [`ErrorKind::Decode`].
    DECODE = ErrorKind::Decode.as_str();
    /// [`ErrorKind::HttpStatus`].
    HTTP_STATUS = ErrorKind::HttpStatus.as_str();
    /// [`ErrorKind::RequestBody`].
    REQUEST_BODY = ErrorKind::RequestBody.as_str();
    /// [`ErrorKind::File`].
    FILE = ErrorKind::File.as_str();
    /// [`ErrorKind::RedirectLimit`].
    REDIRECT_LIMIT = ErrorKind::RedirectLimit.as_str();
    /// [`ErrorKind::RedirectDenied`].
    REDIRECT_DENIED = ErrorKind::RedirectDenied.as_str();
    /// [`ErrorKind::Cancelled`].
    CANCELLED = ErrorKind::Cancelled.as_str();
    /// [`ErrorKind::Internal`].
    INTERNAL = ErrorKind::Internal.as_str();
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a client cannot send is an [`INVALID_JOB`] here.
    #[test]
    fn each_kind_of_the_client_is_there_once_but_for_what_it_cannot_send() {
        let known: Vec<_> = ALL.iter().skip(4).collect();
        let client = ErrorKind::ALL.iter().filter(|kind| **kind != ErrorKind::InvalidMessage);
        let client: Vec<_> = client.map(|kind| kind.as_str()).collect();
        assert_eq!(known, client.iter().collect::<Vec<_>>());
        assert!(ALL[..4].iter().all(|kind| !client.contains(kind)));
    }
}
