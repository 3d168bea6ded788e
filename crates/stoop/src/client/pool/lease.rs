//! What exchanges and connections hold of the pool. Each gives it back when it is dropped, so that
//! nothing is awaited and nothing is lost where a task is cancelled.

use std::sync::{Arc, Weak};
use std::time::Instant;

use stoop_io::now;

use super::events::PoolEvents;
use crate::client::http1::Http1;
use crate::client::http2::{PendingRequest, SharedConnection};

/// The right to make one connection. Dropped unused, it goes back.
pub(crate) struct ConnectPermit {
    pool: Arc<dyn PoolEvents>,
    origin: usize,
    is_used: bool,
}

impl ConnectPermit {
    pub(super) fn new(pool: Arc<dyn PoolEvents>, origin: usize) -> Self {
        Self { pool, origin, is_used: false }
    }

    /// The connection was made, and is one exchange's.
    pub(crate) fn lease(mut self, connection: Box<Http1>) -> Lease {
        self.is_used = true;
        self.pool.connected(self.origin);
        Lease::new(connection, self.pool.clone(), self.origin)
    }

    /// The connection was made, and is to be shared by so many. The first stream is the caller's.
    pub(crate) fn share(
        mut self,
        connection: &Arc<SharedConnection>,
        streams_max: usize,
    ) -> (Membership, StreamPermit) {
        self.is_used = true;
        let (pool, origin) = (self.pool.clone(), self.origin);
        let number = pool.shared_connected(origin, connection.clone(), streams_max);
        let membership = Membership { pool: Arc::downgrade(&pool), origin, number };
        (membership, StreamPermit::new(pool, origin, number, connection.clone()))
    }
}

impl Drop for ConnectPermit {
    fn drop(&mut self) {
        if !self.is_used {
            self.pool.connect_failed(self.origin);
        }
    }
}

/// An HTTP/1 connection on loan to one exchange. Dropped, it goes back to the pool if another exchange
/// may use it, and is closed else.
pub(crate) struct Lease {
    connection: Option<Box<Http1>>,
    pool: Option<Arc<dyn PoolEvents>>,
    origin: usize,
}

impl Lease {
    pub(super) fn new(connection: Box<Http1>, pool: Arc<dyn PoolEvents>, origin: usize) -> Self {
        Self { connection: Some(connection), pool: Some(pool), origin }
    }

    /// Closes the connection, and keeps the right to one.
    pub(crate) fn close(mut self) -> Option<ConnectPermit> {
        self.connection = None;
        let pool = self.pool.take()?;
        pool.reconnecting(self.origin);
        Some(ConnectPermit::new(pool, self.origin))
    }

    /// Whether another connection to the origin idles.
    pub(crate) fn has_idle_beside(&self) -> bool {
        self.pool.as_ref().is_some_and(|pool| pool.has_idle(self.origin))
    }

    /// The connection, unless it was released or taken.
    #[inline]
    pub(crate) fn connection(&self) -> Option<&Http1> {
        self.connection.as_deref()
    }

    /// The same, to be used.
    #[inline]
    pub(crate) fn connection_mut(&mut self) -> Option<&mut Http1> {
        self.connection.as_deref_mut()
    }

    /// Takes the connection out: it does not come back to the pool.
    pub(crate) fn take(&mut self) -> Option<Box<Http1>> {
        self.connection.take()
    }

    /// Registers the connection with the runtime of the calling task. False if it cannot be; it is
    /// closed then.
    pub(crate) fn rebind_to_current_runtime(&mut self) -> bool {
        self.connection = self.connection.take().and_then(Http1::rebind_to_current_runtime);
        self.connection.is_some()
    }

    /// Returns the connection to the pool, or closes it.
    pub(crate) fn release(&mut self) {
        let Some(pool) = self.pool.take() else { return };
        match self.connection.take() {
            Some(connection) if connection.is_viable() => pool.returned(self.origin, connection),
            connection => {
                drop(connection);
                pool.closed(self.origin);
            }
        }
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.release();
    }
}

/// By which the driver of an HTTP/2 connection reports to the pool. Dropped, the connection is closed.
pub(crate) struct Membership {
    /// Not held: the owner of a client decides how long its connections are kept.
    pool: Weak<dyn PoolEvents>,
    origin: usize,
    number: u64,
}

impl Membership {
    fn report(&self, event: impl FnOnce(&dyn PoolEvents, usize, u64)) {
        if let Some(pool) = self.pool.upgrade() {
            event(&*pool, self.origin, self.number);
        }
    }

    /// The server has said how many exchanges may share the connection.
    pub(crate) fn streams_allowed(&self, streams_max: usize) {
        self.report(|pool, origin, number| pool.streams_allowed(origin, number, streams_max));
    }

    /// So many exchanges are over.
    pub(crate) fn streams_ended(&self, streams: usize, now: Instant) {
        if streams > 0 {
            self.report(|pool, origin, number| pool.streams_ended(origin, number, streams, now));
        }
    }

    /// The connection takes no further exchange.
    pub(crate) fn retired(&self) {
        self.report(|pool, origin, number| pool.retired(origin, number));
    }
}

impl Drop for Membership {
    fn drop(&mut self) {
        self.report(|pool, origin, number| pool.shared_closed(origin, number));
    }
}

/// The right to one stream of an HTTP/2 connection. Dropped unused, it goes back.
pub(crate) struct StreamPermit {
    pool: Option<Arc<dyn PoolEvents>>,
    origin: usize,
    number: u64,
    pub(crate) connection: Arc<SharedConnection>,
}

impl StreamPermit {
    pub(super) fn new(
        pool: Arc<dyn PoolEvents>,
        origin: usize,
        number: u64,
        connection: Arc<SharedConnection>,
    ) -> Self {
        Self { pool: Some(pool), origin, number, connection }
    }

    /// Hands a request over, or returns it if the connection is gone.
    pub(crate) fn submit(mut self, pending: PendingRequest) -> Result<(), PendingRequest> {
        self.connection.submit(pending)?;
        // From here on the connection reports when the stream has ended.
        self.pool = None;
        Ok(())
    }
}

impl Drop for StreamPermit {
    fn drop(&mut self) {
        if let Some(pool) = self.pool.take() {
            pool.streams_ended(self.origin, self.number, 1, now());
        }
    }
}
