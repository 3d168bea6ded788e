//! [`ForwardedClient`]: the client of a request, as trusted proxies describe it.

use std::net::SocketAddr;

/// What trusted proxies have told of the client of a request: an
/// [`Extension`](crate::Extension) of requests that came by one of the [`TrustedProxies`](crate::TrustedProxies).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ForwardedClient {
    pub(super) address: Option<SocketAddr>,
    pub(super) is_secure: Option<bool>,
    pub(super) host: Option<String>,
}

impl ForwardedClient {
    /// The address of the client, with port 0 where no port was told; of the last one on the way to it that was told, if a
    /// proxy has hidden the others.
    pub fn address(&self) -> Option<SocketAddr> {
        self.address
    }

    /// Whether the client has asked over https, if it was told.
    pub fn is_secure(&self) -> Option<bool> {
        self.is_secure
    }

    /// Host and port that the client has asked for, if it was told.
    pub fn host(&self) -> Option<&str> {
        self.host.as_deref()
    }
}

/// Whether it may be a Host (RFC 9110 §7.2): the characters of `uri-host [ ":" port ]` (RFC 3986 §3.2.2), and some, of which
/// none can end the host of a URL.
pub(crate) fn is_host(host: &str) -> bool {
    let is_of_host =
        |byte: u8| byte.is_ascii_alphanumeric() || b"-._~%!$&'()*+,;=[]:".contains(&byte);
    !host.is_empty() && host.bytes().all(is_of_host)
}

/// The two schemes that requests come by; others say nothing.
pub(super) fn is_secure(scheme: &str) -> Option<bool> {
    match () {
        () if scheme.eq_ignore_ascii_case("https") => Some(true),
        () if scheme.eq_ignore_ascii_case("http") => Some(false),
        () => None,
    }
}
