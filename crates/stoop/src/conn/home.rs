//! Where connections belong: what they are for is known there alone.

use std::sync::Arc;
use std::time::Instant;

use crate::conn::http1::{Http1, Lease};
use crate::conn::http2::{Member, Reserved, Shared};

/// Where connections come from, and go when their exchanges are over.
pub(crate) trait Home: Send + Sync {
    /// A connection was made that serves one exchange at a time.
    fn made(&self, key: usize);
    /// A connection was closed, and another is being made in its place.
    fn remade(&self, key: usize);
    /// A connection was not made.
    fn unmade(&self, key: usize);
    /// Takes a connection that another exchange may use.
    fn give_back(&self, key: usize, connection: Box<Http1>);
    /// Learns that a connection is gone.
    fn gone(&self, key: usize);

    /// A connection was made that so many may share; returns its number.
    fn joined(&self, key: usize, connection: Arc<Shared>, streams_max: usize) -> u64;
    /// It has told how many may share it.
    fn allows(&self, key: usize, number: u64, streams_max: usize);
    /// So many of its exchanges are over.
    fn ended(&self, key: usize, number: u64, streams: usize, now: Instant);
    /// It takes no more.
    fn retire(&self, key: usize, number: u64);
    /// It is gone.
    fn left(&self, key: usize, number: u64);
}

/// The right to make one connection. Dropped unused, it goes back.
pub(crate) struct Permit {
    home: Arc<dyn Home>,
    /// What it is called at home.
    key: usize,
    is_used: bool,
}

impl Permit {
    pub(crate) fn new(home: Arc<dyn Home>, key: usize) -> Self {
        Self { home, key, is_used: false }
    }

    /// The connection was made, and is one exchange's.
    pub(crate) fn fill(mut self, connection: Box<Http1>) -> Lease {
        self.is_used = true;
        self.home.made(self.key);
        Lease::of(connection, Some(self.home.clone()), self.key)
    }

    /// The connection was made, and is to be shared by so many. The first stream is ours.
    pub(crate) fn share(
        mut self,
        connection: &Arc<Shared>,
        streams_max: usize,
    ) -> (Member, Reserved) {
        self.is_used = true;
        let (home, key) = (self.home.clone(), self.key);
        let number = home.joined(key, connection.clone(), streams_max);
        let member = Member::new(&home, key, number);
        (member, Reserved::new(home, key, number, connection.clone()))
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        if !self.is_used {
            self.home.unmade(self.key);
        }
    }
}
