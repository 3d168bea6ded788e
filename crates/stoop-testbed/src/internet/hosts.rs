//! The hosts of a plan with many URLs on each: how many there are, and what each does.
//!
//! Which URL is on which of them is in [`super::spread`].

use std::fmt;
use std::str::FromStr;

use super::address::HOSTS_MAX;
use super::class::{Class, Family};
use super::random::{Subject, UrlRandom};
use super::spread::Spread;

/// The hosts of a [`Plan`](super::Plan) that has many URLs on each: see [`Plan::on`](super::Plan::on).
///
/// All of them answer well, unless a [share](Self::share) is said to do something else. Shares are exact,
/// but for rounding to whole hosts, and mixed in an order that depends on the seed. The first host, which
/// has the most URLs of a [`Spread`] that is not even, is of none but where the shares leave no other.
///
/// ```
/// use stoop_testbed::{HostKind, Hosts, Plan, Spread};
///
/// let hosts = Hosts::new(100)
///     .spread(Spread::Hot { share: 0.2 })
///     .share(HostKind::Robots, 0.3)
///     .share(HostKind::Busy, 0.1);
/// let plan = Plan::new(1, 10_000).on(hosts);
/// let forbidden = plan.iter().filter(|url| url.expect.is_forbidden).count();
/// assert!((500..700).contains(&forbidden), "a quarter of what 30 hosts have");
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Hosts {
    count: u64,
    pub(crate) spread: Spread,
    shares: Vec<(HostKind, f64)>,
    pub(crate) retry_after: u32,
}

impl Hosts {
    /// So many hosts, from 1 to [`HOSTS_MAX`]; no more than there are URLs.
    pub fn new(count: u64) -> Self {
        Self {
            count: count.clamp(1, HOSTS_MAX),
            spread: Spread::Even,
            shares: Vec::new(),
            retry_after: 1,
        }
    }

    /// How the URLs are spread over them. Default: evenly.
    #[must_use]
    pub fn spread(mut self, spread: Spread) -> Self {
        self.spread = spread;
        self
    }

    /// The share of the hosts that are of this kind, from 0 to 1. Default: 0. Shares are given in the order
    /// in which they are said; of those that are more than 1 together, the last ones get what is left.
    #[must_use]
    pub fn share(mut self, kind: HostKind, share: f64) -> Self {
        self.shares.retain(|(said, _)| *said != kind);
        self.shares.push((kind, if share.is_nan() { 0.0 } else { share.clamp(0.0, 1.0) }));
        self
    }

    /// The seconds of a Retry-After of the hosts that are [busy](HostKind::Busy). Default: 1.
    #[must_use]
    pub fn retry_after(mut self, seconds: u32) -> Self {
        self.retry_after = seconds;
        self
    }
}

/// What a host does that has many URLs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum HostKind {
    /// Answers: of 10,000 URLs 979 by 4xx, 20 by 5xx (but never by 429 or 503) and the others by 2xx. It
    /// has no robots.txt, and answers 404 to requests for that.
    Good,
    /// Answers likewise, and has a robots.txt that forbids a quarter of its URLs: those below `/private/`.
    Robots,
    /// Answers likewise, but 503 to requests for robots.txt, by which all its URLs are forbidden (RFC 9309
    /// §2.3.1.4).
    RobotsError,
    /// Answers likewise, but its first URL and one in 50 others by 429 or 503 with a Retry-After, until a
    /// request comes for the same URL behind that time. One that comes before gets the same status, and the
    /// time that is left.
    Busy,
    /// Fails in one of the ways of [`HostKind::Fails`], each as often among these hosts as in a plan without
    /// [`Hosts`].
    Failing,
    /// Fails for all URLs as the class says. Only classes that end in a failure, and over HTTP/1.1 too, are
    /// of hosts: with any other this is [`HostKind::Good`].
    Fails(Class),
}

/// The kinds that have a name of their own; those that fail in one way are named as their class.
const NAMES: &[(&str, HostKind)] = &[
    ("good", HostKind::Good),
    ("robots", HostKind::Robots),
    ("robots-error", HostKind::RobotsError),
    ("busy", HostKind::Busy),
    ("failing", HostKind::Failing),
];

impl HostKind {
    /// All of them.
    pub fn all() -> impl Iterator<Item = Self> {
        NAMES.iter().map(|(_, kind)| *kind).chain(failing().map(|(_, class)| Self::Fails(class)))
    }
}

/// The classes of failures that all URLs of a host can have, with their weights. A fault over HTTP/2 is not
/// among them: what comes of it depends on the requests that share a connection.
fn failing() -> impl Iterator<Item = (u32, Class)> {
    Class::all().filter(|class| is_of_hosts(*class)).map(|class| (class.weight(), class))
}

fn is_of_hosts(class: Class) -> bool {
    class.family() != Family::Answered && !matches!(class, Class::BadHttp2(_))
}

impl fmt::Display for HostKind {
    /// Its name, such as `robots-error` or `tls-hang`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Self::Fails(class) = self {
            for (index, letter) in class.to_string().char_indices() {
                let dash = if index > 0 && letter.is_ascii_uppercase() { "-" } else { "" };
                write!(f, "{dash}{}", letter.to_ascii_lowercase())?;
            }
            return Ok(());
        }
        let name = NAMES.iter().find(|(_, kind)| kind == self).map_or("", |(name, _)| name);
        f.write_str(name)
    }
}

/// No kind of host has this name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownHostKind {
    name: String,
}

impl fmt::Display for UnknownHostKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<String> = HostKind::all().map(|kind| kind.to_string()).collect();
        write!(f, "no kind of host is called {:?}; there are: {}", self.name, names.join(", "))
    }
}

