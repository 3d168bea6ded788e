//! A lookup that runs for every caller that has asked for its name meanwhile.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::cache::{Cache, LookupResult, ResultSender};
use crate::timer::now;

/// A lookup that runs. Dropped before it has sent a result it is given up, and callers that still
/// wait start another.
pub(super) struct SharedLookup {
    /// The name in the cache.
    key: Arc<str>,
    /// The name, without the root's dot.
    pub(super) name: Box<str>,
    /// The name is complete: the search list does not apply.
    pub(super) absolute: bool,
    sender: ResultSender,
    cache: Arc<Mutex<Cache>>,
    /// When it started, by the caller's clock (which a test may advance) and by the real one.
    started: (Instant, Instant),
}

impl SharedLookup {
    pub(super) fn new(
        key: &str,
        name: &str,
        absolute: bool,
        sender: ResultSender,
        cache: Arc<Mutex<Cache>>,
    ) -> Self {
        let started = (now(), Instant::now());
        Self { key: key.into(), name: name.into(), absolute, sender, cache, started }
    }

    /// Waits until no caller waits for the result any more.
    pub(super) async fn abandoned(&self) {
        self.sender.closed().await;
    }

    /// Sends the result to all callers, and has it remembered for `ttl`. May be called again when
    /// more is known, for the cache.
    pub(super) fn finish(&self, result: LookupResult, ttl: Duration) {
        let mut cache = lock(&self.cache);
        let (started, started_really) = self.started;
        cache.insert(&self.key, result.clone(), started + started_really.elapsed() + ttl);
        cache.remove_lookup(&self.key, &self.sender);
        drop(cache);
        self.sender.send_if_modified(|sent| {
            let is_first = sent.is_none();
            sent.get_or_insert(result);
            is_first
        });
    }
}

impl Drop for SharedLookup {
    fn drop(&mut self) {
        lock(&self.cache).remove_lookup(&self.key, &self.sender);
    }
}

/// Locks the cache, which is never left half-changed, whatever panics.
pub(super) fn lock(cache: &Mutex<Cache>) -> std::sync::MutexGuard<'_, Cache> {
    cache.lock().unwrap_or_else(PoisonError::into_inner)
}
