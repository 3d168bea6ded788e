//! A client pointed at a handler: the machines of both ends over memory, without a socket.

use std::sync::Arc;

use stoop_io::{AnyTransport, MEMORY_BYTES, Memory, Timer};

use crate::client::ClientBuilder;
use crate::handler::{Answer, Handler, IntoHandler};
use crate::limits::ServerLimits;
use crate::request::Request;
use crate::request::relay::ExtensionRelay;
use crate::server::{Control, Core, Registration, ServerConnection};
use crate::versions::Versions;

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
        let limits = Arc::new(ServerLimits::default());
        let control = Arc::new(Control::default());
        let relay = Arc::<ExtensionRelay>::default();
        let handler = RelayHandler { handler: handler.into_handler(), relay: relay.clone() };
        let core = Core::new(handler, limits, control, Versions::All);
        let connect = move || {
            let (ours, theirs) = Memory::pair(MEMORY_BYTES);
            let theirs = AnyTransport::Custom(Box::new(theirs));
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
