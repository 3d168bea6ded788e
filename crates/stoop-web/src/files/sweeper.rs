//! Closes the files of what has expired, where no request comes by that would.
//!
//! A file that was deleted takes its space on the disk for as long as it is open. A store forgets what has expired when
//! something is added; without requests nothing is, and so a task looks after it for as long as it has open files: one for each
//! store, whatever their number, and none while nothing is open. It costs requests a look at a flag.

use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::runtime::Handle;

use super::cache::Cache;

/// How often a store is looked through at most, which is a walk over its entries.
const INTERVAL_MIN: Duration = Duration::from_secs(1);

/// What is always valid is never closed; the task waits for a day at a time, as a timer may have a bound.
const INTERVAL_MAX: Duration = Duration::from_secs(24 * 3600);

/// What looks after one store. It does not keep the cache.
pub(super) struct Sweeper {
    cache: Weak<Cache>,
    place: usize,
}

impl Sweeper {
    /// Starts to look after a store, which is not locked, and has been told so. Without a runtime it is told otherwise.
    pub(super) fn start(cache: &Arc<Cache>, place: usize, validity: Duration) {
        let mut sweeper = Self { cache: Arc::downgrade(cache), place };
        let Ok(runtime) = Handle::try_current() else { return };
        let interval = validity.clamp(INTERVAL_MIN, INTERVAL_MAX);
        runtime.spawn(async move {
            loop {
                tokio::time::sleep(interval).await;
                if !sweeper.sweep() {
                    return;
                }
            }
        });
    }

    /// Closes what has expired, and says whether to come again.
    fn sweep(&mut self) -> bool {
        let Some(cache) = self.cache.upgrade() else { return false };
        let mut store = cache.store(self.place);
        store.has_sweeper = store.sweep_all(tokio::time::Instant::now());
        if !store.has_sweeper {
            // The store knows, and has another one as soon as it is unlocked and a file is added.
            self.cache = Weak::new();
        }
        store.has_sweeper
    }
}

/// A runtime that ends drops its tasks, and the store may be used on another.
impl Drop for Sweeper {
    fn drop(&mut self) {
        if let Some(cache) = self.cache.upgrade() {
            cache.store(self.place).has_sweeper = false;
        }
    }
}