impl std::error::Error for UnknownHostKind {}

impl FromStr for HostKind {
    type Err = UnknownHostKind;

    fn from_str(name: &str) -> Result<Self, UnknownHostKind> {
        let known = Self::all().find(|kind| kind.to_string() == name);
        known.ok_or_else(|| UnknownHostKind { name: name.to_owned() })
    }
}

/// The hosts of one plan: how many there are, and which is of which kind.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PlannedHosts {
    pub(crate) count: u64,
    /// The place of each host among the kinds is that of the one before it and so much more, modulo their
    /// number: an order that has each host once, since the two have no common divisor.
    stride: u64,
    /// The kinds, and the place behind the last host of each.
    ends: Vec<(HostKind, u64)>,
    pub(crate) spread: Spread,
    pub(crate) retry_after: u32,
}

impl PlannedHosts {
    pub(crate) fn new(hosts: Hosts, seed: u64, urls: u64) -> Self {
        let count = hosts.count.min(urls).max(1);
        let mut sum = 0.0;
        let ends = hosts.shares.iter().map(|(kind, share)| {
            sum = f64::min(sum + share, 1.0);
            (*kind, (sum * count as f64).round() as u64)
        });
        Self {
            count,
            stride: stride(seed, count),
            ends: ends.collect(),
            spread: hosts.spread,
            retry_after: hosts.retry_after,
        }
    }

    /// The kind of a host, in which way it fails included.
    pub(crate) fn kind(&self, seed: u64, host: u64) -> HostKind {
        // The first host has the last place.
        let place = (host * self.stride + self.count - 1) % self.count;
        let kind = self.ends.iter().find(|(_, end)| place < *end).map(|(kind, _)| *kind);
        match kind.unwrap_or(HostKind::Good) {
            HostKind::Failing => {
                let ways: Vec<_> = failing().collect();
                let way = UrlRandom::of(Subject::Host, seed, host).choose(&ways);
                way.map_or(HostKind::Good, HostKind::Fails)
            }
            HostKind::Fails(class) if !is_of_hosts(class) => HostKind::Good,
            kind => kind,
        }
    }
}

/// About the golden section of `count`, so that neighbours are far apart, and without a divisor in common
/// with it.
fn stride(seed: u64, count: u64) -> u64 {
    let spread = u32::try_from(count / 8).unwrap_or(u32::MAX) + 1;
    let from = (count as f64 * 0.618) as u64;
    let first = from + u64::from(UrlRandom::of(Subject::Hosts, seed, 0).below(spread));
    (first.max(1)..).find(|stride| gcd(*stride, count) == 1).unwrap_or(1)
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_name_is_unique_and_can_be_parsed() {
        let names: HashSet<String> = HostKind::all().map(|kind| kind.to_string()).collect();
        assert_eq!(names.len(), NAMES.len() + 23);
        assert!(HostKind::all().all(|kind| kind.to_string().parse() == Ok(kind)));
        assert_eq!("nx-domain".parse(), Ok(HostKind::Fails(Class::NxDomain)));
        assert_eq!("reset-mid-body".parse(), Ok(HostKind::Fails(Class::ResetMidBody)));
        for wrong in ["", "Busy", "success", "bad-http2-drip"] {
            assert!(wrong.parse::<HostKind>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn each_kind_has_its_share_of_any_number_of_hosts() {
        for count in [1, 2, 7, 10, 96, 1_000, 9_999] {
            for seed in 0..3 {
                let hosts = Hosts::new(count)
                    .share(HostKind::Robots, 0.25)
                    .share(HostKind::Failing, 0.1)
                    .share(HostKind::Busy, 0.3);
                let planned = PlannedHosts::new(hosts, seed, 1_000_000);
                let kinds: Vec<_> = (0..count).map(|host| planned.kind(seed, host)).collect();
                let of = |is: fn(&HostKind) -> bool| {
                    kinds.iter().filter(|kind| is(kind)).count() as f64 / count as f64
                };
                let within = |share: f64, planned: f64| {
                    assert!((share - planned).abs() <= 1.0 / count as f64, "{share}: {kinds:?}");
                };
                within(of(|kind| *kind == HostKind::Robots), 0.25);
                within(of(|kind| matches!(kind, HostKind::Fails(_))), 0.1);
                within(of(|kind| *kind == HostKind::Busy), 0.3);
                // Of few hosts the shares, rounded, may leave no other.
                assert!(count < 7 || kinds[0] == HostKind::Good, "{kinds:?}");
            }
        }
    }

    #[test]
    fn shares_are_of_all_hosts_and_bounded() {
        let refused = HostKind::Fails(Class::Refused);
        let all = |hosts| {
            let planned = PlannedHosts::new(hosts, 1, 10);
            (0..planned.count).map(|host| planned.kind(1, host)).collect::<Vec<_>>()
        };
        let twice = Hosts::new(10).share(HostKind::Busy, 1.0).share(HostKind::Robots, 1.0);
        assert_eq!(all(twice), [HostKind::Busy; 10]);
        let again = Hosts::new(10).share(HostKind::Busy, 1.0).share(HostKind::Busy, f64::NAN);
        assert_eq!(all(again), [HostKind::Good; 10]);
        assert_eq!(all(Hosts::new(3).share(refused, 9.0)), [refused; 3]);
        assert_eq!(
            all(Hosts::new(4).share(HostKind::Fails(Class::Success), 1.0)),
            [HostKind::Good; 4]
        );
        assert_eq!(all(Hosts::new(40)).len(), 10, "no more hosts than URLs");
    }
}
