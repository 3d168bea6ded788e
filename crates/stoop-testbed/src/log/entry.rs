//! One line of the log.

use std::time::Duration;

/// The subject of a line of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKind {
    /// The log began; `target` holds the time of day as RFC 3339, which is 0 ms for all the others.
    Start,
    /// A name was asked for; `target` holds the record type. There is one line for each query.
    Dns,
    /// A connection that ended without a whole request having been read on it.
    Connection,
    /// A connection without a request although the server was ready: opened in reserve, or too late. It
    /// says nothing about how long a URL took.
    Unused,
    /// A request was read, and answered or not.
    Exchange,
    /// The log ended; `sent_bytes` holds the sum, `connection` the most connections open at once.
    Stop,
}

/// How an exchange, a connection or a DNS query ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryEnd {
    /// The whole response was handed to the kernel.
    Complete,
    /// The fault that the behaviour plans happened: a cut, a reset, a malformed head.
    PlannedFault,
    /// The client closed its end first, or stopped a response by closing.
    ClientClosed,
    /// The client reset the connection, or over HTTP/2 the stream.
    ClientReset,
    /// The client's half of the TLS handshake failed: it sent an alert, or no TLS.
    HandshakeFailed,
    /// The client sent no acceptable request.
    BadRequest,
    /// The testbed's own limit on an idle or stalled connection passed.
    TimedOut,
    /// The testbed was stopped before it ended.
    Stopped,
    /// The socket failed: an error of the testbed itself.
    Failed,
    /// DNS: the name has addresses, and they were given.
    Answered,
    /// DNS: the name exists, and has no record of that type.
    NoData,
    /// DNS: no such name.
    NxDomain,
    /// DNS: the server said that it failed.
    ServFail,
    /// DNS: a name outside the zone was refused.
    Refused,
    /// DNS: no answer, on purpose.
    Silent,
    /// DNS: the answer was cut so that the client asks again over TCP.
    Truncated,
}

/// One line of the log: an exchange, a connection or a name, as the server saw it.
///
/// Times are monotonic, counted from the start of the log. As text an entry is one line of CSV
/// (RFC 4180, milliseconds with three decimals, columns as in [`COLUMNS`](super::COLUMNS));
/// [`FromStr`](std::str::FromStr) reads it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogEntry {
    /// The subject of this line.
    pub kind: EntryKind,
    /// Which URL of the plan it belongs to, counted from 0. For connections without a request, for
    /// names, for robots.txt and for hosts that fail for all their URLs this is the first URL of that
    /// host. `None` where there is no plan.
    pub url: Option<u64>,
    /// The host's name without a port, in lower case; empty if it never became known.
    pub host: String,
    /// Which connection: they are numbered from 1 as they are accepted. `None` for DNS over UDP.
    pub connection: Option<u64>,
    /// When that connection was accepted. For DNS, when the query came.
    pub accepted: Duration,
    /// The first sign of this exchange: for the first one of a connection when it was accepted,
    /// for later ones when the first byte of the request came.
    pub begin: Duration,
    /// When the request head was complete.
    pub head: Option<Duration>,
    /// When the last byte of the response was handed to the kernel, or the client closed or reset.
    pub end: Duration,
    /// Bytes of this response handed to the kernel, head and framing included, before encryption.
    pub sent: u64,
    /// The status that was sent, if one was.
    pub status: Option<u16>,
    /// How it ended.
    pub ended: EntryEnd,
    /// The request target, or what [`EntryKind`] says; empty for requests to hosts that go wrong over
    /// HTTP/2 alone, because their scripts do not decode header blocks.
    pub target: String,
}
