//! [`ServingEvent`]: what a server tells its observers of its connections.

use std::error::Error;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use http::{Method, StatusCode, Version};
use stoop_proto::{CloseReason, RequestHead, Violation};

/// What happens to the connections of a server: for [`Server::observe`](crate::Server::observe).
///
/// A connection begins with `Accepted` or `Refused`. One that was accepted ends with `Closed`, whatever else is told of
/// it in between; an upgraded one ends where it is handed over. One that a proxy passes on by the
/// [PROXY protocol](crate::ProxyProtocol) begins when the client is known; one that is refused before is told with the
/// address of the other end of the socket, and counted by
/// [`ServerHandle::proxy_refusals`](crate::ServerHandle::proxy_refusals).
#[derive(Debug)]
#[non_exhaustive]
pub enum ServingEvent<'a> {
    /// A connection was accepted.
    #[non_exhaustive]
    Accepted {},
    /// A connection was refused, and is closed.
    #[non_exhaustive]
    Refused {
        /// Why.
        reason: RefusalReason,
        /// The status that the client is told, if it is told one: over TLS once its handshake is done.
        answer: Option<StatusCode>,
    },
    /// Accepting pauses; new connections wait in the kernel's queue. It concerns no single client.
    #[non_exhaustive]
    Paused {
        /// Why.
        reason: PauseReason,
    },
    /// A TLS handshake failed.
    #[non_exhaustive]
    HandshakeFailed {
        /// How; `None` if it was not finished within [`ServerTime::head`](crate::ServerTime::head).
        error: Option<&'a io::Error>,
    },
    /// A request was malformed, or exceeded one of the [`WireLimits`](crate::limits::WireLimits).
    #[non_exhaustive]
    Malformed {
        /// The version of HTTP.
        version: Version,
        /// What was wrong, over HTTP/1.
        violation: Option<Violation>,
        /// What was wrong, as a sentence without what the client has sent.
        reason: &'a str,
        /// The status of the answer. There is none behind a response that has begun, nor where a stream of HTTP/2 is
        /// reset.
        answer: Option<StatusCode>,
        /// How many requests these were: 1, or more of one connection of HTTP/2 that came together, and were all answered
        /// or all not. Reason and answer are the last one's.
        requests: u32,
        /// Whether a handler was called for the request, as where its content is malformed: middleware has seen it.
        is_handled: bool,
    },
    /// A client broke the rules of HTTP/2 in a way that ends its connection.
    #[non_exhaustive]
    Http2Fault {
        /// What was wrong, as a sentence.
        reason: &'a str,
        /// The client has caused more work than the limits allow, by resets, frames or header blocks: ENHANCE_YOUR_CALM.
        is_abuse: bool,
    },
    /// A time limit has passed: see [`ServerTime`](crate::ServerTime).
    #[non_exhaustive]
    TimedOut {
        /// Which.
        timeout: ServerTimeout,
        /// The status of the answer, if there is one.
        answer: Option<StatusCode>,
    },
    /// A request was answered 503, and no handler called, because the server has too much to do.
    #[non_exhaustive]
    Shed {
        /// The head of the request.
        head: &'a RequestHead,
        /// Why.
        reason: ShedReason,
    },
    /// A handler failed, by an error whose text the client is not told: the response that is sent has a
    /// [`HandlerError`](crate::HandlerError). Among these are the errors of services of tower, and each
    /// [`Error`](crate::Error) that a handler returns, also one that blames the client.
    #[non_exhaustive]
    HandlerFailed {
        /// The method of the request.
        method: &'a Method,
        /// The path of the request.
        path: &'a str,
        /// The status of the response. It is not sent if the client has left, or a time limit has passed.
        status: StatusCode,
        /// The error.
        error: &'a (dyn Error + Send + Sync + 'static),
    },
    /// The content of a response failed while it was sent: the response is cut short, and over HTTP/1 its connection is
    /// closed. Which request it answers, the access log of `stoop-web` tells.
    #[non_exhaustive]
    ContentFailed {
        /// The error; `None` if the content panicked. Content that is not as long as the response has said fails by a
        /// [`Misuse`](crate::Misuse).
        error: Option<&'a (dyn Error + Send + Sync + 'static)>,
        /// The status that is sent in place of the response: of a small file that cannot be read.
        answer: Option<StatusCode>,
    },
    /// A handler panicked; the request is answered 500.
    #[non_exhaustive]
    Panicked {
        /// The method of the request.
        method: &'a Method,
        /// The path of the request.
        path: &'a str,
        /// The message of the panic, if it is a text.
        message: &'a str,
    },
    /// A connection is closed, or an upgrade's owner has it.
    #[non_exhaustive]
    Closed {
        /// Why, where the server knows: not if the client was gone, or the task of the connection was cut off.
        reason: Option<CloseReason>,
        /// How long it was open.
        lasted: Duration,
        /// Bytes of HTTP that were sent, without what TLS adds.
        sent: u64,
        /// Bytes of HTTP that were received.
        received: u64,
    },
}

