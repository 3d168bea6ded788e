//! Callbacks by which a connection reports to its pool.

use std::sync::Arc;
use std::time::Instant;

use crate::client::http1::Http1;
use crate::client::http2::SharedConnection;

/// What a pool is told of its connections. `origin` is the pool's number of the origin they are for.
pub(crate) trait PoolEvents: Send + Sync {
    /// An HTTP/1 connection was made, which serves one exchange at a time.
    fn connected(&self, origin: usize);
    /// An HTTP/1 connection was closed, and another is being made in its place.
    fn reconnecting(&self, origin: usize);
    /// Whether an HTTP/1 connection idles.
    fn has_idle(&self, origin: usize) -> bool;
    /// A connection could not be made.
    fn connect_failed(&self, origin: usize);
    /// The exchange of an HTTP/1 connection is over, and another may use it.
    fn returned(&self, origin: usize, connection: Box<Http1>);
    /// An HTTP/1 connection was closed.
    fn closed(&self, origin: usize);

    /// An HTTP/2 connection was made, which at most `streams_max` exchanges may share, one of which is
    /// there already. Returns its number among those of the origin.
    fn shared_connected(
        &self,
        origin: usize,
        connection: Arc<SharedConnection>,
        streams_max: usize,
    ) -> u64;
    /// The server has said how many exchanges may share the connection `number`.
    fn streams_allowed(&self, origin: usize, number: u64, streams_max: usize);
    /// So many exchanges of the connection `number` are over.
    fn streams_ended(&self, origin: usize, number: u64, streams: usize, now: Instant);
    /// The connection `number` takes no further exchange.
    fn retired(&self, origin: usize, number: u64);
    /// The connection `number` was closed.
    fn shared_closed(&self, origin: usize, number: u64);
}
