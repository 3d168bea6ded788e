//! Bounds of a client: what servers may send, how long each phase may take, and how many connections there may be.

use std::time::Duration;

use super::WireLimits;

/// The default of [`ClientLimits::collect_bytes_max`].
pub(crate) const COLLECT_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// Bounds of a client.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ClientLimits {
    /// What a server may send.
    pub wire: WireLimits,
    /// Time limits of each phase.
    pub time: ClientTime,
    /// How many connections there may be.
    pub pool: PoolLimits,
    /// Output held for a slow server, beyond which the request's body is not asked for more: 64 KiB,
    /// and one piece more. Bytes count until the buffer they are in was sent, which is of 16 KiB.
    pub output_bytes_max: usize,
    /// Content of a response that its owner dropped, read without waiting so that the connection
    /// can be used again: 64 KiB. Beyond it the connection is closed. Over HTTP/2 it is read for up to
    /// a second, and beyond it the stream is reset.
    pub drain_bytes_max: u64,
    /// Content of a response that [`Response::bytes`](crate::Response::bytes) and its like collect: 64 MiB.
    /// Beyond it they fail. One response may have [another limit](crate::Response::limit); a stream has none.
    pub collect_bytes_max: u64,
    /// Content of a response after [decoding](crate::ClientBuilder::decode_content): no limit. Beyond it reading fails
    /// with [`ErrorKind::BodyTooLarge`](crate::ErrorKind::BodyTooLarge).
    #[cfg(feature = "compression")]
    pub decoded_bytes_max: u64,
    /// How many times as large as it came content may become by decoding, once that is more than 16 MiB: 1,000.
    /// Ordinary content stays below 100; gzip comes to 1,032 and others to far more only with content made for it.
    /// Beyond it reading fails with [`ErrorKind::BodyTooLarge`](crate::ErrorKind::BodyTooLarge).
    #[cfg(feature = "compression")]
    pub decoded_ratio_max: u32,
    /// Times an idempotent request is sent again because the reused connection it went out on had
    /// been closed: 2. Each time on a fresh connection.
    pub retries_max: u32,
    /// Times a request of any method is sent again because the server did nothing of it and said so,
    /// as it can over HTTP/2 (RFC 9113 §8.7): 32. After a refusal, and else from the second time on,
    /// each time a little later. After a GOAWAY by ENHANCE_YOUR_CALM, which says that the client asks too much, or one
    /// by which the server did nothing of any request of the connection, never more than twice.
    pub refusals_max: u32,
}

impl Default for ClientLimits {
    fn default() -> Self {
        Self {
            wire: WireLimits::client(),
            time: ClientTime::default(),
            pool: PoolLimits::default(),
            output_bytes_max: stoop_io::OUTPUT_BYTES_MAX,
            drain_bytes_max: 64 * 1024,
            collect_bytes_max: COLLECT_BYTES_MAX,
            #[cfg(feature = "compression")]
            decoded_bytes_max: u64::MAX,
            #[cfg(feature = "compression")]
            decoded_ratio_max: 1_000,
            retries_max: 2,
            refusals_max: 32,
        }
    }
}

