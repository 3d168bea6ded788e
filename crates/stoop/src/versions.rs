//! Which versions of HTTP a server or a client speaks.

use stoop_proto::h2;

/// The versions of HTTP that are spoken, or to be spoken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Versions {
    /// HTTP/2 where both want it, else HTTP/1. Over TLS they say so by ALPN. Without it a server
    /// speaks HTTP/2 with a client that begins so (RFC 9113 §3.3), and a client does not.
    #[default]
    All,
    /// HTTP/1.0 and HTTP/1.1.
    Http1,
    /// HTTP/2: a server refuses whatever else comes, and a client begins so without being told that
    /// the server understands it.
    Http2,
}

impl Versions {
    /// The names that ALPN has for them and a client offers, the preferred one first.
    #[cfg(any(feature = "tls", feature = "tls-ring"))]
    pub(crate) fn offered(self) -> &'static [&'static [u8]] {
        match self {
            Self::All => &[b"h2", b"http/1.1"],
            Self::Http1 => &[b"http/1.1"],
            Self::Http2 => &[b"h2"],
        }
    }

    /// Those that a server accepts: a client that speaks HTTP/1.0 alone may offer nothing else, and is refused if its name is
    /// not among them (RFC 7301 §3.2).
    #[cfg(any(feature = "tls", feature = "tls-ring"))]
    pub(crate) fn accepted(self) -> &'static [&'static [u8]] {
        match self {
            Self::All => &[b"h2", b"http/1.1", b"http/1.0"],
            Self::Http1 => &[b"http/1.1", b"http/1.0"],
            Self::Http2 => &[b"h2"],
        }
    }

    /// Whether a connection is one of HTTP/2 before anything came on it, by what ALPN has said.
    pub(crate) fn begin_with_http2(self, alpn: Option<&[u8]>) -> bool {
        self == Self::Http2 || self == Self::All && alpn == Some(b"h2")
    }

    /// Whether a connection may become one of HTTP/2.
    pub(crate) fn allow_http2(self) -> bool {
        self != Self::Http1
    }
}

/// How far what a client has sent first is the connection preface of HTTP/2 (RFC 9113 §3.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Preface {
    /// It begins as the preface does, and more is to come.
    Partial,
    Complete,
    Absent,
}

impl Preface {
    pub(crate) fn of(received: &[u8]) -> Self {
        if received.starts_with(h2::PREFACE) {
            Self::Complete
        } else if h2::PREFACE.starts_with(received) {
            Self::Partial
        } else {
            Self::Absent
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_preface_is_told_from_a_request_as_soon_as_they_differ() {
        assert_eq!(Preface::of(b"P"), Preface::Partial);
        assert_eq!(Preface::of(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r"), Preface::Partial);
        assert_eq!(Preface::of(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), Preface::Complete);
        assert_eq!(Preface::of(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0"), Preface::Complete);
        assert_eq!(Preface::of(b"POST / HTTP/1.1\r\n"), Preface::Absent);
        assert_eq!(Preface::of(b"PRI * HTTP/1.1\r\n"), Preface::Absent);
    }
}
