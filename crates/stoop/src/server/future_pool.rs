//! Slots for handlers' futures, used again: a connection that waits for no handler holds none.

use std::pin::Pin;
use std::sync::{Mutex, PoisonError};

/// Slots that a core keeps.
const KEPT_MAX: usize = 256;

/// A pinned slot for a future; empty while it is free.
pub(crate) type FutureSlot<F> = Pin<Box<Option<F>>>;

/// The slots of one core that are free. Behind a lock that is never contended, because a
/// thread-local cannot be generic and an `Rc` would bind connections to their thread.
pub(crate) struct FuturePool<F>(Mutex<Vec<FutureSlot<F>>>);

impl<F> Default for FuturePool<F> {
    fn default() -> Self {
        Self(Mutex::new(Vec::new()))
    }
}

impl<F> FuturePool<F> {
    /// Puts a future in a slot.
    pub(crate) fn put(&self, future: F) -> FutureSlot<F> {
        let free = self.0.lock().unwrap_or_else(PoisonError::into_inner).pop();
        match free {
            Some(mut slot) => {
                slot.set(Some(future));
                slot
            }
            None => Box::pin(Some(future)),
        }
    }

    /// Takes a slot back; the future in it is dropped where it is.
    pub(crate) fn put_back(&self, mut slot: FutureSlot<F>) {
        slot.set(None);
        let mut free = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if free.len() < KEPT_MAX {
            free.push(slot);
        }
    }
}
