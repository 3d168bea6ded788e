//! The settings of a resolver with their defaults, and the bounds that are no settings: everything
//! that limits how much is remembered, asked and waited for, in one place.

use std::time::Duration;

#[cfg(feature = "dns")]
use super::query::Servers;

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

/// The settings of a resolver. What each means stands at the method of
/// [`ResolverBuilder`](super::ResolverBuilder) that sets it.
#[derive(Clone, Debug)]
pub(super) struct ResolverSettings {
    /// None until the resolver is built, which reads the system's.
    #[cfg(feature = "dns")]
    pub(super) servers: Servers,
    #[cfg(feature = "dns")]
    pub(super) query_timeout: Duration,
    #[cfg(feature = "dns")]
    pub(super) attempts: u32,
    pub(super) queries_max: usize,
    pub(super) families: Families,
    /// IPv6 addresses come before IPv4 ones. Found out when the resolver is built.
    pub(super) v6_first: bool,
    pub(super) cache: CacheLimits,
}

impl Default for ResolverSettings {
    fn default() -> Self {
        Self {
            #[cfg(feature = "dns")]
            servers: Servers::named(&[]),
            #[cfg(feature = "dns")]
            query_timeout: Duration::from_secs(2),
            #[cfg(feature = "dns")]
            attempts: 3,
            // What fits a server's receive buffer as the kernel makes it (208 KiB, about 900 bytes
            // for each small datagram): measured, 256 at once lost some and 192 none. Without DNS
            // of our own each is a thread.
            queries_max: if cfg!(feature = "dns") { 192 } else { 64 },
            families: Families::Both,
            v6_first: false,
            cache: CacheLimits::default(),
        }
    }
}

/// How much a resolver remembers, and for how long. Where a least time is longer than a longest, the
/// longest holds.
#[derive(Clone, Copy, Debug)]
pub(super) struct CacheLimits {
    pub(super) entries_max: usize,
    /// Also the least for what a zone denies.
    #[cfg(feature = "dns")]
    pub(super) ttl_min: Duration,
    #[cfg(feature = "dns")]
    pub(super) ttl_max: Duration,
    pub(super) negative_ttl_max: Duration,
    pub(super) stale_max: Duration,
}

impl Default for CacheLimits {
    fn default() -> Self {
        Self {
            entries_max: 10_000,
            // So that one page does not ask for one name fifty times.
            #[cfg(feature = "dns")]
            ttl_min: Duration::from_secs(1),
            // A host that moves is found again within the hour.
            #[cfg(feature = "dns")]
            ttl_max: Duration::from_secs(3_600),
            // A name that has just been made is found soon.
            negative_ttl_max: Duration::from_secs(10),
            // The zone has said how long its addresses hold.
            stale_max: Duration::ZERO,
        }
    }
}

#[cfg(feature = "dns")]
impl CacheLimits {
    /// How long addresses are remembered whose records have a TTL of `seconds`.
    pub(super) fn ttl(&self, seconds: u32) -> Duration {
        Duration::from_secs(seconds.into()).max(self.ttl_min).min(self.ttl_max)
    }

    /// How long the absence of a name or of its addresses is remembered, where the zone gives it
    /// `seconds` (RFC 2308 §5), or nothing.
    pub(super) fn negative_ttl(&self, seconds: Option<u32>) -> Duration {
        seconds.map_or(self.negative_ttl_max, |seconds| {
            Duration::from_secs(seconds.into()).max(self.ttl_min).min(self.negative_ttl_max)
        })
    }
}

/// The longest time that a setting may make the cache remember: the longest that a TTL may be, 68
/// years (RFC 2181 §8), which no clock overflows by.
pub(super) const TTL_LIMIT: Duration = Duration::from_secs((1 << 31) - 1);

/// How long a failure to find out (SERVFAIL, no response) is remembered: the least that RFC 9520 §3.2
/// allows, because the next attempt may succeed.
pub(super) const FAILURE_TTL: Duration = Duration::from_secs(1);

/// How long addresses of the system's resolver are remembered, which does not tell their TTL: short
/// enough to follow a change, long enough for the connections of one page.
#[cfg(not(feature = "dns"))]
pub(super) const SYSTEM_TTL: Duration = Duration::from_secs(10);

/// Addresses of one name that are used: a name with more is not better reachable by them.
pub(super) const ADDRESSES_MAX: usize = 32;

/// How long a lookup that runs on another runtime is waited for, before one is started on the
/// caller's. The other runtime may belong to a thread that is busy at the moment.
pub(super) const OTHER_RUNTIME_WAIT_MAX: Duration = Duration::from_millis(500);

/// Lookups that one call joins or starts before it gives up. Each may be lost with the runtime it
/// ran on; a process that ends one runtime after the other must not keep a caller for ever.
pub(super) const LOOKUPS_MAX: usize = 4;

/// How long the addresses of one family wait for those of the other: RFC 8305 §3.
#[cfg(feature = "dns")]
pub(super) const RESOLUTION_DELAY: Duration = Duration::from_millis(50);

/// How long the slower family's response is still waited for after the other's addresses were passed
/// on, so that the cache has both.
#[cfg(feature = "dns")]
pub(super) const LATE_ANSWER_WAIT_MAX: Duration = Duration::from_millis(500);

/// How long a server is given before a query is sent again, because it may have been lost; twice as
/// long after each repetition, up to the time-out of the attempt.
#[cfg(feature = "dns")]
pub(super) const REPEAT_AFTER: Duration = Duration::from_millis(500);

/// Aliases that are followed from one name: a chain that is longer is a circle or a mistake.
#[cfg(feature = "dns")]
pub(super) const ALIASES_MAX: usize = 8;

/// HTTPS records of one name that are read: with more, its service is not better reachable.
#[cfg(feature = "dns")]
pub(super) const HTTPS_RECORDS_MAX: usize = 16;

/// Bytes of the longest response that we say we take by UDP: what passes every path unfragmented, RFC
/// 9715 §3.
#[cfg(feature = "dns")]
pub(super) const UDP_BYTES_MAX: u16 = 1232;

/// Bytes of a buffer for one datagram: more than [`UDP_BYTES_MAX`], for servers that do not heed it.
#[cfg(feature = "dns")]
pub(super) const DATAGRAM_BYTES: usize = 4096;
