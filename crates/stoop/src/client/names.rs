//! Where a client gets the addresses of hosts from, and which of them it connects to.

mod host_and_port;

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use stoop_io::{Addresses, DnsError, DnsErrorKind, LocalEnd, Resolver};

use crate::dns::Resolve;
use crate::error::{BoxError, Error, ErrorKind, Phase};

pub(crate) use host_and_port::HostAndPort;
use host_and_port::{key, read_key};

/// Hosts whose winners are remembered. Beyond it all are forgotten, and found out again.
const WINNERS_MAX: usize = 1024;

/// Whether an address may be connected to.
pub(crate) type AddressFilter = Box<dyn Fn(IpAddr) -> bool + Send + Sync>;

/// The names that a client knows, and the addresses that it may use.
#[derive(Default)]
pub(crate) struct Names {
    /// In place of the client's own resolver.
    pub(super) source: Option<Box<dyn Resolve>>,
    pub(super) resolver: Option<Resolver>,
    /// Hosts that are not looked up, in lower case and without the root's dot, perhaps with a port.
    pub(super) overrides: HashMap<Box<str>, Addresses>,
    /// Hosts and ports in whose place others are connected to.
    pub(super) replaced: Vec<Replacement>,
    pub(super) filter: Option<AddressFilter>,
    pub(super) local: LocalEnd,
    /// Of hosts with several addresses, the one that was connected to last, where it was not the first.
    winners: Mutex<HashMap<Box<str>, IpAddr>>,
}

/// A host and port in whose place another is connected to. What is not given is any, or stays.
pub(crate) struct Replacement {
    pub(super) from: HostAndPort,
    pub(super) to: HostAndPort,
}

impl Names {
    /// The system's resolver, unless there is another.
    pub(super) fn with_defaults(mut self) -> Self {
        if self.source.is_none() {
            self.resolver.get_or_insert_with(Resolver::system);
        }
        self
    }

    /// Has these be the addresses of a host, perhaps at one port alone.
    pub(super) fn set(&mut self, host: &str, addresses: Vec<IpAddr>) -> Result<(), Error> {
        self.overrides.insert(read_key(host)?, addresses.into());
        Ok(())
    }

    /// The host and port that are connected to in place of these.
    pub(super) fn replacement(&self, host: &str, port: u16) -> Option<(Box<str>, u16)> {
        if self.replaced.is_empty() {
            return None;
        }
        let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        let bare = key(bare);
        let mut all = self.replaced.iter();
        let found = all.find(|Replacement { from, .. }| {
            from.host.as_ref().is_none_or(|host| *host == bare)
                && from.port.is_none_or(|from| from == port)
        })?;
        Some((found.to.host.clone().unwrap_or(bare), found.to.port.unwrap_or(port)))
    }

    /// The addresses of a host for a port. Ready at once if it is not looked up.
    pub(super) async fn lookup(&self, host: &str, port: u16) -> Result<Addresses, Error> {
        if !self.overrides.is_empty()
            && let Some(addresses) = self
                .overrides
                .get(&*format!("{}:{port}", key(host)))
                .or_else(|| self.overrides.get(&key(host)))
                .or_else(|| self.overrides.get(&*format!("*:{port}")))
                .or_else(|| self.overrides.get("*"))
        {
            return match addresses.is_empty() {
                true => Err(Error::new(ErrorKind::DnsNxdomain, Phase::Dns)),
                false => Ok(addresses.clone()),
            };
        }
        match (&self.source, &self.resolver) {
            (Some(source), _) => {
                let found = source.resolve(host.to_owned()).await.map_err(resolve_error)?;
                if found.is_empty() {
                    let error = Error::new(ErrorKind::DnsOther, Phase::Dns);
                    return Err(error.with_detail("the name has no address"));
                }
                Ok(found)
            }
            (None, Some(resolver)) => resolver.lookup(host).await.map_err(dns_error),
            (None, None) => {
                Err(Error::new(ErrorKind::Internal, Phase::Dns).with_detail("no resolver"))
            }
        }
    }

