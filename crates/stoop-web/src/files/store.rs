//! One worker's memory of paths: bounded in entries, open files and bytes, and what is not asked for again goes first.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::cache_limits::FileCache;
use super::found::{Cost, Found};

/// What is always valid is so for a century, which an instant can be.
const VALIDITY_MAX: Duration = Duration::from_secs(100 * 365 * 24 * 3600);

/// How many entries are looked at when one is added: more than one, so that what has expired is gone before long.
const SWEPT_PER_INSERT: usize = 4;

/// One worker's memory of paths.
///
/// What goes is found by a hand that goes round (CLOCK): it passes by what was asked for since it came by last. An entry
/// that is never asked for again, as of paths that a scanner tries, goes in the first round.
#[derive(Default)]
pub(super) struct Store {
    places: HashMap<Arc<str>, usize>,
    entries: Vec<Entry>,
    hand: usize,
    total: Cost,
    /// A task comes by for what has expired: see [`Sweeper`](super::sweeper::Sweeper).
    pub(super) has_sweeper: bool,
}

struct Entry {
    key: Arc<str>,
    found: Found,
    cost: Cost,
    expires: Instant,
    was_used: bool,
}

impl Store {
    pub(super) fn find(&mut self, key: &str, now: Instant) -> Option<Found> {
        let entry = self.entries.get_mut(*self.places.get(key)?)?;
        if entry.expires <= now {
            return None;
        }
        entry.was_used = true;
        Some(entry.found.clone())
    }

    /// Remembers `found`, in place of what was known of the path, and forgets others until there is room for it. What
    /// alone is more than the limits allow is not remembered.
    pub(super) fn insert(&mut self, key: &str, found: Found, now: Instant, limits: &FileCache) {
        self.sweep(now);
        let mut was_used = false;
        if let Some(place) = self.places.get(key) {
            was_used = self.remove(*place).was_used;
        }
        let cost = found.cost();
        let fits = limits.entries_max > 0
            && cost.open <= limits.open_max
            && cost.bytes <= limits.bytes_max;
        if !fits {
            return;
        }
        while self.entries.len() >= limits.entries_max {
            self.evict(|_| true);
        }
        while self.total.open + cost.open > limits.open_max {
            self.evict(|cost| cost.open > 0);
        }
        while self.total.bytes + cost.bytes > limits.bytes_max {
            self.evict(|cost| cost.bytes > 0);
        }
        self.total.open += cost.open;
        self.total.bytes += cost.bytes;
        let expires = now + limits.validity.min(VALIDITY_MAX);
        let key: Arc<str> = key.into();
        self.places.insert(key.clone(), self.entries.len());
        self.entries.push(Entry { key, found, cost, expires, was_used });
    }

    /// Forgets all that has expired, and says whether files are open still.
    pub(super) fn sweep_all(&mut self, now: Instant) -> bool {
        let mut place = 0;
        while let Some(entry) = self.entries.get(place) {
            match entry.expires <= now {
                true => drop(self.remove(place)),
                false => place += 1,
            }
        }
        self.has_open()
    }

    /// Whether files are kept open.
    pub(super) fn has_open(&self) -> bool {
        self.total.open > 0
    }

    /// Forgets what has expired among the entries that the hand comes to next, so that there is room.
    fn sweep(&mut self, now: Instant) {
        for _ in 0..SWEPT_PER_INSERT {
            match self.entries.get(self.hand) {
                Some(entry) if entry.expires <= now => drop(self.remove(self.hand)),
                Some(_) => self.hand += 1,
                None => self.hand = 0,
            }
        }
    }

    /// Forgets an entry whose cost is such, of which there is one. Two rounds find it: the first takes the marks away.
    fn evict(&mut self, is: impl Fn(Cost) -> bool) {
        for _ in 0..2 * self.entries.len() {
            if self.hand >= self.entries.len() {
                self.hand = 0;
            }
            let Some(entry) = self.entries.get_mut(self.hand) else { return };
            if is(entry.cost) && !std::mem::take(&mut entry.was_used) {
                self.remove(self.hand);
                return;
            }
            self.hand += 1;
        }
    }

