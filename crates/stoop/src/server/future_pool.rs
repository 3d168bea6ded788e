//! Places for handlers' futures, used again: a connection that waits for no handler holds none.

use std::pin::Pin;
use std::sync::{Mutex, PoisonError};

/// Places that a core keeps.
const KEPT_MAX: usize = 256;

/// A pinned place for a future; empty while it lies on the free_list.
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
    /// Puts a future in a place.
    pub(crate) fn place(&self, future: F) -> FutureSlot<F> {
        let free = self.0.lock().unwrap_or_else(PoisonError::into_inner).pop();
        match free {
            Some(mut place) => {
                place.set(Some(future));
                place
            }
            None => Box::pin(Some(future)),
        }
    }

    /// Takes a place back; the future in it is dropped where it is.
    pub(crate) fn put_back(&self, mut place: FutureSlot<F>) {
        place.set(None);
        let mut free = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if free.len() < KEPT_MAX {
            free.push(place);
        }
    }
}
