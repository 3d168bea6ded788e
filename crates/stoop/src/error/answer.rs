//! What a handler answers that passes an error on by `?`: it depends on the role in which this end met
//! the error.
//!
//! A gateway is a server and a client in one handler. Content that is cut short is its client's fault
//! (400) where it read the request, and the upstream's (502) where it read a response. Each error
//! therefore knows where it arose; [`Error::new`] makes those of a client, since only the server itself
//! knows what its clients did.

use http::StatusCode;

use super::{Error, ErrorKind};

/// In which role this end met an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ErrorRole {
    /// As a client of another server, an upstream.
    Client,
    /// As a server that reads the content of its client's request, to send it on perhaps.
    Server,
}

impl Error {
    /// The same error, of the content of the request that a handler answers: as an answer it blames the client, and is
    /// 400, 408 or 413. A body around a request's content says so of its own errors:
    ///
    /// ```
    /// use stoop::{Error, ErrorKind, IntoResponse, Phase};
    ///
    /// let error = Error::new(ErrorKind::BodyTooLarge, Phase::Receive);
    /// assert_eq!(error.of_request().into_response().status(), 413);
    /// ```
    pub fn of_request(mut self) -> Self {
        self.0.role = ErrorRole::Server;
        self
    }

    /// The status of the answer to the client that waits for what this error prevented.
    pub(crate) fn answer(&self) -> StatusCode {
        // Where the content of a request to an upstream failed, what it failed by counts.
        let (role, kind) = self.0.cause.unwrap_or((self.0.role, self.0.kind));
        match role {
            ErrorRole::Client => of_upstream(kind),
            ErrorRole::Server => of_client(kind),
        }
    }
}

/// RFC 9110 §15.6.3, §15.6.5: what an upstream did, or did not do in time. What the handler did itself is
/// 500.
const fn of_upstream(kind: ErrorKind) -> StatusCode {
    match kind {
        ErrorKind::DnsTimeout
        | ErrorKind::ConnectTimeout
        | ErrorKind::TlsTimeout
        | ErrorKind::FirstByteTimeout
        | ErrorKind::ReadTimeout
        | ErrorKind::SlowBody
        | ErrorKind::TotalTimeout => StatusCode::GATEWAY_TIMEOUT,
        // This machine has run out of something: neither end is at fault, and it passes.
        ErrorKind::QueueTimeout | ErrorKind::NoLocalPorts | ErrorKind::TooManyFiles => {
            StatusCode::SERVICE_UNAVAILABLE
        }
        ErrorKind::InvalidUrl
        | ErrorKind::InvalidMessage
        | ErrorKind::RequestBody
        | ErrorKind::File
        | ErrorKind::Cancelled
        | ErrorKind::Internal => StatusCode::INTERNAL_SERVER_ERROR,
        ErrorKind::DnsNxdomain
        | ErrorKind::DnsServfail
        | ErrorKind::DnsOther
        | ErrorKind::AddressDenied
        | ErrorKind::ConnectRefused
        | ErrorKind::ConnectUnreachable
        | ErrorKind::ConnectReset
        | ErrorKind::ProxyAuth
        | ErrorKind::ProxyRefused
        | ErrorKind::TlsHandshake
        | ErrorKind::TlsCertExpired
        | ErrorKind::TlsCertName
        | ErrorKind::TlsCertUntrusted
        | ErrorKind::H1Parse
        | ErrorKind::H2Protocol
        | ErrorKind::H2GoAway
        | ErrorKind::H2Refused
        | ErrorKind::ClosedEarly
        | ErrorKind::Reset
        | ErrorKind::BodyTooLarge
        | ErrorKind::Decode
        | ErrorKind::HttpStatus
        | ErrorKind::RedirectLimit
        | ErrorKind::RedirectDenied => StatusCode::BAD_GATEWAY,
    }
}

/// RFC 9110 §15.5.1, §15.5.9, §15.5.14: what was wrong with the content of a request.
const fn of_client(kind: ErrorKind) -> StatusCode {
    match kind {
        ErrorKind::BodyTooLarge => StatusCode::PAYLOAD_TOO_LARGE,
        ErrorKind::ReadTimeout
        | ErrorKind::SlowBody
        | ErrorKind::FirstByteTimeout
        | ErrorKind::TotalTimeout => StatusCode::REQUEST_TIMEOUT,
        ErrorKind::H1Parse
        | ErrorKind::H2Protocol
        | ErrorKind::ClosedEarly
        | ErrorKind::Reset
        | ErrorKind::Decode => StatusCode::BAD_REQUEST,
        // The rest no server makes of what it reads; an upstream's statuses are right for it.
        other => of_upstream(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Phase;

    #[test]
    fn an_error_of_content_is_answered_by_the_role_it_was_met_in() {
        let of = |kind| Error::new(kind, Phase::Receive);
        for (kind, upstream, client) in [
            (ErrorKind::ClosedEarly, 502, 400),
            (ErrorKind::H1Parse, 502, 400),
            (ErrorKind::H2Protocol, 502, 400),
            (ErrorKind::Decode, 502, 400),
            (ErrorKind::BodyTooLarge, 502, 413),
            (ErrorKind::ReadTimeout, 504, 408),
            (ErrorKind::SlowBody, 504, 408),
            (ErrorKind::FirstByteTimeout, 504, 408),
            (ErrorKind::TotalTimeout, 504, 408),
            (ErrorKind::Internal, 500, 500),
        ] {
            assert_eq!(of(kind).answer(), upstream, "{kind:?}");
            assert_eq!(of(kind).of_request().answer(), client, "{kind:?}");
            // Also where it is the content of a request to an upstream that fails by it.
            assert_eq!(of(kind).into_request_body_error().answer(), upstream, "{kind:?}");
            assert_eq!(
                of(kind).of_request().into_request_body_error().into_request_body_error().answer(),
                client
            );
        }
    }
}
