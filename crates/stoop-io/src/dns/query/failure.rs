//! The failure of a query, and which of two failures says more about a name.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use crate::dns::error::{DnsError, DnsErrorKind};
use crate::dns::settings::FAILURE_TTL;

/// The failure of a query.
pub(super) struct QueryFailure {
    kind: DnsErrorKind,
    /// How long it is remembered.
    ttl: Duration,
    /// What happened, for [`DnsErrorKind::Other`].
    detail: Option<Box<str>>,
    /// It denies the name's existence, but may mean the one family alone.
    doubtful: bool,
}

impl QueryFailure {
    fn of(kind: DnsErrorKind, ttl: Duration) -> Self {
        Self { kind, ttl, detail: None, doubtful: false }
    }

    /// The name does not exist.
    pub(super) fn no_such_name(ttl: Duration) -> Self {
        Self::of(DnsErrorKind::NxDomain, ttl)
    }

    /// The name has no address in this family.
    pub(super) fn no_records(ttl: Duration) -> Self {
        Self::of(DnsErrorKind::NoRecords, ttl)
    }

    /// The server could not find out.
    pub(super) fn server() -> Self {
        Self::of(DnsErrorKind::ServFail, FAILURE_TTL)
    }

    /// The server did not answer in time.
    pub(super) fn timeout() -> Self {
        Self::of(DnsErrorKind::Timeout, FAILURE_TTL)
    }

    /// The server, or the network before it, cannot be reached.
    pub(super) fn io(error: &io::Error) -> Self {
        Self::other(&error.to_string())
    }

    /// There is no server to ask.
    pub(super) fn no_server() -> Self {
        Self::other("no server is configured")
    }

    /// Anything else.
    pub(super) fn other(detail: &str) -> Self {
        Self { detail: Some(detail.into()), ..Self::of(DnsErrorKind::Other, FAILURE_TTL) }
    }

    /// Its aliases cannot be followed to an end.
    pub(super) fn alias_loop() -> Self {
        Self::other("its aliases lead in a circle, or too far")
    }

    /// The name, with any domain of the search list, cannot be asked for.
    pub(super) fn no_candidate(ttl: Duration) -> Self {
        Self::of(DnsErrorKind::InvalidName, ttl)
    }

    /// Marks a failure of a query for IPv6: some servers deny a name's existence when asked for its AAAA,
    /// RFC 4074 §4.2.
    pub(super) fn doubtful(self) -> Self {
        Self { doubtful: true, ..self }
    }

    /// Whether the other family need not be waited for: a name that does not exist has no records
    /// of any type, RFC 8020.
    pub(super) fn is_final(&self) -> bool {
        self.kind == DnsErrorKind::NxDomain && !self.doubtful
    }

    /// Whether another server may know better.
    pub(super) fn is_of_server(&self) -> bool {
        match self.kind {
            DnsErrorKind::ServFail | DnsErrorKind::Timeout | DnsErrorKind::Other => true,
            DnsErrorKind::NxDomain | DnsErrorKind::NoRecords | DnsErrorKind::InvalidName => false,
        }
    }

    /// Whether the server did not answer in time.
    pub(super) fn is_timeout(&self) -> bool {
        self.kind == DnsErrorKind::Timeout
    }

    /// Whether the name exists without what was asked for.
    pub(super) fn is_no_records(&self) -> bool {
        self.kind == DnsErrorKind::NoRecords
    }

    /// Whether the name, as it was asked for, has no addresses.
    pub(super) fn is_no_such_name(&self) -> bool {
        matches!(self.kind, DnsErrorKind::NxDomain | DnsErrorKind::NoRecords)
    }

    /// The failure that says more about a name that has no address in either family.
    pub(super) fn more_specific(self, other: Self) -> Self {
        let weight = |failure: &Self| match failure.kind {
            DnsErrorKind::NxDomain => 5,
            DnsErrorKind::ServFail => 4,
            DnsErrorKind::Timeout => 3,
            DnsErrorKind::Other => 2,
            DnsErrorKind::NoRecords => 1,
            DnsErrorKind::InvalidName => 0,
        };
        if weight(&other) > weight(&self) { other } else { self }
    }

    /// The error for the caller, and how long it is remembered.
    pub(super) fn explain(self, name: &str, servers: &[SocketAddr]) -> (DnsError, Duration) {
        let asked = match servers {
            [] => "no server".into(),
            [one] => one.to_string(),
            [one, ..] => format!("{one} and {} more", servers.len() - 1),
        };
        let text = match self.kind {
            DnsErrorKind::NxDomain => format!("{name} does not exist (NXDOMAIN from {asked})"),
            DnsErrorKind::ServFail => {
                format!("{name} could not be resolved (SERVFAIL from {asked})")
            }
            DnsErrorKind::Timeout => format!("no answer in time for {name} (asked {asked})"),
            DnsErrorKind::NoRecords => format!("{name} exists but has no address (asked {asked})"),
            DnsErrorKind::InvalidName => format!("{name} cannot be the name of a host"),
            DnsErrorKind::Other => {
                let detail = self.detail.as_deref().unwrap_or("no reason given");
                format!("{name} could not be resolved: {detail} (asked {asked})")
            }
        };
        (DnsError::new(self.kind, text), self.ttl)
    }
}
