//! What a client's connections are doing, and what became of them.

/// The connections of a [`Client`](super::Client) at one time, and counts since it was made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ClientStats {
    /// All origins together. Its counts include origins that are not listed any more.
    pub total: ConnectionStats,
    /// Each origin that has a connection or a waiting request, in no order. One that has neither is
    /// forgotten, with its counts: a million origins do not leave a million entries.
    pub origins: Vec<OriginStats>,
}

/// The connections to one origin.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct OriginStats {
    /// Scheme, host and port, the default port left out: `https://example.com`. Connections that are kept
    /// apart, because a request wanted another version, say so: `https://example.com over HTTP/1.1`.
    pub origin: String,
    /// Its connections.
    pub connections: ConnectionStats,
}

/// Numbers of connections and requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConnectionStats {
    /// Connections that are open or being made.
    pub open: usize,
    /// Those of them that are being made.
    pub connecting: usize,
    /// Those of them that no exchange uses.
    pub idle: usize,
    /// Exchanges that have a connection, or a stream of one.
    pub in_flight: usize,
    /// Requests that wait for a connection.
    pub waiting: usize,
    /// Connections that were made.
    pub connected: u64,
    /// Connections that could not be made, or whose requests were given up before they were.
    pub failed: u64,
    /// Requests that got a connection that had served before, or that they share.
    pub reused: u64,
}
