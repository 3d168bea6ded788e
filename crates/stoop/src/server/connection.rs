//! One connection of a server, whichever version of HTTP it turns out to speak.
//!
//! It begins as HTTP/1. A client that speaks HTTP/2 says so at once, by ALPN or by its first bytes (RFC 9113
//! §3.3): the connection then keeps its transport and what it knows of the client, and changes its driver.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use stoop_io::{AnyTransport, PeerAddress, Timer, Transport};

use crate::conn::wire::Wire;
use crate::handler::Handler;
use crate::server::control::{Lifecycle, Registration};
use crate::server::core::{ConnectionParts, Core, ServerShared};
use crate::server::detached::DetachedConnection;
use crate::server::events::RefusalReason;
use crate::server::http1::Ended;
use crate::server::monitor::{RefusalPermit, Watched};
use crate::server::proxy_protocol::{HeaderReader, HeaderResult};
use crate::server::{http1, http2};

/// A connection being served; done when it is over. `Send` exactly when the handler's future and
/// body are.
pub(crate) struct ServerConnection<H: Handler> {
    /// None once it is over.
    driver: Option<VersionDriver<H>>,
    /// What is done when it is over. Behind the driver, because it is dropped after it.
    extra: Option<Box<ConnectionExtra>>,
}

/// What few connections have.
enum ConnectionExtra {
    /// Its end is to be told.
    Watched(Watched),
    /// It is told why it is refused.
    Refused(#[expect(dead_code, reason = "held, not used")] RefusalPermit),
}

#[expect(clippy::large_enum_variant, reason = "most are HTTP/1, and each is a task's only content")]
enum VersionDriver<H: Handler> {
    /// It is not known yet whose connection it is.
    Proxy(Box<BehindProxy<H>>),
    Http1(http1::Http1Driver<H>),
    Http2(Box<http2::ServerDriver<H>>),
    /// The client has gone, and handlers run on.
    Detached(Box<DetachedConnection<H>>),
}

impl<H: Handler> ServerConnection<H> {
    pub(crate) fn new(
        io: AnyTransport,
        core: Arc<Core<H>>,
        timer: Timer,
        registration: Registration,
        balance: Option<stoop_io::ConnectionSlot>,
    ) -> Self {
        Self::with_proxy(io, core, timer, registration, balance, None)
    }

    /// The same with the other end of the socket, where that is not the client.
    fn with_proxy(
        io: AnyTransport,
        core: Arc<Core<H>>,
        timer: Timer,
        registration: Registration,
        balance: Option<stoop_io::ConnectionSlot>,
        proxy: Option<PeerAddress>,
    ) -> Self {
        let (wire, facts) = (Wire::new(io), core.facts(proxy));
        let parts = ConnectionParts { wire, core, timer, registration, facts, balance };
        Self { driver: Some(VersionDriver::Http1(http1::Http1Driver::new(parts))), extra: None }
    }

    /// One that is told that its address has too many, and closed.
    pub(in crate::server) fn refusing(
        io: AnyTransport,
        core: Arc<Core<H>>,
        timer: Timer,
        registration: Registration,
        permit: RefusalPermit,
    ) -> Self {
        let mut connection = Self::new(io, core, timer, registration, None);
        if let Some(VersionDriver::Http1(driver)) = &mut connection.driver {
            driver.begin_refusal();
        }
        connection.extra = Some(Box::new(ConnectionExtra::Refused(permit)));
        connection
    }

    /// The same, and its end is told.
    pub(in crate::server) fn watched_by(mut self, watched: Option<Watched>) -> Self {
        self.extra = watched.map(|watched| Box::new(ConnectionExtra::Watched(watched)));
        self
    }

    /// Notes how it ended, where that is told.
    fn ended(&mut self) {
        let Some(ConnectionExtra::Watched(watched)) = self.extra.as_deref_mut() else { return };
        match &self.driver {
            None | Some(VersionDriver::Proxy(_) | VersionDriver::Detached(_)) => {}
            Some(VersionDriver::Http1(driver)) => {
                watched.ended(driver.ended_for(), driver.carried());
            }
            Some(VersionDriver::Http2(driver)) => {
                watched.ended(driver.machine.close_reason(), driver.wire.carried());
            }
        }
    }