    fn remove(&mut self, place: usize) -> Entry {
        let entry = self.entries.swap_remove(place);
        self.places.remove(&entry.key);
        if let Some(moved) = self.entries.get(place) {
            self.places.insert(moved.key.clone(), place);
        }
        self.total.open -= entry.cost.open;
        self.total.bytes -= entry.cost.bytes;
        entry
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use bytes::Bytes;
    use stoop::files::{Directory, Opened};

    use crate::files::representation::{Content, Description, FoundFile, Representation};

    fn file(bytes: Option<usize>) -> Found {
        let directory = Directory::at(env!("CARGO_MANIFEST_DIR")).unwrap();
        let Ok(Opened::File(opened)) = directory.open_blocking("Cargo.toml") else { panic!() };
        let metadata = opened.metadata().clone();
        let content = match bytes {
            Some(bytes) => Content::Memory(Bytes::from(vec![0; bytes])),
            None => Content::File(opened),
        };
        let about = Description {
            content_type: "text/plain".to_owned(),
            cache_control: None,
            coding: None,
            varies: false,
        };
        let plain = Representation::new(content, &metadata, about);
        Found::File(Arc::new(FoundFile { plain, coded: Vec::new(), varies: false }))
    }

    fn later(now: Instant) -> Instant {
        now + Duration::from_secs(1)
    }

    #[test]
    fn an_entry_is_found_until_it_expires() {
        let (mut store, now) = (Store::default(), Instant::now());
        store.insert("a", Found::Nothing, now, &FileCache::new());
        assert!(matches!(store.find("a", now), Some(Found::Nothing)));
        assert!(store.find("b", now).is_none());
        assert!(store.find("a", later(now)).is_none());
        store.insert("a", Found::Redirect, later(now), &FileCache::new());
        assert!(matches!(store.find("a", later(now)), Some(Found::Redirect)));
        assert_eq!((store.entries.len(), store.places.len()), (1, 1));
    }

    #[test]
    fn what_has_expired_is_forgotten_as_others_are_added() {
        let (mut store, now) = (Store::default(), Instant::now());
        let limits = FileCache::new();
        (0..10).for_each(|index| store.insert(&format!("old-{index}"), file(None), now, &limits));
        assert_eq!(store.total.open, 10);
        (0..10).for_each(|_| store.insert("new", Found::Nothing, later(now), &limits));
        assert_eq!((store.total.open, store.entries.len()), (0, 1));
    }

    #[test]
    fn a_sweep_forgets_all_that_has_expired_and_nothing_else() {
        let (mut store, now) = (Store::default(), Instant::now());
        let limits = FileCache::new();
        for index in 0..50 {
            let (old, young) = (format!("old-{index}"), format!("young-{index}"));
            store.insert(&old, file(None), now, &limits);
            store.insert(&young, file(Some(10)), now + Duration::from_millis(500), &limits);
        }
        assert!(store.sweep_all(now) && store.entries.len() == 100);
        assert!(!store.sweep_all(later(now)), "no file is open");
        assert_eq!(store.total, Cost { open: 0, bytes: 500 });
        for (key, place) in &store.places {
            assert!(key.starts_with("young-") && store.entries[*place].key == *key);
        }
        assert_eq!((store.places.len(), store.entries.len()), (50, 50));
        assert!(!store.sweep_all(later(later(now))) && store.entries.is_empty());
    }

    #[test]
    fn what_is_asked_for_stays_when_a_scanner_tries_names() {
        let (mut store, now) = (Store::default(), Instant::now());
        let limits = FileCache::new().entries_max(8);
        for index in 0..1_000 {
            if store.find("hot", now).is_none() {
                assert_eq!(index, 0, "it was forgotten");
                store.insert("hot", Found::Redirect, now, &limits);
            }
            store.insert(&format!("guess-{index}"), Found::Nothing, now, &limits);
            assert!(store.entries.len() <= 8 && store.places.len() == store.entries.len());
        }
        for (key, place) in &store.places {
            assert_eq!(store.entries[*place].key, *key);
        }
    }

    #[test]
    fn open_files_and_bytes_are_bounded() {
        let (mut store, now) = (Store::default(), Instant::now());
        let limits = FileCache::new().open_max(3).bytes_max(100);
        store.insert("nothing", Found::Nothing, now, &limits);
        for index in 0..20 {
            store.insert(&format!("open-{index}"), file(None), now, &limits);
            store.insert(&format!("small-{index}"), file(Some(30)), now, &limits);
            assert!(store.total.open <= 3 && store.total.bytes <= 100, "{:?}", store.total);
        }
        assert_eq!(store.total, Cost { open: 3, bytes: 90 });
        assert!(store.find("nothing", now).is_some(), "it costs none of these");
        store.insert("large", file(Some(101)), now, &limits);
        assert!(store.find("large", now).is_none() && store.total.bytes == 90);
    }
}
