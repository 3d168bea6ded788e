//! What became of the names that a resolver was asked for.

/// Counts of a [`Resolver`](super::Resolver) and its clones since it was made. Addresses, `localhost` and what
/// is in the hosts file are not counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ResolverStats {
    /// Names whose result was remembered, a negative one included.
    pub hits: u64,
    /// Names whose result had expired and was given out all the same, while it is looked up again.
    pub stale: u64,
    /// Names that were looked up already for another caller, whose result was waited for.
    pub shared: u64,
    /// Lookups that were started.
    pub lookups: u64,
    /// Lookups that found no address: the name has none, or no server could tell.
    pub failed: u64,
    /// Results that are remembered now.
    pub remembered: usize,
}
