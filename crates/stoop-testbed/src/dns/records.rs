//! The names of a DNS server and its answers for each.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
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
    /// It is an alias (CNAME) of the first of these names, that one of the next, and so on; the addresses
    /// are the last one's. All of it is in one response. Without addresses it stops at the last name, for
    /// which the client asks. Names that come again make a circle.
    Aliases {
        /// The names, in the order of the chain.
        names: Vec<String>,
        /// The addresses of the last one.
        addresses: Vec<IpAddr>,
        /// How long each record may be cached, in seconds.
        ttl: u32,
    },
    /// The response repeats the question, but its addresses are those of another name.
    AnotherName {
        /// The name that was not asked for.
        name: String,
        /// Its addresses.
        addresses: Vec<IpAddr>,
        /// How long they may be cached, in seconds.
        ttl: u32,
    },
    /// One answer for each family: a query for AAAA gets `v6`, any other `v4`.
    PerFamily {
        /// The answer to a query for A.
        v4: Box<DnsAnswer>,
        /// The answer to a query for AAAA.
        v6: Box<DnsAnswer>,
    },
    /// A query for HTTPS records is answered with these, any other with another answer.
    Https {
        /// The data of each record as it is on the wire, so that it may be malformed:
        /// [`DnsAnswer::https_data`].
        records: Vec<Vec<u8>>,
        /// How long they may be cached, in seconds.
        ttl: u32,
        /// The answer to queries for addresses.
        otherwise: Box<DnsAnswer>,
    },
    /// These messages, at once, each as if it were the response; then this answer.
    Forged(Vec<DnsForgery>, Box<DnsAnswer>),
}

/// A message that a client must not take for the response to its query: what is not said to be wrong is as in
/// a response, and where there are addresses they are [`FORGED_V4`](Self::FORGED_V4) and
/// [`FORGED_V6`](Self::FORGED_V6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DnsForgery {
    /// Another transaction ID.
    WrongId,
    /// Another question, for which there is an address.
    WrongQuestion,
    /// No question.
    NoQuestion,
    /// A query: the QR bit is not set.
    Query,
    /// Over UDP it comes from another port. Over TCP it is left out.
    OtherPort,
    /// The transaction ID, and bytes that are no message.
    Garbage,
    /// It ends within its last record.
    Cut,
    /// The name of its record is a compression pointer to itself.
    PointerLoop,
}

impl DnsForgery {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::WrongId,
        Self::WrongQuestion,
        Self::NoQuestion,
        Self::Query,
        Self::OtherPort,
        Self::Garbage,
        Self::Cut,
        Self::PointerLoop,
    ];

    /// The IPv4 address that forged messages give: on loopback, where nothing listens.
    pub const FORGED_V4: Ipv4Addr = Ipv4Addr::new(127, 66, 6, 6);

    /// The IPv6 address that they give: reserved for documentation, RFC 3849.
    pub const FORGED_V6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0x666);
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

    /// Aliases of each other, with these addresses at their end: see [`DnsAnswer::Aliases`].
    pub fn aliases<A: Into<IpAddr>>(
        names: &[&str],
        addresses: impl IntoIterator<Item = A>,
        ttl: u32,
    ) -> Self {
        let names = names.iter().map(|&name| name.to_owned()).collect();
        Self::Aliases { names, addresses: addresses.into_iter().map(Into::into).collect(), ttl }
    }

    /// `v4` for a query for A, `v6` for one for AAAA.
    pub fn per_family(v4: Self, v6: Self) -> Self {
        Self::PerFamily { v4: Box::new(v4), v6: Box::new(v6) }
    }

    /// This answer, but these records to a query for HTTPS records.
    #[must_use]
    pub fn with_https(self, records: impl Into<Vec<Vec<u8>>>, ttl: u32) -> Self {
        Self::Https { records: records.into(), ttl, otherwise: Box::new(self) }
    }

    /// The data of an HTTPS record (RFC 9460 §2.2): its priority, its target (empty for the root), and its
    /// parameters, whose order and values are not checked.
    ///
    /// # Panics
    /// If a label of the target or a value is too long to be told.
    pub fn https_data(priority: u16, target: &str, parameters: &[(u16, &[u8])]) -> Vec<u8> {
        let mut data = priority.to_be_bytes().to_vec();
        for label in target.split('.').filter(|label| !label.is_empty()) {
            data.push(u8::try_from(label.len()).expect("a label has 63 bytes at most"));
            data.extend_from_slice(label.as_bytes());
        }
        data.push(0);
        for (key, value) in parameters {
            let length = u16::try_from(value.len()).expect("a value has 65,535 bytes at most");
            data.extend([key.to_be_bytes(), length.to_be_bytes()].concat());
            data.extend_from_slice(value);
        }
        data
    }

    /// This answer, after forged messages.
    #[must_use]
    pub fn after_forged(self, forgeries: impl Into<Vec<DnsForgery>>) -> Self {
        Self::Forged(forgeries.into(), Box::new(self))
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
