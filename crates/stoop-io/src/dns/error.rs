//! The error of a lookup: why a name has no address.

use std::fmt;
use std::sync::Arc;

/// Why a lookup failed. A closed list: match it without a default arm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DnsErrorKind {
    /// The name does not exist (NXDOMAIN, RFC 8020).
    NxDomain,
    /// The server could not find out (SERVFAIL), for the moment at least.
    ServFail,
    /// No server answered in time.
    Timeout,
    /// The name exists, but has no address.
    NoRecords,
    /// The name cannot be a host's name: too long, an empty label, or a character outside of
    /// letters, digits, `-` and `_`.
    InvalidName,
    /// Anything else: no server can be reached or is configured, a refusal, a response that makes no
    /// sense.
    Other,
}

/// A failed lookup: what kind of failure, and a text for people with the name and, where one was
/// asked, the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DnsError {
    kind: DnsErrorKind,
    text: Arc<str>,
}

impl DnsError {
    pub(super) fn new(kind: DnsErrorKind, text: impl Into<Arc<str>>) -> Self {
        Self { kind, text: text.into() }
    }

    /// Which failure it was.
    pub fn kind(&self) -> DnsErrorKind {
        self.kind
    }
}

impl fmt::Display for DnsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for DnsError {}
