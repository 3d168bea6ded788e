//! What a connector of the caller's is asked for.

use std::fmt;
use std::time::Instant;

use url::Url;

/// Where a connection is to lead, and by when: for [`rt::connector`](crate::rt::connector).
#[derive(Clone)]
pub struct ConnectTarget {
    pub(super) url: Url,
    pub(super) deadline: Option<Instant>,
}

impl ConnectTarget {
    /// Whether the client speaks TLS over the connection: the URL is one of https.
    pub fn is_secure(&self) -> bool {
        self.url.scheme() == "https"
    }

    /// The host of the URL: a name, an IPv4 address, or an IPv6 address in brackets.
    pub fn host(&self) -> &str {
        self.url.host_str().unwrap_or_default()
    }

    /// The port of the URL, or the one of its scheme.
    pub fn port(&self) -> u16 {
        self.url.port_or_known_default().unwrap_or(80)
    }

    /// When the attempt is given up: its future is dropped then. `None` if it may take as long as it likes.
    pub fn deadline(&self) -> Option<Instant> {
        self.deadline
    }
}

impl fmt::Debug for ConnectTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}:{}", self.url.scheme(), self.host(), self.port())
    }
}
