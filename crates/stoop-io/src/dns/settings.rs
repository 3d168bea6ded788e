//! What a resolver is configured with, and the bounds on what it remembers and waits for.

use std::time::Duration;

#[cfg(feature = "dns")]
use super::ask::Servers;

/// Which addresses are looked up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Families {
    /// IPv4 and IPv6.
    #[default]
    Both,
    /// IPv4 alone.
    V4,
    /// IPv6 alone.
    V6,
}

/// What the side that asks needs to know.
#[derive(Clone, Debug)]
pub(super) struct Settings {
    #[cfg(feature = "dns")]
    pub(super) servers: Servers,
    #[cfg(feature = "dns")]
    pub(super) query_timeout: Duration,
    #[cfg(feature = "dns")]
    pub(super) attempts: u32,
    pub(super) queries_max: usize,
    pub(super) families: Families,
    pub(super) v6_first: bool,
}

/// An address is believed at least this long, whatever its server says, so that one page does not
/// ask for one name fifty times; it is also the least for what a zone denies.
#[cfg(feature = "dns")]
pub(super) const POSITIVE_MIN: Duration = Duration::from_secs(1);

/// And at most this long.
#[cfg(feature = "dns")]
pub(super) const POSITIVE_MAX: Duration = Duration::from_secs(3_600);

/// That a name does not exist, or has no address, is believed at most this long.
pub(super) const NEGATIVE_MAX: Duration = Duration::from_secs(10);

/// That nobody could tell is believed this long, RFC 9520 §3.2: the least it allows.
pub(super) const FAILURE_LIVES: Duration = Duration::from_secs(1);

/// How long a flight on another runtime is waited for, before one is started here. That runtime may
/// belong to a thread that is doing something else at the moment.
pub(super) const PATIENCE: Duration = Duration::from_millis(500);

/// Flights a lookup joins or starts before it gives up; each may be lost with what it ran on.
pub(super) const FLIGHTS_MAX: usize = 4;
