//! What the connections of one core share, and what each has, in whichever version it is driven.

use std::sync::Arc;

#[cfg(any(feature = "tls", feature = "tls-ring"))]
use stoop_io::ServerTls;
use stoop_io::{AnyTransport, PeerAddress, Timer};
use stoop_proto::Limits;

use crate::conn::wire::Wire;
use crate::connection_info::ConnectionFacts;
use crate::handler::Handler;
use crate::limits::ServerLimits;
use crate::server::control::{Control, Registration};
use crate::server::counters::Threads;
use crate::server::future_pool::FuturePool;
use crate::server::monitor::Monitor;
use crate::server::monitors::Monitors;
use crate::server::polled_body::BodyPlace;
use crate::server::proxy_protocol::{HeaderClaim, ProxyProtocol};
use crate::versions::Versions;

/// What all cores of a server share.
#[derive(Clone)]
pub(crate) struct ServerShared {
    pub(super) control: Arc<Control>,
    pub(super) limits: Arc<ServerLimits>,
    pub(super) versions: Versions,
    /// What is spoken in each place where it listens.
    pub(super) spoken: Arc<[Spoken]>,
    pub(super) monitors: Arc<Monitors>,
}

/// What is spoken, below HTTP, with the connections of one place where a server listens.
pub(super) struct Spoken {
    pub(super) proxy_protocol: Option<ProxyProtocol>,
    #[cfg(any(feature = "tls", feature = "tls-ring"))]
    pub(super) tls: Option<SpokenTls>,
}

/// The TLS of one place.
#[cfg(any(feature = "tls", feature = "tls-ring"))]
pub(super) struct SpokenTls {
    served: ServerTls,
    /// For connections that are refused, with HTTP/1 alone: there an answer needs no request.
    refused: ServerTls,
}

#[cfg(any(feature = "tls", feature = "tls-ring"))]
impl SpokenTls {
    pub(super) fn new(tls: ServerTls, versions: Versions) -> Self {
        let refused = tls.clone().with_alpn_default(Versions::Http1.accepted());
        Self { served: tls.with_alpn_default(versions.accepted()), refused }
    }
}

impl Spoken {
    /// Whether a connection from there begins with a proxy's header.
    pub(super) fn claim(&self, peer: PeerAddress) -> HeaderClaim {
        self.proxy_protocol.as_ref().map_or(HeaderClaim::Absent, |proxies| proxies.claim(peer))
    }

    /// Whether TLS is.
    pub(super) fn is_secure(&self) -> bool {
        #[cfg(any(feature = "tls", feature = "tls-ring"))]
        return self.tls.is_some();
        #[cfg(not(any(feature = "tls", feature = "tls-ring")))]
        false
    }

    /// The transport that HTTP is spoken over. None if no session can be begun.
    #[cfg(any(feature = "tls", feature = "tls-ring"))]
    pub(super) fn secure(&self, io: AnyTransport) -> Option<AnyTransport> {
        match &self.tls {
            None => Some(io),
            Some(tls) => secured(&tls.served, io),
        }
    }

    /// The transport over which a connection is refused. None if no session can be begun.
    #[cfg(any(feature = "tls", feature = "tls-ring"))]
    pub(super) fn secure_refused(&self, io: AnyTransport) -> Option<AnyTransport> {
        match &self.tls {
            None => Some(io),
            Some(tls) => secured(&tls.refused, io),
        }
    }

    /// The transport over which a connection is refused.
    #[cfg(not(any(feature = "tls", feature = "tls-ring")))]
    pub(super) fn secure_refused(&self, io: AnyTransport) -> Option<AnyTransport> {
        Some(io)
    }

    /// The transport that HTTP is spoken over.
    #[cfg(not(any(feature = "tls", feature = "tls-ring")))]
    pub(super) fn secure(&self, io: AnyTransport) -> Option<AnyTransport> {
        Some(io)
    }
}

#[cfg(any(feature = "tls", feature = "tls-ring"))]
fn secured(tls: &ServerTls, io: AnyTransport) -> Option<AnyTransport> {
    tls.accept(io).ok().map(|tls| AnyTransport::Tls(Box::new(tls)))
}

impl ServerShared {
    /// Another core, whose connections these threads serve.
    pub(super) fn core<H: Handler>(&self, handler: H, threads: Threads) -> Arc<Core<H>> {
        let (limits, control) = (self.limits.clone(), self.control.clone());
        let monitor = self.monitors.core(threads);
        Core::monitored(handler, limits, control, self.versions, (monitor, threads))
    }
}

/// What the connections of one core share.
pub(crate) struct Core<H: Handler> {
    pub(crate) handler: H,
    pub(crate) limits: Arc<ServerLimits>,
    /// [`ServerLimits::wire`], as each HTTP/2 machine holds it.
    pub(crate) wire_limits: Arc<Limits>,
    pub(crate) control: Arc<Control>,
    pub(crate) versions: Versions,
    pub(super) futures: FuturePool<H::Future>,
    pub(super) body_place: BodyPlace<H::Body>,
    pub(super) monitor: Arc<Monitor>,
    /// The facts of connections of which nothing is known but their server. They share them where one thread serves:
    /// threads that all count in one place would wait for its cache line.
    plain_facts: Option<Arc<ConnectionFacts>>,
}

impl<H: Handler> Core<H> {
    /// One that tells nothing of what happens.
    pub(crate) fn new(
        handler: H,
        limits: Arc<ServerLimits>,
        control: Arc<Control>,
        versions: Versions,
    ) -> Arc<Self> {
        Self::monitored(handler, limits, control, versions, (Monitor::unheard(), Threads::Many))
    }

    fn monitored(
        handler: H,
        limits: Arc<ServerLimits>,
        control: Arc<Control>,
        versions: Versions,
        (monitor, threads): (Arc<Monitor>, Threads),
    ) -> Arc<Self> {
        let wire_limits = Arc::new(limits.wire.clone());
        let futures = FuturePool::new(monitor.clone());
        let plain_facts = (threads == Threads::One)
            .then(|| Arc::new(ConnectionFacts::new(control.drain.clone(), None)));
        Arc::new(Self {
            handler,
            limits,
            wire_limits,
            control,
            versions,
            futures,
            body_place: BodyPlace::default(),
            monitor,
            plain_facts,
        })
    }

    /// What the requests of a new connection are told of it: of a proxy at the other end of the socket, if there is
    /// one.
    pub(super) fn facts(&self, proxy: Option<PeerAddress>) -> Arc<ConnectionFacts> {
        match (&self.plain_facts, proxy) {
            (Some(shared), None) => shared.clone(),
            (_, proxy) => Arc::new(ConnectionFacts::new(self.control.drain.clone(), proxy)),
        }
    }
}

/// What a connection has, in whichever version it is driven.
pub(super) struct ConnectionParts<H: Handler> {
    pub(super) wire: Wire,
    pub(super) core: Arc<Core<H>>,
    pub(super) timer: Timer,
    pub(super) registration: Registration,
    /// What its requests are told of it.
    pub(super) facts: Arc<ConnectionFacts>,
    /// Its place on its core, behind the transport because it is dropped after it.
    pub(super) balance: Option<stoop_io::ConnectionSlot>,
}
