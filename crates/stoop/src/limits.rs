//! Every bound of the client and the server, each with its default and what happens beyond it.
//!
//! Begin with the defaults and change what differs:
//!
//! ```
//! use std::time::Duration;
//! use stoop::limits::{ClientLimits, Rate, ServerLimits};
//! use stoop::{Client, Server};
//!
//! let mut limits = ClientLimits::default();
//! limits.time.total = Some(Duration::from_secs(30));
//! limits.pool.per_origin_max = 8;
//! let client = Client::builder().limits(limits).build()?;
//!
//! let mut limits = ServerLimits::default();
//! limits.wire.head_bytes_max = 16 * 1024;
//! limits.wire.http2.resets = Rate { burst: 100, per_second: 10 };
//! let server = Server::listen("127.0.0.1:0")?.limits(limits);
//! # Ok::<(), stoop::Error>(())
//! ```

mod client;

use std::time::Duration;

pub(crate) use client::COLLECT_BYTES_MAX;
pub use client::{ClientLimits, ClientTime, PoolLimits};
pub(crate) use stoop_proto::after;
pub use stoop_proto::{Http2Limits, Limits as WireLimits, Rate};

/// How many bytes of HTTP/1 may wait for those behind them: one more than a head or a trailer section may have, which are
/// read as a whole, so that its limit is seen exceeded.
pub(crate) fn unread_bytes_max(wire: &WireLimits) -> usize {
    wire.head_bytes_max.max(wire.trailers_bytes_max).saturating_add(1)
}

/// Bounds of a server.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ServerLimits {
    /// What a client may send.
    pub wire: WireLimits,
    /// Time limits of each phase.
    pub time: ServerTime,
    /// Connections of one server at a time, over all its threads: 80 % of the file descriptors this
    /// process may have. At it, accepting pauses and new connections wait in the kernel's queue; while one waits, the
    /// connection that has been idle for longest is closed, if it has been for a second.
    /// An upgraded connection counts until it is dropped.
    pub connections_max: usize,
    /// Connections of one address at a time, over all threads; of IPv6, of one network of 64 bits. No limit
    /// ([`usize::MAX`]): behind one address of a carrier, an office or a proxy there are thousands of clients, so that a
    /// number which suits all servers does not exist. One that faces browsers directly takes a few hundred: a browser has
    /// six connections to a host. Beyond it: 429 with `Retry-After: 1`, over TLS as well, then closed. At most 64
    /// connections of a thread are told so at a time, and of TLS, where it takes a handshake, 64 in a second; further ones
    /// are closed without a word. Unix sockets have no
    /// addresses and no such limit. Behind a [`ProxyProtocol`](crate::ProxyProtocol) the address is the client's that
    /// the header names, and not the proxy's; where it names none, there is no such limit.
    pub connections_per_address_max: usize,
    /// When requests are answered 503 because there is too much to do.
    pub shedding: SheddingLimits,
    /// Requests on one HTTP/1 connection: 10,000. The last one's response says `Connection: close`.
    pub requests_per_connection_max: u64,
    /// Content of a request that its handler left unread, read and thrown away so that the
    /// connection can go on: 256 KiB. Beyond it the connection is closed. As much is read and thrown away behind the last
    /// response of a connection, for up to [`ServerTime::linger`]: closed with bytes unread, the connection would be reset, and
    /// the client might lose that response.
    pub drain_bytes_max: u64,
    /// Output held for a slow reader, beyond which its handler's body is not asked for more: 64 KiB,
    /// and one piece more. Bytes count until the buffer they are in was sent, which is of 16 KiB. Over
    /// HTTP/1 up to four times as much is sent at once to a client that took all of it each time before.
    pub output_bytes_max: usize,
    /// Interim responses, such as 103, that a handler may send ahead of each of its responses: 0, so that
    /// requests need not carry what that takes. See [`Request::interim`](crate::Request::interim).
    pub interim_responses_max: u32,
    /// Handlers that run on to their end after their clients have left, of one server at a time: 0, which means that a
    /// handler's future is dropped as soon as it is known that its client has gone. With more, what a handler has begun
    /// is finished: its future goes on in the connection's task, its response is dropped, and the content of the request
    /// breaks off. Beyond the limit, and from [`ServerTime::handler`] after the client has left, it is dropped all the
    /// same; so it is when the server [closes](crate::ServerHandle::close). A drain waits for it as for a connection,
    /// and it counts as one.
    pub detached_handlers_max: usize,
}

impl Default for ServerLimits {
    fn default() -> Self {
        Self {
            wire: WireLimits::server(),
            time: ServerTime::default(),
            connections_max: stoop_io::descriptors_max() / 5 * 4,
            connections_per_address_max: usize::MAX,
            shedding: SheddingLimits::default(),
            requests_per_connection_max: 10_000,
            drain_bytes_max: 256 * 1024,
            output_bytes_max: stoop_io::OUTPUT_BYTES_MAX,
            interim_responses_max: 0,
            detached_handlers_max: 0,
        }
    }
}

