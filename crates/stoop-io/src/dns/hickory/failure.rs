//! Why a question has no answer: hickory's errors in our words, and which of two matters more.

use std::net::SocketAddr;
use std::time::Duration;

use hickory_resolver::net::{DnsError as Hickory, NetError};
use hickory_resolver::proto::op::ResponseCode;

use crate::dns::error::{DnsError, DnsErrorKind};
use crate::dns::{FAILURE_LIVES, NEGATIVE_MAX, POSITIVE_MIN};

/// A question's failure.
pub(super) struct Failure {
    kind: DnsErrorKind,
    lives: Duration,
    /// What [`DnsErrorKind::Other`] was.
    detail: Option<Box<str>>,
    /// Whether a denial of the name's existence may be believed.
    doubtful: bool,
}

impl Failure {
    fn of(kind: DnsErrorKind, lives: Duration) -> Self {
        Self { kind, lives, detail: None, doubtful: false }
    }

    /// No server answered in time.
    pub(super) fn timeout() -> Self {
        Self::of(DnsErrorKind::Timeout, FAILURE_LIVES)
    }

    /// The name has no address in this family.
    pub(super) fn no_records() -> Self {
        Self::of(DnsErrorKind::NoRecords, NEGATIVE_MAX)
    }

    /// There is nobody to ask.
    pub(super) fn no_server() -> Self {
        let detail = Some("no server is configured".into());
        Self { detail, ..Self::of(DnsErrorKind::Other, FAILURE_LIVES) }
    }

    /// Nothing could be asked for at all.
    pub(super) fn no_candidate() -> Self {
        Self::of(DnsErrorKind::InvalidName, NEGATIVE_MAX)
    }

    /// What hickory says.
    pub(super) fn new(error: &NetError) -> Self {
        let other = |detail: String| Self {
            detail: Some(detail.into()),
            ..Self::of(DnsErrorKind::Other, FAILURE_LIVES)
        };
        match error {
            NetError::Timeout => Self::timeout(),
            NetError::Dns(Hickory::NoRecordsFound(none)) => {
                // RFC 2308 §5: a denial lives as long as the zone says; we add a bound.
                let lives = none.negative_ttl.map_or(NEGATIVE_MAX, |ttl| {
                    Duration::from_secs(ttl.into()).clamp(POSITIVE_MIN, NEGATIVE_MAX)
                });
                match none.response_code {
                    ResponseCode::NoError => Self::of(DnsErrorKind::NoRecords, lives),
                    ResponseCode::NXDomain => Self::of(DnsErrorKind::NxDomain, lives),
                    ResponseCode::ServFail => Self::of(DnsErrorKind::ServFail, FAILURE_LIVES),
                    code => other(code.to_string()),
                }
            }
            NetError::Dns(Hickory::ResponseCode(ResponseCode::ServFail)) => {
                Self::of(DnsErrorKind::ServFail, FAILURE_LIVES)
            }
            NetError::Dns(Hickory::ResponseCode(code)) => other(code.to_string()),
            NetError::Io(error) => other(error.to_string()),
            error => other(error.to_string()),
        }
    }

    /// The same, of an answer about IPv6.
    pub(super) fn doubtful(self) -> Self {
        Self { doubtful: true, ..self }
    }

    /// Whether another server may know better.
    pub(super) fn is_of_server(&self) -> bool {
        match self.kind {
            DnsErrorKind::ServFail | DnsErrorKind::Timeout | DnsErrorKind::Other => true,
            DnsErrorKind::NxDomain | DnsErrorKind::NoRecords | DnsErrorKind::InvalidName => false,
        }
    }

    /// Whether the server, or the network before it, said nothing.
    pub(super) fn is_silence(&self) -> bool {
        self.kind == DnsErrorKind::Timeout
    }

    /// Whether the other family needs not be waited for: a name that does not exist has no records
    /// of any type, RFC 8020.
    pub(super) fn is_final(&self) -> bool {
        self.kind == DnsErrorKind::NxDomain && !self.doubtful
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
        (DnsError::new(self.kind, text), self.lives)
    }
}
