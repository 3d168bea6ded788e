//! What a client tells of a request.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use http::StatusCode;
use stoop_proto::{RequestHead, ResponseHead};

use crate::error::Error;
use crate::timings::Timings;
#[cfg(any(feature = "tls", feature = "tls-ring"))]
use crate::tls::TlsSession;

/// What happens to a request: for [`ClientBuilder::observe`](crate::ClientBuilder::observe), in this order.
///
/// A connection that is used again was connected for an earlier request: then `Sending` comes first. After a redirect,
/// and where a request is sent again, it begins anew. Each request ends with `Failed`, or with `Received` once its
/// content was read or dropped.
#[derive(Debug)]
#[non_exhaustive]
pub enum ClientEvent<'a> {
    /// The name of a host was resolved.
    #[non_exhaustive]
    Resolved {
        /// The host.
        host: &'a str,
        /// Its addresses, in the order in which they are tried.
        addresses: &'a [IpAddr],
    },
    /// A proxy is asked for a tunnel, by CONNECT.
    #[cfg(feature = "proxy")]
    #[non_exhaustive]
    TunnelRequested {
        /// The head of that request, as it is sent.
        head: &'a RequestHead,
        /// The proxy's address, if it is reached over TCP.
        remote: Option<SocketAddr>,
        /// It is asked over HTTP/2.
        is_http2: bool,
    },
    /// A proxy answered whether it makes a tunnel.
    #[cfg(feature = "proxy")]
    #[non_exhaustive]
    TunnelAnswered {
        /// The head of its answer.
        head: &'a ResponseHead,
    },
    /// A connection was made, through a proxy if there is one.
    #[non_exhaustive]
    Connected {
        /// The address at its other end, if it goes over TCP.
        remote: Option<SocketAddr>,
        /// The address of this end, if it goes over TCP.
        local: Option<SocketAddr>,
    },
    /// TLS was agreed on.
    #[cfg(any(feature = "tls", feature = "tls-ring"))]
    #[non_exhaustive]
    Secured {
        /// What was agreed on.
        session: Option<TlsSession>,
        /// The protocol that ALPN has chosen.
        alpn: Option<&'a [u8]>,
    },
    /// The request is sent over a connection.
    #[non_exhaustive]
    Sending {
        /// Its head, as it is sent.
        head: &'a RequestHead,
        /// Its URL.
        url: &'a str,
        /// How many bytes of content it has, if that is known.
        content_length: Option<u64>,
        /// The address at the other end of the connection, if it goes over TCP.
        remote: Option<SocketAddr>,
        /// The connection has served before, or is shared with others.
        is_reused: bool,
        /// It is one of HTTP/2.
        is_http2: bool,
    },
    /// An interim response (1xx) came.
    #[non_exhaustive]
    Interim {
        /// Its head.
        head: &'a ResponseHead,
    },
    /// The head of a response came.
    #[non_exhaustive]
    Responded {
        /// The head, as it came.
        head: &'a ResponseHead,
        /// How long each phase took, of all requests that led here.
        timings: Timings,
    },
    /// A redirect is followed.
    #[non_exhaustive]
    Redirecting {
        /// The URL that answered by it.
        from: &'a str,
        /// The URL that it leads to.
        to: &'a str,
        /// Its status.
        status: StatusCode,
    },
    /// The request is sent again, because its connection was closed before it was used, or because the server did
    /// nothing of it.
    #[non_exhaustive]
    Repeating {
        /// How it failed.
        error: &'a Error,
    },
    /// The request is sent again, by the client's [`Retries`](crate::Retries): after `Failed`, or after `Received` where
    /// its content failed ([`Client::retry`](crate::Client::retry)).
    #[non_exhaustive]
    Retrying {
        /// Which attempt it will be: the first that is told is the second.
        attempt: u32,
        /// How long is waited before that.
        wait: Duration,
        /// What the last attempt came to.
        outcome: Result<StatusCode, &'a Error>,
    },
    /// The request failed.
    #[non_exhaustive]
    Failed {
        /// Why.
        error: &'a Error,
    },
    /// The content of the response was read, or dropped.
    #[non_exhaustive]
    Received {
        /// How many bytes were read, as its owner sees them.
        bytes: u64,
        /// It was read to its end.
        is_complete: bool,
        /// How reading it failed.
        error: Option<&'a Error>,
    },
}
