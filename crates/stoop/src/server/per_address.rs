//! Counts the connections of each client address, where there is a limit for them.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How many connections each address has. It is looked at when a connection is accepted and when it ends, behind a lock
/// that is held for as long as a hash table takes, and has an entry for each address that has a connection.
pub(crate) struct AddressTable {
    /// At most so many of one address.
    max: usize,
    /// The hasher's keys are random, so that no client chooses addresses that collide.
    connections: Mutex<HashMap<u64, usize>>,
}

impl AddressTable {
    /// A table with that limit; none if it is no limit.
    pub(super) fn new(max: usize) -> Option<Arc<Self>> {
        (max < usize::MAX).then(|| Arc::new(Self { max, connections: Mutex::default() }))
    }

    /// Counts a connection of that address, unless there are as many as there may be.
    pub(super) fn enter(self: &Arc<Self>, address: IpAddr) -> Option<AddressPermit> {
        let key = key(address);
        let mut connections = self.connections();
        let count = connections.get(&key).copied().unwrap_or(0);
        if count >= self.max {
            return None;
        }
        connections.insert(key, count + 1);
        drop(connections);
        Some(AddressPermit { table: self.clone(), key })
    }

    fn connections(&self) -> MutexGuard<'_, HashMap<u64, usize>> {
        self.connections.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A connection among those of its address, for as long as this is held.
pub(crate) struct AddressPermit {
    table: Arc<AddressTable>,
    key: u64,
}

impl Drop for AddressPermit {
    fn drop(&mut self) {
        let mut connections = self.table.connections();
        if let Entry::Occupied(mut entry) = connections.entry(self.key) {
            match entry.get_mut() {
                count @ 2.. => *count -= 1,
                _ => drop(entry.remove()),
            }
        }
        // A table that was large for a moment does not stay so.
        if connections.capacity() > 1024 && connections.len() < connections.capacity() / 8 {
            connections.shrink_to_fit();
        }
    }
}

/// What counts as one address: an address of IPv4, and a network of 64 bits of IPv6, all of which one client may have
/// (RFC 4291 §2.5.1). Networks of which the upper 32 bits are zero are no public ones, so that the two never meet.
fn key(address: IpAddr) -> u64 {
    match address.to_canonical() {
        IpAddr::V4(v4) => u64::from(v4.to_bits()),
        IpAddr::V6(v6) => match (v6.to_bits() >> 64) as u64 {
            // `::1`, and what else has no network.
            0 => u64::MAX,
            network => network,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn an_address_has_as_many_connections_as_the_limit_and_no_more() {
        let table = AddressTable::new(2).unwrap();
        let first = table.enter(ip("192.0.2.1")).unwrap();
        let second = table.enter(ip("192.0.2.1")).unwrap();
        assert!(table.enter(ip("192.0.2.1")).is_none());
        let other = table.enter(ip("192.0.2.2")).unwrap();
        drop(first);
        let third = table.enter(ip("192.0.2.1")).unwrap();
        assert!(table.enter(ip("192.0.2.1")).is_none());
        drop((second, third, other));
        assert!(table.connections().is_empty(), "an entry for no connection");
    }

    #[test]
    fn addresses_of_one_network_of_ipv6_are_one_and_mapped_ones_are_ipv4() {
        let table = AddressTable::new(1).unwrap();
        let _one = table.enter(ip("2001:db8:1:2::1")).unwrap();
        assert!(table.enter(ip("2001:db8:1:2:ffff::9")).is_none());
        let _two = table.enter(ip("2001:db8:1:3::1")).unwrap();
        let _four = table.enter(ip("192.0.2.1")).unwrap();
        assert!(table.enter(ip("::ffff:192.0.2.1")).is_none());
        let _six = table.enter(ip("::1")).unwrap();
    }

    #[test]
    fn no_limit_needs_no_table() {
        assert!(AddressTable::new(usize::MAX).is_none());
        assert!(AddressTable::new(0).unwrap().enter(ip("192.0.2.1")).is_none());
    }

    #[test]
    fn a_table_that_was_large_gives_its_memory_back() {
        let table = AddressTable::new(1).unwrap();
        let many = (0..10_000u32).map(|n| table.enter(IpAddr::V4(n.into())).unwrap());
        let many: Vec<_> = many.collect();
        assert_eq!(table.connections().len(), 10_000);
        drop(many);
        assert!(table.connections().capacity() <= 1024, "{}", table.connections().capacity());
    }
}