/// Why a server refuses a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RefusalReason {
    /// The address has as many as
    /// [`connections_per_address_max`](crate::ServerLimits::connections_per_address_max) allows.
    PerAddress,
    /// It did not begin with the header of a [proxy](crate::ProxyProtocol), or that was malformed, or late.
    ProxyHeader,
    /// It does not come from one of the [proxies](crate::ProxyProtocol::from_networks).
    NotProxy,
}

/// Why a server accepts nothing for a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PauseReason {
    /// There are as many connections as [`connections_max`](crate::ServerLimits::connections_max) allows.
    ConnectionsMax,
    /// The process has no descriptor or memory for another one.
    OutOfDescriptors,
}

/// Why a request is shed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ShedReason {
    /// The thread comes to its tasks so late: see [`SheddingLimits::lag_max`](crate::limits::SheddingLimits::lag_max).
    #[non_exhaustive]
    Lag {
        /// How late.
        lag: Duration,
    },
    /// So many handlers run: see [`SheddingLimits::handlers_max`](crate::limits::SheddingLimits::handlers_max).
    #[non_exhaustive]
    Handlers {
        /// How many, on this thread.
        running: usize,
    },
}

/// A time limit of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ServerTimeout {
    /// A TLS handshake took longer than [`ServerTime::head`](crate::ServerTime::head).
    Handshake,
    /// The head of a request took longer than [`ServerTime::head`](crate::ServerTime::head).
    Head,
    /// No request came within [`ServerTime::idle`](crate::ServerTime::idle).
    Idle,
    /// No content came within [`ServerTime::body_idle`](crate::ServerTime::body_idle).
    BodyIdle,
    /// Content came slower than
    /// [`ServerTime::body_bytes_per_second_min`](crate::ServerTime::body_bytes_per_second_min).
    BodyRate,
    /// The client took nothing of a response within [`ServerTime::send`](crate::ServerTime::send).
    Send,
    /// A handler took longer than [`ServerTime::handler`](crate::ServerTime::handler).
    Handler,
    /// Content that no handler wanted did not come within [`ServerTime::drain`](crate::ServerTime::drain).
    Drain,
}

/// A function that is told what happens to the connections of a server.
pub(crate) type ServingObserver = Box<dyn Fn(Option<SocketAddr>, &ServingEvent<'_>) + Send + Sync>;

/// The functions that a server tells what happens: mostly none. Cheap to clone.
#[derive(Clone, Default)]
pub(super) struct ServingObservers(Option<Arc<[ServingObserver]>>);

impl ServingObservers {
    pub(super) fn new(all: Vec<ServingObserver>) -> Self {
        Self((!all.is_empty()).then(|| all.into()))
    }

    #[inline]
    pub(super) fn is_heard(&self) -> bool {
        self.0.is_some()
    }

    /// Tells what happens. Returns how many of the functions panicked, which harms nothing else.
    pub(super) fn tell(&self, peer: Option<SocketAddr>, event: &ServingEvent<'_>) -> u64 {
        let Some(all) = &self.0 else { return 0 };
        let told = |observer: &ServingObserver| {
            u64::from(catch_unwind(AssertUnwindSafe(|| observer(peer, event))).is_err())
        };
        all.iter().map(told).sum()
    }
}

impl fmt::Display for RefusalReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::PerAddress => "the address has as many connections as it may have",
            Self::ProxyHeader => "no proxy's header came, or none that is right",
            Self::NotProxy => "the address is none of the proxies'",
        })
    }
}

impl fmt::Display for PauseReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ConnectionsMax => "the server has as many connections as it may have",
            Self::OutOfDescriptors => "the process is out of descriptors or memory",
        })
    }
}

impl fmt::Display for ShedReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lag { lag } => write!(f, "the thread is {lag:?} late"),
            Self::Handlers { running } => write!(f, "{running} handlers run on the thread"),
        }
    }
}

impl fmt::Display for ServerTimeout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Handshake => "the TLS handshake took too long",
            Self::Head => "the head of a request took too long",
            Self::Idle => "no request came",
            Self::BodyIdle => "no content came",
            Self::BodyRate => "content came too slowly",
            Self::Send => "the client took nothing of the response",
            Self::Handler => "the handler took too long",
            Self::Drain => "content that no handler wanted did not come",
        })
    }
}
