//! State that each thread has a part of, so that cores do not wait for each other.

use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Parts: as many threads write at the same time without waiting. More cores than that are rare, and share.
pub(crate) const SHARDS: usize = 16;

/// A number that this thread alone has.
pub(crate) fn thread_number() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    thread_local! {
        static NUMBER: Cell<usize> = const { Cell::new(usize::MAX) };
    }
    NUMBER.with(|number| {
        if number.get() == usize::MAX {
            number.set(NEXT.fetch_add(1, Ordering::Relaxed));
        }
        number.get()
    })
}

/// The index of this thread's part.
pub(crate) fn shard_index() -> usize {
    thread_number() % SHARDS
}

/// A value for each part. The locks are held for a moment, by one thread and the one that reads all of them.
pub(crate) struct Shards<T>(Box<[Mutex<T>]>);

impl<T: Default> Shards<T> {
    pub(crate) fn new() -> Self {
        Self((0..SHARDS).map(|_| Mutex::default()).collect())
    }

    /// The part of this thread.
    pub(crate) fn mine(&self) -> MutexGuard<'_, T> {
        lock(&self.0[shard_index()])
    }

    /// A part, by its index below [`SHARDS`].
    pub(crate) fn at(&self, index: usize) -> MutexGuard<'_, T> {
        lock(&self.0[index])
    }

    /// All parts, one after the other.
    pub(crate) fn all(&self) -> impl Iterator<Item = MutexGuard<'_, T>> {
        self.0.iter().map(lock)
    }
}

fn lock<T>(part: &Mutex<T>) -> MutexGuard<'_, T> {
    part.lock().unwrap_or_else(PoisonError::into_inner)
}
