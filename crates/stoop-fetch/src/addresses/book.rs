//! What is known of the addresses of servers, for a time and in bounded memory.

use std::collections::HashMap;
use std::net::IpAddr;
use std::time::{Duration, Instant};

use crate::schedule::address_key;

/// How many servers are known at most.
const SERVERS_MAX: usize = 100_000;

/// How long an address is used: a run of days follows a host that moves.
const FOUND_FOR: Duration = Duration::from_secs(300);

/// How long the first address of IPv6 is used. A resolver does not wait for the response of the slower family
/// (RFC 8305 §3): where that comes a little later, the address that counts is of IPv4. Each time that IPv6 is all
/// again, it is used twice as long, up to [`FOUND_FOR`].
const IPV6_FOR: Duration = Duration::from_secs(2);

/// How long a server without an address is not looked up again.
const NOTHING_FOR: Duration = Duration::from_secs(10);

/// How long a server is not looked up again that failed, and whose address was not known before.
const FAILED_FOR: Duration = Duration::from_secs(1);

/// How long an address that has expired is used until the next lookup, where one has failed.
const KEPT_FOR: Duration = Duration::from_secs(10);

/// How long an address is used at most after it was found, where all lookups fail since.
const KEPT_MAX: Duration = Duration::from_secs(1800);

/// What a lookup said of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LookedUp {
    /// The lowest of its addresses, of which those of IPv4 are lower than all of IPv6.
    Address(IpAddr),
    /// That it has none.
    Nothing,
    /// Nothing: that was not found out, for the moment at least.
    Failed,
}

/// What counts as the address of a server.
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
    /// When a lookup has said so.
    since: Instant,
    /// Until when it counts.
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
        // What has expired stays as well: a lookup follows, which may fail.
        self.insert_young(server, entry);
        known(entry)
    }

    /// Remembers what a lookup said, and returns what counts by that.
    pub(super) fn insert(&mut self, server: Box<[u8]>, said: LookedUp, now: Instant) -> Found {
        let earlier = self.old.remove(&server);
        let earlier = self.young.get(&server).copied().or(earlier);
        let entry = Entry::new(said, earlier, now);
        self.insert_young(server, entry);
        entry.found
    }

    fn insert_young(&mut self, server: Box<[u8]>, entry: Entry) {
        if self.young.len() >= self.generation_max && !self.young.contains_key(&server) {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(server, entry);
    }
}

