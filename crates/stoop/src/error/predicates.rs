//! Questions about an error whose answer several kinds share.

use super::{Error, ErrorKind, Phase};

impl ErrorKind {
    /// Whether a deadline or a limit of time has passed.
    pub const fn is_timeout(self) -> bool {
        matches!(
            self,
            Self::QueueTimeout
                | Self::DnsTimeout
                | Self::ConnectTimeout
                | Self::TlsTimeout
                | Self::FirstByteTimeout
                | Self::ReadTimeout
                | Self::SlowBody
                | Self::TotalTimeout
        )
    }
}

impl Error {
    /// Whether a deadline or a limit of time has passed, in any phase.
    pub fn is_timeout(&self) -> bool {
        self.kind().is_timeout()
    }

    /// Whether no connection came about: by the name, the address, TLS, or because the client had none free
    /// in time. Nothing of the request was sent then.
    pub fn is_connect(&self) -> bool {
        matches!(self.phase(), Phase::Queue | Phase::Dns | Phase::Connect | Phase::Tls)
    }

    /// Whether the name could not be resolved.
    pub fn is_dns(&self) -> bool {
        self.phase() == Phase::Dns
    }

    /// Whether TLS could not be agreed on, or its certificate was refused.
    pub fn is_tls(&self) -> bool {
        self.phase() == Phase::Tls
    }

    /// Whether it happened at a proxy or on the way to it: its name, its connection, or its refusal.
    pub fn is_proxy(&self) -> bool {
        self.0.is_of_proxy || matches!(self.kind(), ErrorKind::ProxyAuth | ErrorKind::ProxyRefused)
    }

    /// Whether it ended one stream of an HTTP/2 connection alone, by a RST_STREAM of either end (RFC 9113 §5.4.2): the
    /// connection serves other requests on.
    pub fn is_of_stream(&self) -> bool {
        self.0.is_of_stream
    }

    /// Whether the request makes no sense, so that it will fail whenever it is sent.
    pub fn is_request(&self) -> bool {
        matches!(self.kind(), ErrorKind::InvalidUrl | ErrorKind::InvalidMessage)
    }

    /// Whether a redirect was not followed.
    pub fn is_redirect(&self) -> bool {
        matches!(self.kind(), ErrorKind::RedirectLimit | ErrorKind::RedirectDenied)
    }

    /// Whether it is a status that the caller wants to be an error:
    /// [`Response::error_for_status`](crate::Response::error_for_status).
    pub fn is_status(&self) -> bool {
        self.kind() == ErrorKind::HttpStatus
    }

    /// Whether it concerns content: of the request while it was sent, or of the response.
    pub fn is_body(&self) -> bool {
        self.phase() == Phase::Receive || self.kind() == ErrorKind::RequestBody
    }

    /// Whether the content of a response could not be decoded.
    pub fn is_decode(&self) -> bool {
        self.kind() == ErrorKind::Decode
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_whose_name_says_timeout_is_one() {
        for kind in ErrorKind::ALL {
            let is_named = kind.as_str().ends_with("timeout") || *kind == ErrorKind::SlowBody;
            assert_eq!(kind.is_timeout(), is_named, "{kind:?}");
        }
    }

    #[test]
    fn questions_are_answered_by_kind_and_phase() {
        let error = Error::new(ErrorKind::TotalTimeout, Phase::Connect);
        assert!(error.is_timeout() && error.is_connect() && !error.is_dns() && !error.is_tls());
        let error = Error::new(ErrorKind::DnsNxdomain, Phase::Dns);
        assert!(error.is_connect() && error.is_dns() && !error.is_timeout());
        let error = Error::new(ErrorKind::TlsCertName, Phase::Tls);
        assert!(error.is_connect() && error.is_tls());
        let error = Error::new(ErrorKind::ClosedEarly, Phase::Receive);
        assert!(error.is_body() && !error.is_connect() && !error.is_decode());
        let error = Error::new(ErrorKind::RequestBody, Phase::Send);
        assert!(error.is_body() && !error.is_request());
        assert!(!error.is_proxy() && Error::new(ErrorKind::ProxyAuth, Phase::Connect).is_proxy());
        assert!(Error::new(ErrorKind::RedirectLimit, Phase::Redirect).is_redirect());
        assert!(Error::new(ErrorKind::HttpStatus, Phase::Wait).is_status());
        assert!(Error::new(ErrorKind::InvalidUrl, Phase::Request).is_request());
    }
}