/// Time limits of each part of an exchange. `None`, or [`Duration::MAX`], is no limit.
///
/// By default an exchange may last as long as it moves: there is a limit for each part up to the
/// response's head, and one for content that stalls, but none for how long content takes in all, or how
/// slowly it comes. A download of hours and a stream of events are ordinary. A program that asks many servers
/// that it does not know sets [`total`](Self::total), and perhaps a least rate. One request may have
/// limits of its own: [`Request::timeout`], [`Request::without_deadlines`].
///
/// | what passed | [`ErrorKind`] | [`Phase`](crate::Phase) |
/// |---|---|---|
/// | `queue`, `dns`, `connect`, `tls` | `QueueTimeout`, `DnsTimeout`, `ConnectTimeout`, `TlsTimeout` | its own |
/// | `head` | `FirstByteTimeout` | `Queue`, `Dns`, `Connect`, `Tls`, `Send`, `Wait` or `Redirect` |
/// | `send_idle` | `ReadTimeout` | `Send`, and `Wait` if the server is gone |
/// | `head_wait` | `ReadTimeout` | `Wait` |
/// | `read_idle` | `ReadTimeout` | `Receive` |
/// | `body_bytes_per_second_min` | `SlowBody` | `Receive` |
/// | `total` | `TotalTimeout` | any |
///
/// Beside these, a server of HTTP/2 that says nothing for 3 s while a response is waited for is asked
/// by a PING whether it is there. If it does not answer within
/// [`ping_timeout`](crate::limits::Http2Limits::ping_timeout), all exchanges of that connection fail.
///
/// [`ErrorKind`]: crate::ErrorKind
/// [`Request::timeout`]: crate::Request::timeout
/// [`Request::without_deadlines`]: crate::Request::without_deadlines
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ClientTime {
    /// Waiting for a connection, where there are as many as the [`PoolLimits`] allow: no limit but those of the
    /// exchange.
    pub queue: Option<Duration>,
    /// Resolving a name: 5 s.
    pub dns: Option<Duration>,
    /// Making a connection, over all addresses tried: 5 s.
    pub connect: Option<Duration>,
    /// The TLS handshake: 10 s.
    pub tls: Option<Duration>,
    /// From the call to the whole head of the final response: 60 s. Everything before it is included:
    /// waiting for a connection, making it, sending the request with its content, interim responses
    /// (1xx), redirects and repetitions. A request whose content takes longer to send has
    /// [`Request::timeout`](crate::Request::timeout). Where there is a [`total`](ClientTime::total), the
    /// default of 60 s does not hold beside it, any other limit does.
    pub head: Option<Duration>,
    /// Without a byte of the request accepted by the server: 30 s. Over HTTP/1 this holds for the whole request,
    /// once it is written: if the server's kernel has acknowledged nothing of it, the server is gone, and an
    /// idempotent request on a connection that had served before is sent again. Over HTTP/2, bytes of other requests count
    /// too while the request waits for its turn on the connection that they share; they do not count if
    /// the server keeps the window of its stream closed.
    pub send_idle: Option<Duration>,
    /// Without the head of a response, final or interim (1xx), once the request is sent: no limit but [`head`](ClientTime::head)
    /// and [`total`](ClientTime::total), which redirects and repetitions share. Each of those has this time anew. A request is
    /// not sent again because this time is over, but for an idempotent one over HTTP/1 on a connection that had served
    /// before, of which the server's kernel has acknowledged nothing. Over HTTP/1, this time begins anew where it is over and
    /// the kernel has taken some of a request of more than 64 KiB meanwhile. Over HTTP/2 it includes what a request without
    /// content waits for the connection, until it is sent. Not for what a proxy takes to connect, if
    /// [`connect`](ClientTime::connect) is a limit to that.
    pub head_wait: Option<Duration>,
    /// Without a byte of the response's content while its owner waits for it: 90 s, twice what servers
    /// of event streams leave between two heartbeats, and more.
    pub read_idle: Option<Duration>,
    /// Grace before [`ClientTime::body_bytes_per_second_min`] counts: 10 s.
    pub body_grace: Duration,
    /// What the rate is averaged over: 20 s.
    pub body_window: Duration,
    /// The response's content must arrive at this rate, after the grace and while its owner waits
    /// for it: 0, which is no limit. Waiting uses up `body_window`, and each byte gives back the
    /// time it may take at this rate; when nothing is left of it: [`ErrorKind::SlowBody`]. A grace and
    /// a window of more than an hour together are no limit either.
    ///
    /// An owner waits from a poll that finds nothing until the next that finds something. One that
    /// stops polling in between is taken to wait on; what came meanwhile counts for the server.
    ///
    /// [`ErrorKind::SlowBody`]: crate::ErrorKind::SlowBody
    pub body_bytes_per_second_min: u64,
    /// Waiting for 100 Continue before the content is sent all the same: 1 s.
    pub expect_continue: Duration,
    /// Everything, from the call to the last byte of content, waiting for a connection and
    /// redirects included: no limit.
    pub total: Option<Duration>,
}