    /// Those of the addresses that may be connected to: that the local address can reach, and, `is_filtered`, that the
    /// caller's filter allows.
    pub(super) fn permitted(
        &self,
        addresses: Addresses,
        is_filtered: bool,
    ) -> Result<Addresses, Error> {
        let filter = self.filter.as_ref().filter(|_| is_filtered);
        if filter.is_none() && self.local.ipv4.is_none() && self.local.ipv6.is_none() {
            return Ok(addresses);
        }
        let is_reachable = |address: &IpAddr| self.local.allows(*address);
        let mut kept: Vec<IpAddr> = addresses.iter().copied().filter(is_reachable).collect();
        if kept.is_empty() {
            let error = Error::new(ErrorKind::ConnectUnreachable, Phase::Connect);
            return Err(error.with_detail(format_args!(
                "{} cannot be connected to from the local address, which is of the other family",
                List(&addresses)
            )));
        }
        if let Some(filter) = filter {
            // An IPv4 address in the form of IPv6 (RFC 4291 §2.5.5.2) is connected to as what it is.
            kept.retain(|address| filter(address.to_canonical()));
        }
        if kept.is_empty() {
            let error = Error::new(ErrorKind::AddressDenied, Phase::Dns);
            return Err(error.with_detail(List(&addresses)));
        }
        Ok(kept.into())
    }
}

impl Names {
    /// The addresses of a host, the one that won the last race first (RFC 8305 §4): a family that does not
    /// work costs each host its delay once.
    pub(super) fn winner_first(&self, host: &str, addresses: Addresses) -> Addresses {
        let [first, _, ..] = &*addresses else { return addresses };
        let winners = self.winners();
        match winners.get(host) {
            Some(winner) if winner != first && addresses.contains(winner) => {
                let others = addresses.iter().filter(|address| *address != winner);
                std::iter::once(winner).chain(others).copied().collect::<Vec<_>>().into()
            }
            _ => addresses,
        }
    }

    /// One of several addresses of a host was connected to. `first` was the first of them.
    pub(super) fn won(&self, host: &str, first: IpAddr, winner: IpAddr) {
        let mut winners = self.winners();
        if winner == first {
            return;
        }
        if winners.len() >= WINNERS_MAX {
            winners.clear();
        }
        winners.insert(host.into(), winner);
    }

    fn winners(&self) -> MutexGuard<'_, HashMap<Box<str>, IpAddr>> {
        self.winners.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Addresses as text.
struct List<'a>(&'a [IpAddr]);

impl std::fmt::Display for List<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (at, address) in self.0.iter().enumerate() {
            write!(f, "{}{address}", if at > 0 { ", " } else { "" })?;
        }
        Ok(())
    }
}

/// What the error of a resolver of the caller's means: those of ours are what they say.
fn resolve_error(error: BoxError) -> Error {
    match error.downcast::<Error>() {
        Ok(ours) => *ours,
        Err(other) => match other.downcast::<DnsError>() {
            Ok(dns) => dns_error(*dns),
            Err(other) => Error::new(ErrorKind::DnsOther, Phase::Dns).with_source(other),
        },
    }
}

fn dns_error(error: DnsError) -> Error {
    let kind = match error.kind() {
        DnsErrorKind::NxDomain => ErrorKind::DnsNxdomain,
        DnsErrorKind::ServFail => ErrorKind::DnsServfail,
        DnsErrorKind::Timeout => ErrorKind::DnsTimeout,
        DnsErrorKind::InvalidName => ErrorKind::InvalidUrl,
        DnsErrorKind::NoRecords | DnsErrorKind::Other => ErrorKind::DnsOther,
    };
    Error::new(kind, Phase::Dns).with_source(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_that_won_is_tried_first_until_another_wins() {
        let names = Names::default();
        let all: Vec<IpAddr> = ["::1", "10.0.0.1", "10.0.0.2"].map(|a| a.parse().unwrap()).into();
        let ordered = |host| names.winner_first(host, all.clone().into()).to_vec();
        assert_eq!(ordered("a"), all);
        names.won("a", all[0], all[2]);
        assert_eq!(ordered("a"), [all[2], all[0], all[1]]);
        assert_eq!(ordered("b"), all);
        // It won as the first this time: it stays so.
        names.won("a", all[2], all[2]);
        assert_eq!(ordered("a"), [all[2], all[0], all[1]]);
        names.won("a", all[2], all[1]);
        assert_eq!(ordered("a"), [all[1], all[0], all[2]]);
        // It is not one of the host's any more.
        let others: Addresses = vec![all[0], all[2]].into();
        assert_eq!(names.winner_first("a", others.clone()), others);
    }

    #[test]
    fn the_memory_for_winners_is_bounded() {
        let names = Names::default();
        let [first, winner] = ["::1", "10.0.0.1"].map(|a| a.parse().unwrap());
        for n in 0..3 * WINNERS_MAX {
            names.won(&n.to_string(), first, winner);
            assert!(names.winners().len() <= WINNERS_MAX);
        }
    }
}
