//! Closes the files of what has expired, where no request comes by that would.
//!
//! A file that was deleted takes its space on the disk for as long as it is open. A store forgets what has expired when
//! something is added; without requests nothing is, and so a task looks after it for as long as it has open files: one for each
//! store, whatever their number, and none while nothing is open. It costs requests a look at a flag.

use std::sync::{Arc, MutexGuard, Weak};
use std::time::Duration;

use tokio::runtime::Handle;

use super::store::Store;

/// How often a store is looked through at most, which is a walk over its entries.
const INTERVAL_MIN: Duration = Duration::from_secs(1);

/// What is always valid is never closed; the task waits for a day at a time, as a timer may have a bound.
const INTERVAL_MAX: Duration = Duration::from_secs(24 * 3600);

/// The stores that sweepers look after, one each.
pub(super) trait Stores: Send + Sync + 'static {
    /// The store at a place.
    fn store(&self, place: usize) -> MutexGuard<'_, Store>;
}

/// What looks after one store. It does not keep the stores.
pub(super) struct Sweeper<S: Stores> {
    stores: Weak<S>,
    place: usize,
}

impl<S: Stores> Sweeper<S> {
    /// Starts to look after a store, which is not locked, and has been told so. Without a runtime it is told otherwise.
    pub(super) fn start(stores: &Arc<S>, place: usize, validity: Duration) {
        let mut sweeper = Self { stores: Arc::downgrade(stores), place };
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
        let Some(stores) = self.stores.upgrade() else { return false };
        let mut store = stores.store(self.place);
        store.has_sweeper = store.sweep_all(tokio::time::Instant::now());
        if !store.has_sweeper {
            // The store knows, and has another one as soon as it is unlocked and a file is added.
            self.stores = Weak::new();
        }
        store.has_sweeper
    }
}

/// A runtime that ends drops its tasks, and the store may be used on another.
impl<S: Stores> Drop for Sweeper<S> {
    fn drop(&mut self) {
        if let Some(stores) = self.stores.upgrade() {
            stores.store(self.place).has_sweeper = false;
        }
    }
}
