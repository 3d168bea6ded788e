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
use crate::server::monitor::{RefusalPermit, Watched};
use crate::server::{http1, http2};

/// A connection being served; done when it is over. `Send` exactly when the handler's future and
/// body are.
pub(crate) struct ServerConnection<H: Handler> {
    /// None once it is over.
    driver: Option<VersionDriver<H>>,
    /// What is done when it is over. Behind the driver, because it is dropped after it.
    extra: Option<ConnectionExtra>,
}

/// What few connections have.
enum ConnectionExtra {
    /// Its end is to be told.
    Watched(Box<Watched>),
    /// It is told why it is refused.
    Refused(#[expect(dead_code, reason = "held, not used")] RefusalPermit),
}

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
            driver.refuse_connection();
        }
        connection.extra = Some(ConnectionExtra::Refused(permit));
        connection
    }

    /// The same, and its end is told.
    pub(in crate::server) fn watched_by(mut self, watched: Option<Box<Watched>>) -> Self {
        self.extra = watched.map(ConnectionExtra::Watched);
        self
    }

    /// Notes how it ended, where that is told.
    fn ended(&mut self) {
        let Some(ConnectionExtra::Watched(watched)) = &mut self.extra else { return };
        match &self.driver {
            None => {}
            Some(VersionDriver::Http1(driver)) => {
                watched.ended(driver.ended_for(), driver.carried());
            }
            Some(VersionDriver::Http2(driver)) => {
                watched.ended(driver.machine.close_reason(), driver.wire.carried());
            }
        }
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
                Some(VersionDriver::Http2(driver)) => {
                    ready!(driver.poll(cx));
                    self.ended();
                    self.driver = None;
                }
                Some(VersionDriver::Http1(driver)) => {
                    let end = ready!(driver.poll(cx));
                    self.ended();
                    if let Some(VersionDriver::Http1(driver)) = self.driver.take() {
                        let parts = driver.end(end);
                        self.driver = parts.map(|parts| {
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
