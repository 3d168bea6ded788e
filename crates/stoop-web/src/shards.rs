//! State that each thread has a part of, so that cores do not wait for each other.

use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Parts: as many threads write at the same time without waiting. More cores than that are rare, and share.
pub(crate) const SHARDS: usize = 16;

static NEXT: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static INDEX: Cell<usize> = const { Cell::new(usize::MAX) };
}

/// The index of this thread's part.
pub(crate) fn shard_index() -> usize {
    INDEX.with(|index| {
        if index.get() == usize::MAX {
            index.set(NEXT.fetch_add(1, Ordering::Relaxed) % SHARDS);
        }
        index.get()
    })
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
