//! The names of a DNS server and its answers for each.

use std::collections::HashMap;
use std::net::IpAddr;
use std::time::Duration;

/// The answer of a DNS server for one name.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DnsAnswer {
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
    /// The server refuses to answer.
    Refused,
    /// No response is sent, over UDP and TCP.
    Silence,
    /// Over UDP a truncated response, over TCP this answer.
    OverTcp(Box<DnsAnswer>),
    /// This answer, after a delay.
    Slow(Duration, Box<DnsAnswer>),
}

impl DnsAnswer {
    /// These addresses, to be cached for `ttl` seconds.
    pub fn addresses<A: Into<IpAddr>>(addresses: impl IntoIterator<Item = A>, ttl: u32) -> Self {
        Self::Addresses { addresses: addresses.into_iter().map(Into::into).collect(), ttl }
    }

    /// `count` addresses, 127.2.0.0 and so on; from some 30 on they do not fit into UDP.
    pub fn many(count: u16, ttl: u32) -> Self {
        let address = |n: u16| IpAddr::from([127, 2, n.to_be_bytes()[0], n.to_be_bytes()[1]]);
        Self::addresses((0..count).map(address), ttl)
    }

    /// This answer, after `delay`.
    #[must_use]
    pub fn slow(self, delay: Duration) -> Self {
        Self::Slow(delay, Box::new(self))
    }

    /// This answer, but only over TCP.
    #[must_use]
    pub fn over_tcp(self) -> Self {
        Self::OverTcp(Box::new(self))
    }
}

/// Names and the answers for them. Other names do not exist.
///
/// ```
/// use std::net::Ipv4Addr;
/// use stoop_testbed::{DnsAnswer, Records};
///
/// let records = Records::default()
///     .with("good.test", DnsAnswer::addresses([Ipv4Addr::LOCALHOST], 60))
///     .with("dead.test", DnsAnswer::Silence);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Records(HashMap<String, DnsAnswer>);

impl Records {
    /// Sets the answer for a name, in the place of any before. Case and a final dot do not matter.
    #[must_use]
    pub fn with(mut self, name: &str, answer: DnsAnswer) -> Self {
        self.0.insert(name.trim_end_matches('.').to_ascii_lowercase(), answer);
        self
    }
}

/// The source of a server's answers.
pub(crate) trait Zone: Send + Sync + 'static {
    /// The answer for a name, given in lower case and without a final dot, and the URL of a plan that it
    /// is for.
    fn answer(&self, name: &str) -> (DnsAnswer, Option<u64>);
}

impl Zone for Records {
    fn answer(&self, name: &str) -> (DnsAnswer, Option<u64>) {
        (self.0.get(name).cloned().unwrap_or(DnsAnswer::NxDomain), None)
    }
}
