//! What was found at paths, kept for a short time: files with their metadata, and that there is nothing.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::time::Instant;

use super::cache_limits::FileCache;
use super::found::Found;
use super::store::Store;
use super::sweeper::{Stores, Sweeper};
use crate::shards::thread_number;

/// How many threads have a store of their own before two share one. A store that no thread uses is some hundred bytes.
const STORES: usize = 64;

/// A longer path is looked up each time: names that are served are shorter, and a store of long ones would be large.
const KEY_BYTES_MAX: usize = 1024;

/// A store for each worker, so that none waits for another.
pub(super) struct Cache {
    limits: FileCache,
    stores: Box<[Padded]>,
}

/// In cache lines of its own, and of the neighbour that is fetched with them.
#[derive(Default)]
#[repr(align(128))]
struct Padded(Mutex<Store>);

impl Cache {
    pub(super) fn new(limits: FileCache) -> Self {
        Self { limits, stores: (0..STORES).map(|_| Padded::default()).collect() }
    }

    /// What was found at a path, if that is remembered.
    pub(super) fn find(&self, key: &str) -> Option<Found> {
        self.store(own_place()).find(key, Instant::now())
    }

    /// Remembers what was found at a path. A file that is kept open for it is closed in time, also if nothing more is asked
    /// for.
    pub(super) fn insert(self: &Arc<Self>, key: &str, found: &Found) {
        if key.len() > KEY_BYTES_MAX {
            return;
        }
        let place = own_place();
        let mut store = self.store(place);
        store.insert(key, found.clone(), Instant::now(), &self.limits);
        let starts = store.has_open() && !std::mem::replace(&mut store.has_sweeper, true);
        drop(store);
        if starts {
            Sweeper::start(self, place, self.limits.validity);
        }
    }
}

impl Stores for Cache {
    /// A lock that is this thread's own is taken without waiting.
    fn store(&self, place: usize) -> MutexGuard<'_, Store> {
        let Padded(store) = &self.stores[place];
        store.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The place of this thread's store.
fn own_place() -> usize {
    thread_number() % STORES
}