/// When a server has too much to do, so that a new request is answered 503 with `Retry-After: 1` and its handler is not
/// called. The connection is kept: what the client does next costs no handshake. Requests that
/// [`Server::never_shed`](crate::Server::never_shed) names are served all the same.
///
/// Serving late what was asked long ago helps no client: it has given up, or asks again, and the server has still more to
/// do. Answering some requests at once lets it serve the others in time.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SheddingLimits {
    /// How late a thread of the server may come to a task that is ready: no limit ([`Duration::MAX`]). Too many requests
    /// make a thread late; so does a handler that blocks it for seconds, a process that was stopped and goes on, and a
    /// machine with too few processors. In all of these what has waited would be answered 503, though it could be served
    /// now, so that no number suits a server of which nothing is known. A program whose handlers do not block takes what its
    /// clients still wait for: a second or two.
    ///
    /// It is measured ten times a second, to within 100 ms, and only where there is a limit; less than 100 ms is taken as
    /// that. What was measured counts until the next time.
    pub lag_max: Duration,
    /// Handlers of one thread that have been called and have not answered: 65,536, which connections of HTTP/1 do not come to
    /// before they are out of descriptors in most systems; at 16 KiB each they have a GiB. Streaming a response is not
    /// counted. On the caller's runtime the server has one such number for all threads.
    pub handlers_max: usize,
}

impl Default for SheddingLimits {
    fn default() -> Self {
        Self { lag_max: Duration::MAX, handlers_max: 65_536 }
    }
}

/// How long a client may take for each part of an exchange. There is a limit for every wait that a
/// client causes, and by default none for a handler. [`Duration::MAX`] is no limit.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ServerTime {
    /// From the first byte of a request to the end of its head, and for a TLS handshake: 10 s.
    /// Beyond it: 408, then closed.
    pub head: Duration,
    /// Before a connection's first request and between requests: 60 s. Beyond it: closed. Only requests are
    /// use: over HTTP/2 what else comes, a PING or a frame of an unknown type, does not prolong it. Where
    /// nothing comes for so long during requests over HTTP/2, the client is asked by a PING whether it is there:
    /// [`ping_timeout`](crate::limits::Http2Limits::ping_timeout).
    pub idle: Duration,
    /// Without a byte of a request's content that a handler waits for: 30 s. Beyond it: 408 if no
    /// response was begun, then closed; the handler reads [`ErrorKind::ReadTimeout`].
    ///
    /// [`ErrorKind::ReadTimeout`]: crate::ErrorKind::ReadTimeout
    pub body_idle: Duration,
    /// Grace before [`ServerTime::body_bytes_per_second_min`] counts: 5 s. More than an hour is no limit.
    pub body_grace: Duration,
    /// Content must arrive at this rate on average, after the grace and while a handler waits for
    /// it: 240 bytes per second. What came faster makes up for an hour of waiting at most. Beyond it: as
    /// `body_idle`, and the handler reads [`ErrorKind::SlowBody`]. 0 is no limit.
    ///
    /// [`ErrorKind::SlowBody`]: crate::ErrorKind::SlowBody
    pub body_bytes_per_second_min: u64,
    /// Without any output accepted by the client, or by its kernel of what ours has: 30 s. Beyond it:
    /// reset. That is looked at sixteen times within the limit, and so found a sixteenth of it late at most.
    pub send: Duration,
    /// For reading and throwing away content that a handler left unread: 1 s. Beyond it: closed.
    pub drain: Duration,
    /// From the request's head to the handler's response, however long that is then sent: no limit. Beyond it the
    /// handler's future is dropped, and the answer is 503. Over HTTP/2 counted in whole seconds, at least one.
    ///
    /// A handler that reads the request's content first has the time that this takes in its own, and one that waits for
    /// news on purpose has that: an upload may take hours and a long poll minutes, and a number that leaves these alone is
    /// of no use to a client that waits for a handler that hangs. What clients cause is bounded by the other limits in any
    /// case. A server whose handlers ask others, which may hang, takes some times what the slowest good answer needs,
    /// such as 30 s; `Router::time_limit` of `stoop-web` has such limits by route. A download and a stream of events are as
    /// long as they like: they are behind the response.
    pub handler: Duration,
    /// For handlers to answer, and responses to be sent, after the client has ended its half of a connection of HTTP/1: no
    /// limit. Beyond it the client counts as gone: the connection is closed, and its handlers are dropped, or run on as
    /// [`detached_handlers_max`](ServerLimits::detached_handlers_max) says.
    ///
    /// A client that ends its half may wait for its answer (RFC 9112 §9.6), and one that has closed looks the same until
    /// something is sent to it. Most that do it have closed: with [`Duration::ZERO`], which is what many servers do, a
    /// handler that takes long and a stream of events that is silent for long end with them.
    pub half_closed: Duration,
    /// For the client to close after we did, so that it can read our last response, and so that a request that crosses
    /// with the end of a connection that is drained is not answered by a reset (RFC 9112 §9.6): 2 s.
    pub linger: Duration,
}

impl Default for ServerTime {
    fn default() -> Self {
        Self {
            head: Duration::from_secs(10),
            idle: Duration::from_secs(60),
            body_idle: Duration::from_secs(30),
            body_grace: Duration::from_secs(5),
            body_bytes_per_second_min: 240,
            send: Duration::from_secs(30),
            drain: Duration::from_secs(1),
            handler: Duration::MAX,
            half_closed: Duration::MAX,
            linger: Duration::from_secs(2),
        }
    }
}
