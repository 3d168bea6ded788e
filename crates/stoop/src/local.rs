//! A client pointed at a handler: the machines of both ends over memory, without a socket.

use std::net::SocketAddr;
use std::sync::Arc;

use stoop_io::{AnyTransport, MEMORY_BYTES, Memory, PeerAddress, Timer};

use crate::client::ClientBuilder;
use crate::handler::{Answer, Handler, IntoHandler};
use crate::limits::ServerLimits;
use crate::request::Request;
use crate::request::relay::ExtensionRelay;
use crate::server::{Control, Core, Registration, ServerConnection};
use crate::versions::Versions;

/// A server in this process, for [`ClientBuilder::local_server`]: a handler, with what the server around it is to
/// be like.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// use stoop::limits::ServerLimits;
/// use stoop::{Client, LocalServer, Request};
///
/// let who = |request: Request| format!("{:?}", request.remote_address());
/// let mut limits = ServerLimits::default();
/// limits.wire.body_bytes_max = Some(10);
/// let server = LocalServer::new(who).peer("192.0.2.7:1234".parse().unwrap()).limits(limits);
/// let client = Client::builder().local_server(server).build()?;
/// assert_eq!(client.get("http://a.test/").await?.text().await?, "Some(192.0.2.7:1234)");
/// let too_large = client.post("http://a.test/").body("more than ten bytes").await?;
/// assert_eq!(too_large.status(), 413);
/// # Ok::<(), stoop::Error>(()) }).unwrap();
/// ```
pub struct LocalServer<H> {
    handler: H,
    limits: ServerLimits,
    versions: Versions,
    peer: PeerAddress,
}

impl<H: Handler> LocalServer<H> {
    /// A server with the default limits, whose clients have no address.
    pub fn new<K, T: IntoHandler<K, Handler = H>>(handler: T) -> Self {
        Self {
            handler: handler.into_handler(),
            limits: ServerLimits::default(),
            versions: Versions::All,
            peer: PeerAddress::Memory,
        }
    }

    /// Replaces the limits.
    pub fn limits(mut self, limits: ServerLimits) -> Self {
        self.limits = limits;
        self
    }

    /// The versions that the server speaks: by default all.
    pub fn versions(mut self, versions: Versions) -> Self {
        self.versions = versions;
        self
    }

    /// The [address](Request::remote_address) that requests come from: by default none.
    pub fn peer(mut self, address: SocketAddr) -> Self {
        self.peer = PeerAddress::Inet(address);
        self
    }
}

impl ClientBuilder {
    /// Answers everything by a handler in this process, with the real machines at both ends and no
    /// socket in between, nor TLS for https. Each connection is a task of the runtime that sends. The handler
    /// is called with the [extensions](Request::extensions) that the caller gave the request.
    pub fn handler<K, T>(self, handler: T) -> Self
    where
        T: IntoHandler<K>,
        T::Handler: Send + Sync,
        <T::Handler as Handler>::Future: Send,
        <T::Handler as Handler>::Body: Send,
    {
        self.local_server(LocalServer::new(handler))
    }

    /// Sends every request to a handler in this process, as [`handler`](Self::handler) does, with limits, versions
    /// and a client's address of the test's choice.
    pub fn local_server<H>(self, server: LocalServer<H>) -> Self
    where
        H: Handler + Send + Sync,
        H::Future: Send,
        H::Body: Send,
    {
        let LocalServer { handler, limits, versions, peer } = server;
        let control = Arc::new(Control::default());
        let relay = Arc::<ExtensionRelay>::default();
        let handler = RelayHandler { handler, relay: relay.clone() };
        let core = Core::new(handler, Arc::new(limits), control, versions);
        let connect = move || {
            let (ours, theirs) = Memory::pair(MEMORY_BYTES);
            let theirs = AnyTransport::Custom(Box::new(theirs.with_peer(peer)));
            let registration = Registration::extra(core.control.clone());
            tokio::spawn(ServerConnection::new(
                theirs,
                core.clone(),
                Timer::precise(),
                registration,
                None,
            ));
            AnyTransport::Custom(Box::new(ours))
        };
        self.handler_from(connect, relay)
    }
}

/// A handler that is called with the extensions that a client gave its requests.
struct RelayHandler<H> {
    handler: H,
    relay: Arc<ExtensionRelay>,
}

impl<H: Handler> Handler for RelayHandler<H> {
    type Body = H::Body;
    type Output = H::Output;
    type Future = H::Future;

    fn call(&self, mut request: Request) -> Answer<H::Future, H::Body> {
        self.relay.receive(&mut request);
        self.handler.call(request)
    }
}

#[cfg(test)]
mod tests;
