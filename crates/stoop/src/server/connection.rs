//! One connection of a server, whichever version of HTTP it turns out to speak.
//!
//! It begins as HTTP/1, which a client that wants HTTP/2 says at once that it does not: by ALPN, or by
//! its first bytes (RFC 9113 §3.3). What is served stays with the connection, and its driver changes.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use stoop_io::{AnyTransport, Timer};

use crate::conn::wire::Wire;
use crate::handler::Handler;
use crate::server::control::Registration;
use crate::server::core::{ConnectionParts, Core};
use crate::server::{http1, http2};

/// A connection being served; done when it is over. `Send` exactly when the handler's future and
/// body are.
pub(crate) struct ServerConnection<H: Handler>(Option<VersionDriver<H>>);

#[expect(clippy::large_enum_variant, reason = "most are HTTP/1, and each is a task's only content")]
enum VersionDriver<H: Handler> {
    Http1(http1::Http1Driver<H>),
    Http2(Box<http2::ServerDriver<H>>),
}

impl<H: Handler> ServerConnection<H> {
    pub(crate) fn new(
        io: AnyTransport,
        core: Arc<Core<H>>,
        timer: Timer,
        registration: Registration,
        balance: Option<stoop_io::ConnectionSlot>,
    ) -> Self {
        let (wire, facts) = (Wire::new(io), None);
        let parts = ConnectionParts { wire, core, timer, registration, facts, balance };
        Self(Some(VersionDriver::Http1(http1::Http1Driver::new(parts))))
    }
}

impl<H: Handler> Future for ServerConnection<H> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        loop {
            match &mut self.0 {
                None => return Poll::Ready(()),
                Some(VersionDriver::Http2(driver)) => {
                    ready!(driver.poll(cx));
                    self.0 = None;
                }
                Some(VersionDriver::Http1(driver)) => {
                    let end = ready!(driver.poll(cx));
                    if let Some(VersionDriver::Http1(driver)) = self.0.take() {
                        let parts = driver.end(end);
                        self.0 = parts.map(|parts| {
                            VersionDriver::Http2(Box::new(http2::ServerDriver::from_parts(parts)))
                        });
                    }
                }
            }
        }
    }
}

impl<H: Handler> Unpin for ServerConnection<H> {}

#[cfg(test)]
mod tests;
