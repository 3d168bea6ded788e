//! What a name server says.

use std::collections::HashMap;
use std::net::IpAddr;
use std::time::Duration;

/// What is said about one name.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Lookup {
    /// It has these addresses: a query for A is answered with the IPv4 ones, one for AAAA with the
    /// IPv6 ones, and any other (or if there are none) with no data. A message that would be larger
    /// than the client takes over UDP is truncated.
    Addresses {
        /// The addresses, in this order.
        addresses: Vec<IpAddr>,
        /// How long they may be cached, in seconds; 0 means not at all.
        ttl: u32,
    },
    /// It exists, and has no records of any type.
    NoData,
    /// It does not exist.
    NxDomain,
    /// The server fails.
    ServFail,
    /// The server does not want to answer.
    Refused,
    /// Nothing is said, over UDP and TCP.
    Silence,
    /// Over UDP nothing but that the answer is truncated; over TCP this.
    OverTcp(Box<Lookup>),
    /// This, but only after a while.
    Slow(Duration, Box<Lookup>),
}

impl Lookup {
    /// These addresses, to be cached for `ttl` seconds.
    pub fn addresses<A: Into<IpAddr>>(addresses: impl IntoIterator<Item = A>, ttl: u32) -> Self {
        Self::Addresses { addresses: addresses.into_iter().map(Into::into).collect(), ttl }
    }

    /// `count` addresses, 127.2.0.0 and so on; from some 30 on they do not fit into UDP.
    pub fn many(count: u16, ttl: u32) -> Self {
        let address = |n: u16| IpAddr::from([127, 2, n.to_be_bytes()[0], n.to_be_bytes()[1]]);
        Self::addresses((0..count).map(address), ttl)
    }

    /// This, but only after `delay`.
    #[must_use]
    pub fn slow(self, delay: Duration) -> Self {
        Self::Slow(delay, Box::new(self))
    }

    /// This, but only over TCP.
    #[must_use]
    pub fn over_tcp(self) -> Self {
        Self::OverTcp(Box::new(self))
    }
}

/// Names and what is said about them. Names that are not in it do not exist.
///
/// ```
/// use std::net::Ipv4Addr;
/// use stoop_testbed::{Lookup, Records};
///
/// let records = Records::default()
///     .with("good.test", Lookup::addresses([Ipv4Addr::LOCALHOST], 60))
///     .with("dead.test", Lookup::Silence);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Records(HashMap<String, Lookup>);

impl Records {
    /// Says this about a name, whatever was said before. Case and a final dot do not matter.
    #[must_use]
    pub fn with(mut self, name: &str, lookup: Lookup) -> Self {
        self.0.insert(name.trim_end_matches('.').to_ascii_lowercase(), lookup);
        self
    }
}

/// Where a server's answers come from.
pub(crate) trait Zone: Send + Sync + 'static {
    /// What to say about a name, given in lower case and without a final dot, and which URL of a
    /// plan it is about.
    fn lookup(&self, name: &str) -> (Lookup, Option<u64>);
}

impl Zone for Records {
    fn lookup(&self, name: &str) -> (Lookup, Option<u64>) {
        (self.0.get(name).cloned().unwrap_or(Lookup::NxDomain), None)
    }
}
