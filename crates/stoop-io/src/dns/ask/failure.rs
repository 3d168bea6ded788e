//! Why a question has no answer, and which of two failures says more.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use crate::dns::error::{DnsError, DnsErrorKind};
use crate::dns::settings::FAILURE_TTL;

/// A question's failure.
pub(super) struct Failure {
    kind: DnsErrorKind,
    lives: Duration,
    /// What [`DnsErrorKind::Other`] was.
    detail: Option<Box<str>>,
    /// A denial of the name's existence that may not mean it.
    doubtful: bool,
}

impl Failure {
    fn of(kind: DnsErrorKind, lives: Duration) -> Self {
        Self { kind, lives, detail: None, doubtful: false }
    }

    /// The name does not exist.
    pub(super) fn no_such_name(lives: Duration) -> Self {
        Self::of(DnsErrorKind::NxDomain, lives)
    }

    /// The name has no address in this family.
    pub(super) fn no_records(lives: Duration) -> Self {
        Self::of(DnsErrorKind::NoRecords, lives)
    }

    /// The server could not tell.
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

    /// There is nobody to ask.
    pub(super) fn no_server() -> Self {
        Self::other("no server is configured")
    }

    /// Anything else.
    pub(super) fn other(detail: &str) -> Self {
        Self { detail: Some(detail.into()), ..Self::of(DnsErrorKind::Other, FAILURE_TTL) }
    }

    /// Nothing could be asked for at all.
    pub(super) fn no_candidate(lives: Duration) -> Self {
        Self::of(DnsErrorKind::InvalidName, lives)
    }

    /// The same, of an answer about IPv6: some servers deny a name's existence when asked for its
    /// AAAA, RFC 4074 §4.2.
    pub(super) fn doubtful(self) -> Self {
        Self { doubtful: true, ..self }
    }

    /// Whether the other family needs not be waited for: a name that does not exist has no records
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

    /// Whether nobody said anything.
    pub(super) fn is_silence(&self) -> bool {
        self.kind == DnsErrorKind::Timeout
    }

    /// Whether the name, as it was asked for, leads nowhere.
    pub(super) fn is_no_such_name(&self) -> bool {
        matches!(self.kind, DnsErrorKind::NxDomain | DnsErrorKind::NoRecords)
    }

    /// The failure that says more about a name that has no address in either family.
    pub(super) fn worse(self, other: Self) -> Self {
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

    /// In words, and for how long to believe it.
    pub(super) fn explain(self, name: &str, servers: &[SocketAddr]) -> (DnsError, Duration) {
        let asked = match servers {
            [] => "nobody".into(),
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
        (DnsError::new(self.kind, text), self.lives)
    }
}
