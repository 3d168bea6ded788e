//! A client pointed at a handler: the machines of both ends over memory, without a socket.

use std::sync::Arc;

use stoop_io::{AnyTransport, MEMORY_BYTES, Memory, Timer};

use crate::client::ClientBuilder;
use crate::handler::{Handler, IntoHandler};
use crate::limits::ServerLimits;
use crate::server::{Control, Core, Registration, ServerConnection};
use crate::versions::Versions;

impl ClientBuilder {
    /// Answers everything by a handler in this process, with the real machines at both ends and no
    /// socket in between, nor TLS for https. Each connection is a task of the runtime that sends.
    pub fn handler<K, T>(self, handler: T) -> Self
    where
        T: IntoHandler<K>,
        T::Handler: Send + Sync,
        <T::Handler as Handler>::Future: Send,
        <T::Handler as Handler>::Body: Send,
    {
        let limits = Arc::new(ServerLimits::default());
        let control = Arc::new(Control::default());
        let core = Core::new(handler.into_handler(), limits, control, Versions::All);
        self.handler_from(move || {
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
        })
    }
}

#[cfg(test)]
mod tests;
