//! [`CloseReason`]: why a connection is closed. In each version one function of the machine decides it,
//! from the bytes received and the driver's calls; the drivers read it.

use std::fmt;

/// Why a connection ends after the current message, or has ended (RFC 9112 §9.3 to §9.6, RFC 9113 §6.8).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CloseReason {
    /// The peer sent `Connection: close`.
    PeerCloses,
    /// The peer speaks HTTP/1.0 and did not send `Connection: keep-alive`.
    OldVersion,
    /// The caller, or the handler, set `Connection: close`.
    CallerCloses,
    /// The content has neither a length nor chunks: the end of the connection ends it.
    UntilClose,
    /// The framing of the response is ambiguous (RFC 9112 §6.1, §6.3).
    FramingInDoubt,
    /// The client waits for a 100 and gets a final response: whether its content follows is not known
    /// (RFC 9110 §10.1.1).
    ContentInDoubt,
    /// More of the request's content is unread than the server reads to keep the connection.
    UnreadContent,
    /// The response is complete before its request: the rest of the request is not sent.
    RequestUnfinished,
    /// A CONNECT was declined: the bytes that follow it may have been meant for the tunnel.
    TunnelDeclined,
    /// The connection was switched to another protocol.
    Switched,
    /// The connection has served as many requests as the limit allows.
    RequestsMax,
    /// The connection has served for as long as the limit allows.
    Lifetime,
    /// The server stops.
    Draining,
    /// The connection was idle for too long.
    Idle,
    /// The connection was idle, and the server wants its place for another one.
    Evicted,
    /// The next request did not come in time.
    RequestTimeout,
    /// The peer broke the protocol.
    Violation,
    /// The peer will send nothing more.
    PeerClosed,
    /// A message cannot be completed, or the transport failed.
    Aborted,
}

impl fmt::Display for CloseReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::PeerCloses => "the peer said `Connection: close`",
            Self::OldVersion => "the peer speaks HTTP/1.0",
            Self::CallerCloses => "`Connection: close` was asked for",
            Self::UntilClose => "the content ends with the connection",
            Self::FramingInDoubt => "the framing of the response is in doubt",
            Self::ContentInDoubt => "whether the request's content follows is in doubt",
            Self::UnreadContent => "too much of the request's content is unread",
            Self::RequestUnfinished => "the response came before the request was sent",
            Self::TunnelDeclined => "a tunnel was declined",
            Self::Switched => "the connection was switched to another protocol",
            Self::RequestsMax => "the connection has served as many requests as it may",
            Self::Lifetime => "the connection has served for as long as it may",
            Self::Draining => "the server stops",
            Self::Idle => "nothing was asked for too long",
            Self::Evicted => "it was idle, and its place was wanted for another connection",
            Self::RequestTimeout => "the next request did not come in time",
            Self::Violation => "the peer broke the protocol",
            Self::PeerClosed => "the peer closed the connection",
            Self::Aborted => "a message could not be completed",
        })
    }
}
