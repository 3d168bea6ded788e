//! Counters of connections, requests and bytes.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The counters of a server so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// Connections accepted, those dropped at once included.
    pub accepted: u64,
    /// Connections open now.
    pub open: u64,
    /// The most connections that were open at once.
    pub open_peak: u64,
    /// Connections dropped because their local address was not a loopback address.
    pub strangers: u64,
    /// Requests read.
    pub requests: u64,
    /// Those of them that came over HTTP/2.
    pub http2_requests: u64,
    /// Bytes of responses handed to the kernel, before encryption.
    pub sent_bytes: u64,
    /// DNS queries that came, over UDP and TCP.
    pub dns_queries: u64,
}

/// The counters behind [`Stats`]. Clones count together.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counters(Arc<Cells>);

#[derive(Debug, Default)]
struct Cells {
    accepted: AtomicU64,
    open: AtomicU64,
    open_peak: AtomicU64,
    strangers: AtomicU64,
    requests: AtomicU64,
    http2_requests: AtomicU64,
    sent_bytes: AtomicU64,
    dns_queries: AtomicU64,
}

impl Counters {
    /// Counts a connection, and numbers it from 1.
    pub(crate) fn accept(&self) -> OpenConnection {
        let number = self.0.accepted.fetch_add(1, Relaxed) + 1;
        let open = self.0.open.fetch_add(1, Relaxed) + 1;
        self.0.open_peak.fetch_max(open, Relaxed);
        OpenConnection { number, counters: self.clone() }
    }

    pub(crate) fn stranger(&self) {
        self.0.strangers.fetch_add(1, Relaxed);
    }

    pub(crate) fn request(&self, http2: bool) {
        self.0.requests.fetch_add(1, Relaxed);
        self.0.http2_requests.fetch_add(u64::from(http2), Relaxed);
    }

    pub(crate) fn sent(&self, bytes: u64) {
        self.0.sent_bytes.fetch_add(bytes, Relaxed);
    }

    pub(crate) fn dns_query(&self) {
        self.0.dns_queries.fetch_add(1, Relaxed);
    }

    pub(crate) fn read(&self) -> Stats {
        let cells = &*self.0;
        Stats {
            accepted: cells.accepted.load(Relaxed),
            open: cells.open.load(Relaxed),
            open_peak: cells.open_peak.load(Relaxed),
            strangers: cells.strangers.load(Relaxed),
            requests: cells.requests.load(Relaxed),
            http2_requests: cells.http2_requests.load(Relaxed),
            sent_bytes: cells.sent_bytes.load(Relaxed),
            dns_queries: cells.dns_queries.load(Relaxed),
        }
    }
}

/// An accepted connection, counted as open until this is dropped.
#[derive(Debug)]
pub(crate) struct OpenConnection {
    /// The connection's number in the log.
    pub(crate) number: u64,
    counters: Counters,
}

impl Drop for OpenConnection {
    fn drop(&mut self) {
        self.counters.0.open.fetch_sub(1, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_peak_outlives_the_connections() {
        let counters = Counters::default();
        let first = counters.accept();
        let second = counters.accept();
        assert_eq!((first.number, second.number), (1, 2));
        drop((first, second));
        drop(counters.accept());
        let stats = counters.read();
        assert_eq!((stats.accepted, stats.open, stats.open_peak), (3, 0, 2));
    }
}
