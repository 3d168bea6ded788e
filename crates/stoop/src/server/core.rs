//! What the connections of one core share, and what each has, in whichever version it is driven.

use std::sync::Arc;

#[cfg(any(feature = "tls", feature = "tls-ring"))]
use stoop_io::ServerTls;
use stoop_io::{AnyTransport, Timer};
use stoop_proto::Limits;

use crate::conn::wire::Wire;
use crate::connection_info::ConnectionFacts;
use crate::handler::Handler;
use crate::limits::ServerLimits;
use crate::server::control::{Control, Registration};
use crate::server::future_pool::FuturePool;
use crate::server::proxy_protocol::ProxyProtocol;
use crate::versions::Versions;

/// What all cores of a server share.
#[derive(Clone)]
pub(crate) struct ServerShared {
    pub(super) control: Arc<Control>,
    pub(super) limits: Arc<ServerLimits>,
    pub(super) versions: Versions,
    /// What is spoken in each place where it listens.
    pub(super) spoken: Arc<[Spoken]>,
}

/// What is spoken, below HTTP, with the connections of one place where a server listens.
pub(super) struct Spoken {
    pub(super) proxy_protocol: Option<ProxyProtocol>,
    #[cfg(any(feature = "tls", feature = "tls-ring"))]
    pub(super) tls: Option<ServerTls>,
}

impl Spoken {
    /// The transport that HTTP is spoken over. None if no session can be begun.
    #[cfg(any(feature = "tls", feature = "tls-ring"))]
    pub(super) fn secure(&self, io: AnyTransport) -> Option<AnyTransport> {
        match &self.tls {
            None => Some(io),
            Some(tls) => tls.accept(io).ok().map(|tls| AnyTransport::Tls(Box::new(tls))),
        }
    }

    /// The transport that HTTP is spoken over.
    #[cfg(not(any(feature = "tls", feature = "tls-ring")))]
    pub(super) fn secure(&self, io: AnyTransport) -> Option<AnyTransport> {
        Some(io)
    }
}

impl ServerShared {
    pub(super) fn core<H: Handler>(&self, handler: H) -> Arc<Core<H>> {
        Core::new(handler, self.limits.clone(), self.control.clone(), self.versions)
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
}

impl<H: Handler> Core<H> {
    pub(crate) fn new(
        handler: H,
        limits: Arc<ServerLimits>,
        control: Arc<Control>,
        versions: Versions,
    ) -> Arc<Self> {
        let wire_limits = Arc::new(limits.wire.clone());
        let futures = FuturePool::default();
        Arc::new(Self { handler, limits, wire_limits, control, versions, futures })
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
