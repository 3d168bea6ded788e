//! What is known of one origin.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use crate::limits::PoolLimits;

/// What an origin's servers speak, as far as that is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::client::pool) enum Speaks {
    /// HTTP/1 or HTTP/2. One connection is made first; other requests wait for what it agrees on.
    Unknown,
    /// The first connection failed: as many are attempted as the smaller of the two limits allows.
    Unsure,
    Http1,
    Http2,
}

impl Speaks {
    pub(super) fn is_doubtful(self) -> bool {
        matches!(self, Self::Unknown | Self::Unsure)
    }
}

pub(super) struct OriginEntry<C, S, W> {
    pub(super) name: Arc<str>,
    pub(super) speaks: Speaks,
    /// The one that came back last is taken first.
    pub(super) idle: Vec<(u64, C)>,
    pub(super) shared: Vec<Member<S>>,
    /// Idle, on loan, shared, and being made.
    pub(super) open: usize,
    /// Being made.
    pub(super) connecting: usize,
    /// How many streams a connection has, once one has told.
    pub(super) streams_each: Option<usize>,
    pub(super) waiters: BTreeMap<u64, W>,
    /// Its number among those that could use a free place.
    pub(super) starved: Option<u64>,
    pub(super) counters: ConnectionCounters,
}

/// What became of the connections of an origin, or of all.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ConnectionCounters {
    pub(super) connected: u64,
    pub(super) failed: u64,
    pub(super) reused: u64,
}

/// A connection that many share.
pub(super) struct Member<S> {
    pub(super) number: u64,
    pub(super) connection: S,
    pub(super) used: usize,
    /// How many may use it at a time: none once it is to end.
    pub(super) streams_max: usize,
    /// It takes no more, and its place is not counted among those of its origin.
    pub(super) is_retired: bool,
    /// Its number among those that idle, and since when.
    pub(super) idle: Option<(u64, Instant)>,
}

impl<C, S, W> OriginEntry<C, S, W> {
    pub(super) fn new(name: Arc<str>, speaks: Speaks) -> Self {
        Self {
            name,
            speaks,
            idle: Vec::new(),
            shared: Vec::new(),
            open: 0,
            connecting: 0,
            streams_each: None,
            waiters: BTreeMap::new(),
            starved: None,
            counters: ConnectionCounters::default(),
        }
    }

    /// Whether another connection may be opened for the waiting requests and `more`.
    pub(super) fn may_open(&self, more: usize, limits: &PoolLimits) -> bool {
        match self.speaks {
            Speaks::Unknown => self.connecting == 0,
            Speaks::Unsure => self.open < limits.per_origin_max.min(limits.http2_per_origin_max),
            Speaks::Http1 => self.open < limits.per_origin_max,
            Speaks::Http2 => {
                let retired = self.shared.iter().filter(|member| member.is_retired).count();
                let has_room = self.open - retired < limits.http2_per_origin_max;
                has_room && self.waiters.len() + more > self.expected()
            }
        }
    }

    /// How many can be served by the connections that are being made, and by the first one before it
    /// has told how many streams there are.
    fn expected(&self) -> usize {
        match self.streams_each {
            Some(each) => self.connecting.saturating_mul(each.max(1)),
            None if self.connecting > 0 => usize::MAX,
            None if self.shared.iter().any(|member| !member.is_retired) => usize::MAX,
            None => 0,
        }
    }

    /// The shared connection of that number.
    pub(super) fn member(&mut self, number: u64) -> Option<&mut Member<S>> {
        self.shared.iter_mut().find(|member| member.number == number)
    }

    /// How many connections idle.
    pub(super) fn idle_count(&self) -> usize {
        self.idle.len() + self.shared.iter().filter(|member| member.idle.is_some()).count()
    }

    /// The number of the connection that has idled longest.
    pub(super) fn oldest(&self) -> Option<u64> {
        let shared = self.shared.iter().filter_map(|member| member.idle).map(|(number, _)| number);
        shared.chain(self.idle.first().map(|(number, _)| *number)).min()
    }

    /// Where the shared connection is that idles under that number.
    pub(super) fn idle_position(&self, number: u64) -> Option<usize> {
        self.shared.iter().position(|member| member.idle.is_some_and(|(of, _)| of == number))
    }

    /// Whether a connection idles under that number.
    pub(super) fn is_idle(&self, number: u64) -> bool {
        self.idle.binary_search_by_key(&number, |(of, _)| *of).is_ok()
            || self.idle_position(number).is_some()
    }
}
