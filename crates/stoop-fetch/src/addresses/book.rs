//! What is known of the addresses of servers, for a time and in bounded memory.

use std::collections::HashMap;
use std::net::IpAddr;
use std::time::{Duration, Instant};

use crate::schedule::address_key;

/// How many servers are known at most.
const SERVERS_MAX: usize = 100_000;

/// How long an address is used: a run of days follows a host that moves.
const FOUND_FOR: Duration = Duration::from_secs(300);

/// How long a server without an address is not looked up again.
const NOTHING_FOR: Duration = Duration::from_secs(10);

/// What came of looking up the address of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// The lowest of its addresses.
    Address(IpAddr),
    /// None: it counts by its name.
    Nothing,
}

impl Found {
    /// Puts the key of the server's host, by which politeness counts it, in place of `key`.
    pub(crate) fn key(self, server: &[u8], key: &mut Vec<u8>) {
        key.clear();
        match self {
            Self::Address(address) => address_key(address, key),
            Self::Nothing => {
                let port = server.iter().rposition(|byte| *byte == b':');
                key.extend_from_slice(&server[..port.unwrap_or(server.len())]);
            }
        }
    }
}

/// What is known of servers, by their [keys](crate::schedule::server_key).
///
/// It has two generations: a server that is asked for moves into the young one; when that is full it becomes the old one,
/// and what was not asked for since the last time is forgotten.
#[derive(Debug)]
pub(super) struct AddressBook {
    young: HashMap<Box<[u8]>, Entry>,
    old: HashMap<Box<[u8]>, Entry>,
    generation_max: usize,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    found: Found,
    until: Instant,
}

impl Default for AddressBook {
    fn default() -> Self {
        Self { young: HashMap::new(), old: HashMap::new(), generation_max: SERVERS_MAX / 2 }
    }
}

impl AddressBook {
    /// What is known of a server.
    pub(super) fn find(&mut self, server: &[u8], now: Instant) -> Option<Found> {
        let known = |entry: Entry| (now < entry.until).then_some(entry.found);
        if let Some(entry) = self.young.get(server) {
            return known(*entry);
        }
        let (server, entry) = self.old.remove_entry(server)?;
        let found = known(entry)?;
        self.insert_young(server, entry);
        Some(found)
    }

    /// Remembers what came of a lookup.
    pub(super) fn insert(&mut self, server: Box<[u8]>, found: Found, now: Instant) {
        let time = match found {
            Found::Address(_) => FOUND_FOR,
            Found::Nothing => NOTHING_FOR,
        };
        self.old.remove(&server);
        self.insert_young(server, Entry { found, until: now + time });
    }

    fn insert_young(&mut self, server: Box<[u8]>, entry: Entry) {
        if self.young.len() >= self.generation_max && !self.young.contains_key(&server) {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(server, entry);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_found_is_known_for_a_time() {
        let (mut book, now) = (AddressBook::default(), Instant::now());
        let address = Found::Address([127, 0, 0, 1].into());
        book.insert((*b"a:80").into(), address, now);
        book.insert((*b"b:80").into(), Found::Nothing, now);
        let second = Duration::from_secs(1);
        assert_eq!(book.find(b"c:80", now), None);
        assert_eq!(book.find(b"b:80", now + 9 * second), Some(Found::Nothing));
        assert_eq!(book.find(b"b:80", now + 10 * second), None);
        assert_eq!(book.find(b"a:80", now + 299 * second), Some(address));
        assert_eq!(book.find(b"a:80", now + 300 * second), None);
        book.insert((*b"b:80").into(), address, now + 20 * second);
        assert_eq!(book.find(b"b:80", now + 30 * second), Some(address));
    }

    #[test]
    fn a_host_without_an_address_counts_by_its_name() {
        let address = Found::Address([127, 0, 0, 1].into());
        let mut key = Vec::new();
        for (found, server, expected) in [
            (Found::Nothing, "a.example:80", "a.example"),
            (Found::Nothing, "[::1]:80", "[::1]"),
            (address, "a.example:80", "127.0.0.1"),
        ] {
            found.key(server.as_bytes(), &mut key);
            assert_eq!(key, expected.as_bytes());
        }
    }

    #[test]
    fn the_memory_is_bounded_and_what_is_asked_for_stays() {
        let (mut book, now) = (AddressBook::default(), Instant::now());
        book.generation_max = 50;
        book.insert((*b"used").into(), Found::Nothing, now);
        for n in 0..1_000 {
            book.insert(n.to_string().into_bytes().into(), Found::Nothing, now);
            assert!(book.young.len() + book.old.len() <= 100);
            assert!(book.find(b"used", now).is_some());
        }
        assert!(book.find(b"999", now).is_some());
        assert_eq!(book.find(b"0", now), None);
    }
}