impl ClientTime {
    /// The default of [`ClientTime::head`].
    const HEAD: Duration = Duration::from_secs(60);

    /// The limit to the head that holds: the default does not, where a total is set.
    pub(crate) fn head_limit(&self) -> Option<Duration> {
        self.head.filter(|head| self.total.is_none() || *head != Self::HEAD)
    }

    /// Whether the head of a response is waited for no longer than an acknowledgment of the request.
    pub(crate) fn head_wait_is_first(&self) -> bool {
        let is_first = |wait| self.send_idle.is_none_or(|idle| wait <= idle);
        self.head_wait.is_some_and(is_first)
    }
}

impl Default for ClientTime {
    fn default() -> Self {
        Self {
            queue: None,
            dns: Some(Duration::from_secs(5)),
            connect: Some(Duration::from_secs(5)),
            tls: Some(Duration::from_secs(10)),
            head: Some(Self::HEAD),
            send_idle: Some(Duration::from_secs(30)),
            head_wait: None,
            read_idle: Some(Duration::from_secs(90)),
            body_grace: Duration::from_secs(10),
            body_window: Duration::from_secs(20),
            body_bytes_per_second_min: 0,
            expect_continue: Duration::from_secs(1),
            total: None,
        }
    }
}

/// How many connections a client keeps.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PoolLimits {
    /// Connections to one origin at a time: 256, and 1 at least. Beyond it requests wait their turn.
    pub per_origin_max: usize,
    /// The same of HTTP/2, where one carries many requests: 32, and 1 at least. Another is opened when
    /// all streams are in use that the server allows, and as many at a time as the waiting requests need.
    /// One that the server is about to end does not count.
    pub http2_per_origin_max: usize,
    /// Requests on one HTTP/2 connection, after which another takes its place: 1,000,000,000, and
    /// 1 at least. There are 1,073,741,824 identifiers of streams (RFC 9113 §5.1.1).
    pub http2_requests_per_connection_max: u32,
    /// Connections in all: 80 % of the file descriptors this process may have, and 1 at least.
    /// Beyond it idle ones are closed, then requests wait, and the longest-waiting is next.
    pub total_max: usize,
    /// Idle connections to one origin: 256, as many as it may have. Fewer would be opened anew by each
    /// wave of requests. Beyond it the oldest is closed.
    pub idle_per_origin_max: usize,
    /// Idle connections in all: 512. Beyond it the oldest is closed.
    pub idle_max: usize,
    /// How long a connection may idle: 50 s, below what servers allow.
    pub idle: Duration,
    /// How long a connection may serve: no limit ([`Duration::MAX`]). Beyond it the connection takes no
    /// further request and ends with those that it has, so that a client finds the new addresses of a name.
    pub lifetime: Duration,
    /// How long an origin is not tried again once two connections to it have failed one after the other:
    /// 100 ms, and twice as long after each further one. Meanwhile requests that need a new connection fail
    /// at once, as the last attempt did.
    pub backoff_min: Duration,
    /// The longest of these delays: 2 s. [`Duration::ZERO`] is no delay at all.
    pub backoff_max: Duration,
}

impl Default for PoolLimits {
    fn default() -> Self {
        Self {
            per_origin_max: 256,
            http2_per_origin_max: 32,
            http2_requests_per_connection_max: 1_000_000_000,
            total_max: stoop_io::descriptors_max() / 5 * 4,
            idle_per_origin_max: 256,
            idle_max: 512,
            idle: Duration::from_secs(50),
            lifetime: Duration::MAX,
            backoff_min: Duration::from_millis(100),
            backoff_max: Duration::from_secs(2),
        }
    }
}