    /// A connection that begins with a proxy's header.
    pub(crate) fn behind_proxy(behind: BehindProxy<H>) -> Self {
        Self { driver: Some(VersionDriver::Proxy(Box::new(behind))), extra: None }
    }
}

/// A connection whose first bytes are a proxy's header, which has not been read yet.
pub(crate) struct BehindProxy<H: Handler> {
    reader: HeaderReader,
    core: Arc<Core<H>>,
    /// The number of the place where it came says what is spoken behind the header.
    place: (ServerShared, usize),
    registration: Registration,
    balance: Option<stoop_io::ConnectionSlot>,
}

/// How long a server that is to stop waits for a header, as for the first byte of a request.
const HEADER_TIMEOUT: Duration = Duration::from_secs(1);

impl<H: Handler> BehindProxy<H> {
    pub(in crate::server) fn new(
        io: AnyTransport,
        timer: Timer,
        core: Arc<Core<H>>,
        place: (ServerShared, usize),
        registration: Registration,
        balance: Option<stoop_io::ConnectionSlot>,
    ) -> Self {
        let reader = HeaderReader::new(io, timer, core.limits.time.head);
        Self { reader, core, place, registration, balance }
    }

    /// Ready with what the header has told; none if the connection is to be closed.
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Option<PeerAddress>>> {
        self.registration.take(cx.waker());
        match self.core.control.lifecycle() {
            Lifecycle::Running => {}
            Lifecycle::Draining => self.reader.hurry(HEADER_TIMEOUT),
            Lifecycle::Closing => return Poll::Ready(None),
        }
        Poll::Ready(match ready!(self.reader.poll(cx)) {
            HeaderResult::Read(proxy) => Some(proxy),
            HeaderResult::Refused => {
                self.core.control.count_proxy_refusal();
                let proxy = self.reader.io.peer().inet();
                self.core.monitor.refused_silently(proxy, RefusalReason::ProxyHeader);
                None
            }
        })
    }

    /// The connection of the client, or what refuses it. A proxy that names no client speaks for itself, or for any
    /// number of them: the bound of an address says nothing of it.
    fn into_connection(self, proxy: Option<PeerAddress>) -> Option<ServerConnection<H>> {
        let Self { reader, core, place: (shared, binding), mut registration, balance } = self;
        let HeaderReader { io, timer, .. } = reader;
        let (spoken, peer) = (&shared.spoken[binding], io.peer().inet());
        if let (Some(table), Some(_), Some(client)) = (&shared.monitors.addresses, proxy, peer) {
            let Some(permit) = table.enter(client.ip()) else {
                let (reason, is_secure) = (RefusalReason::PerAddress, spoken.is_secure());
                let permit = core.monitor.refused(peer, reason, is_secure)?;
                let io = spoken.secure_refused(io)?;
                return Some(ServerConnection::refusing(io, core, timer, registration, permit));
            };
            registration.hold(permit);
        }
        let watched = core.monitor.accepted(peer);
        let io = spoken.secure(io)?;
        let connection =
            ServerConnection::with_proxy(io, core, timer, registration, balance, proxy);
        Some(connection.watched_by(watched))
    }
}

impl<H: Handler> Future for ServerConnection<H> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        loop {
            match &mut self.driver {
                None => {
                    self.extra = None;
                    return Poll::Ready(());
                }
                Some(VersionDriver::Proxy(behind)) => {
                    let proxy = ready!(behind.poll(cx));
                    if let (Some(VersionDriver::Proxy(behind)), Some(proxy)) =
                        (self.driver.take(), proxy)
                        && let Some(connection) = behind.into_connection(proxy)
                    {
                        *self = connection;
                    }
                }
                Some(VersionDriver::Detached(handlers)) => {
                    ready!(handlers.poll(cx));
                    self.driver = None;
                }
                Some(VersionDriver::Http2(driver)) => {
                    ready!(driver.poll(cx));
                    self.ended();
                    if let Some(VersionDriver::Http2(driver)) = self.driver.take() {
                        self.driver = http2::detached(*driver).map(detached);
                    }
                }
                Some(VersionDriver::Http1(driver)) => {
                    let end = ready!(driver.poll(cx));
                    self.ended();
                    if let Some(VersionDriver::Http1(driver)) = self.driver.take() {
                        self.driver = match driver.end(end) {
                            Ended::Http2(parts) => Some(VersionDriver::Http2(Box::new(
                                http2::ServerDriver::from_parts(*parts),
                            ))),
                            Ended::Detached(handlers) => Some(detached(handlers)),
                            Ended::Whole => None,
                        };
                    }
                }
            }
        }
    }
}

fn detached<H: Handler>(handlers: DetachedConnection<H>) -> VersionDriver<H> {
    VersionDriver::Detached(Box::new(handlers))
}

impl<H: Handler> Unpin for ServerConnection<H> {}

#[cfg(test)]
mod tests;
