//! Why a connection is closed. In each version one function of the machine decides it, from what was
//! received and what the driver feeds it; the drivers read it.

use std::fmt;

/// Why a connection ends with the message under way, or has ended (RFC 9112 §9.3 to §9.6, RFC 9113 §6.8).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CloseReason {
    /// The peer said `Connection: close`.
    PeerCloses,
    /// The peer speaks HTTP/1.0 and did not ask for the connection to be kept.
    OldVersion,
    /// The caller, or the handler, said `Connection: close`.
    CallerCloses,
    /// The content has neither a length nor chunks: only the end of the connection ends it.
    UntilClose,
    /// How the response is framed can be read in two ways (RFC 9112 §6.1, §6.3).
    FramingInDoubt,
    /// The client waits for a 100 that it does not get: nobody can tell whether its content follows
    /// (RFC 9110 §10.1.1).
    ContentInDoubt,
    /// More of the request's content is unread than would be read to keep the connection.
    UnreadContent,
    /// The response is complete and its request is not: the rest of it is not sent.
    RequestUnfinished,
    /// What follows a CONNECT that is declined was meant for the tunnel.
    TunnelDeclined,
    /// The connection belongs to another protocol now.
    Switched,
    /// The connection has served as many requests as it may.
    RequestsMax,
    /// The server stops.
    Draining,
    /// Nothing was asked for too long.
    Idle,
    /// The next request did not come in time.
    Late,
    /// The peer broke the protocol.
    Violation,
    /// The peer will send nothing more.
    PeerClosed,
    /// A message cannot be completed, or the transport failed.
    Broken,
}

impl CloseReason {
    /// Whether the peer expects the end, since it is its own wish.
    pub const fn is_expected(self) -> bool {
        matches!(self, Self::PeerCloses | Self::OldVersion)
    }
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
            Self::Draining => "the server stops",
            Self::Idle => "nothing was asked for too long",
            Self::Late => "the next request did not come in time",
            Self::Violation => "the peer broke the protocol",
            Self::PeerClosed => "the peer closed the connection",
            Self::Broken => "a message could not be completed",
        })
    }
}