impl Entry {
    /// What counts once a lookup has said that, where there was that before.
    fn new(said: LookedUp, earlier: Option<Self>, now: Instant) -> Self {
        let fresh = |found, time| Self { found, since: now, until: now + time };
        let kept = earlier.filter(|earlier| now < earlier.since + KEPT_MAX).map(|earlier| Self {
            until: (now + KEPT_FOR).min(earlier.since + KEPT_MAX).max(earlier.until),
            ..earlier
        });
        match (said, earlier.map(|earlier| earlier.found)) {
            (LookedUp::Nothing, _) => fresh(Found::Nothing, NOTHING_FOR),
            (LookedUp::Address(address @ IpAddr::V4(_)), _) => {
                fresh(Found::Address(address), FOUND_FOR)
            }
            (LookedUp::Address(address), Some(Found::Address(IpAddr::V6(_)))) => {
                let time = earlier.map_or(IPV6_FOR, |earlier| 2 * (earlier.until - earlier.since));
                fresh(Found::Address(address), time.min(FOUND_FOR))
            }
            // That of IPv4 may be late.
            (LookedUp::Address(address), Some(Found::Address(IpAddr::V4(_)))) => {
                kept.unwrap_or_else(|| fresh(Found::Address(address), IPV6_FOR))
            }
            (LookedUp::Address(address), _) => fresh(Found::Address(address), IPV6_FOR),
            (LookedUp::Failed, Some(Found::Address(_))) => {
                kept.unwrap_or_else(|| fresh(Found::Nothing, FAILED_FOR))
            }
            (LookedUp::Failed, _) => fresh(Found::Nothing, FAILED_FOR),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, Ipv6Addr};

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);
    const FOUR: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 1));
    const SIX: IpAddr = IpAddr::V6(Ipv6Addr::LOCALHOST);

    /// Has a server be looked up at that second.
    fn say(book: &mut AddressBook, server: &str, said: LookedUp, at: Instant) -> Found {
        book.insert(server.as_bytes().into(), said, at)
    }

    #[test]
    fn what_was_found_is_known_for_a_time() {
        let (mut book, now) = (AddressBook::default(), Instant::now());
        let address = Found::Address(FOUR);
        assert_eq!(say(&mut book, "a:80", LookedUp::Address(FOUR), now), address);
        assert_eq!(say(&mut book, "b:80", LookedUp::Nothing, now), Found::Nothing);
        assert_eq!(book.find(b"c:80", now), None);
        assert_eq!(book.find(b"b:80", now + 9 * SECOND), Some(Found::Nothing));
        assert_eq!(book.find(b"b:80", now + 10 * SECOND), None);
        assert_eq!(book.find(b"a:80", now + 299 * SECOND), Some(address));
        assert_eq!(book.find(b"a:80", now + 300 * SECOND), None);
        say(&mut book, "b:80", LookedUp::Address(FOUR), now + 20 * SECOND);
        assert_eq!(book.find(b"b:80", now + 30 * SECOND), Some(address));
        assert_eq!(say(&mut book, "b:80", LookedUp::Nothing, now + 330 * SECOND), Found::Nothing);
        assert_eq!(book.find(b"b:80", now + 339 * SECOND), Some(Found::Nothing));
    }

    #[test]
    fn an_address_that_has_expired_is_used_for_half_an_hour_while_lookups_fail() {
        let (mut book, start) = (AddressBook::default(), Instant::now());
        book.generation_max = 2;
        let address = Found::Address(FOUR);
        say(&mut book, "a:80", LookedUp::Address(FOUR), start);
        let mut now = start + 300 * SECOND;
        while now < start + KEPT_MAX {
            assert_eq!(book.find(b"a:80", now), None, "it is looked up again");
            // That holds for what other servers push into the old generation, too.
            say(&mut book, "b:80", LookedUp::Nothing, now);
            say(&mut book, "c:80", LookedUp::Nothing, now);
            assert_eq!(say(&mut book, "a:80", LookedUp::Failed, now), address);
            let until = (now + 10 * SECOND).min(start + KEPT_MAX);
            assert_eq!(book.find(b"a:80", until - SECOND), Some(address));
            now = until;
        }
        assert_eq!(now, start + KEPT_MAX);
        assert_eq!(say(&mut book, "a:80", LookedUp::Failed, now), Found::Nothing);
        // And a new one counts at once.
        say(&mut book, "a:80", LookedUp::Address(FOUR), now);
        say(&mut book, "a:80", LookedUp::Failed, now + 300 * SECOND);
        let other = LookedUp::Address([127, 0, 0, 2].into());
        let found = say(&mut book, "a:80", other, now + 310 * SECOND);
        assert_eq!(found, Found::Address([127, 0, 0, 2].into()));
        assert_eq!(book.find(b"a:80", now + 609 * SECOND), Some(found));
        // A failure shortens no time.
        assert_eq!(say(&mut book, "a:80", LookedUp::Failed, now + 311 * SECOND), found);
        assert_eq!(book.find(b"a:80", now + 609 * SECOND), Some(found));
    }

    #[test]
    fn a_failure_without_an_earlier_address_is_known_for_a_second() {
        let (mut book, now) = (AddressBook::default(), Instant::now());
        for server in ["new:80", "none:80"] {
            if server == "none:80" {
                say(&mut book, server, LookedUp::Nothing, now - 10 * SECOND);
            }
            assert_eq!(say(&mut book, server, LookedUp::Failed, now), Found::Nothing);
            let server = server.as_bytes();
            assert_eq!(book.find(server, now + SECOND / 2), Some(Found::Nothing));
            assert_eq!(book.find(server, now + SECOND), None);
        }
    }

    #[test]
    fn an_address_of_ipv6_is_asked_for_again_soon_and_then_less_often() {
        let (mut book, mut now) = (AddressBook::default(), Instant::now());
        let six = Found::Address(SIX);
        for time in [2, 4, 8, 16, 32, 64, 128, 256, 300, 300] {
            assert_eq!(book.find(b"a:80", now), None);
            assert_eq!(say(&mut book, "a:80", LookedUp::Address(SIX), now), six);
            now += time * SECOND;
            assert_eq!(book.find(b"a:80", now - SECOND), Some(six));
        }
        say(&mut book, "a:80", LookedUp::Address(FOUR), now);
        assert_eq!(book.find(b"a:80", now + 299 * SECOND), Some(Found::Address(FOUR)));
    }

    #[test]
    fn an_address_of_ipv4_stays_where_it_comes_late_the_next_time() {
        let (mut book, now) = (AddressBook::default(), Instant::now());
        let four = Found::Address(FOUR);
        say(&mut book, "a:80", LookedUp::Address(FOUR), now);
        let then = now + 300 * SECOND;
        assert_eq!(say(&mut book, "a:80", LookedUp::Address(SIX), then), four);
        assert_eq!(book.find(b"a:80", then + 9 * SECOND), Some(four));
        assert_eq!(book.find(b"a:80", then + 10 * SECOND), None);
        let then = now + KEPT_MAX;
        assert_eq!(say(&mut book, "a:80", LookedUp::Address(SIX), then), Found::Address(SIX));
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
        say(&mut book, "used", LookedUp::Nothing, now);
        for n in 0..1_000 {
            say(&mut book, &n.to_string(), LookedUp::Nothing, now);
            assert!(book.young.len() + book.old.len() <= 100);
            assert!(book.find(b"used", now).is_some());
        }
        assert!(book.find(b"999", now).is_some());
        assert_eq!(book.find(b"0", now), None);
    }
}
