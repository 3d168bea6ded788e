//! [`MemoryStore`]: a store of sessions in the memory of this process.

use std::collections::{BTreeMap, HashMap};
use std::future::ready;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::session::id::SessionId;
use crate::session::store::{SessionRecord, SessionStore, StoreFuture};

/// What never ends ends after a century, which an instant can be.
const LIFETIME_MAX: Duration = Duration::from_secs(100 * 365 * 24 * 3600);

/// Sessions in this process, lost when it ends: at most so many, of which the one that expires first makes room.
///
/// Each is forgotten at the end of its lifetime, when the next is saved.
#[derive(Debug)]
pub struct MemoryStore {
    sessions_max: usize,
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    sessions: HashMap<SessionId, (SessionRecord, Key)>,
    /// In the order in which they expire.
    order: BTreeMap<Key, SessionId>,
    number: u64,
}

/// When a session expires, and a number that tells those of one instant apart.
type Key = (Instant, u64);

impl MemoryStore {
    /// A store of at most so many sessions. Each has at most what
    /// [`bytes_max`](crate::Sessions::bytes_max) lets it, 16 KiB by default.
    pub fn new(sessions_max: usize) -> Self {
        Self { sessions_max, kept: Mutex::default() }
    }

    /// How many sessions there are.
    pub fn len(&self) -> usize {
        self.kept().sessions.len()
    }

    /// Whether there is no session.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    fn remove(&mut self, id: &SessionId) {
        if let Some((_, key)) = self.sessions.remove(id) {
            self.order.remove(&key);
        }
    }

    fn insert(&mut self, id: &SessionId, record: SessionRecord, expires: Instant) {
        self.number += 1;
        let key = (expires, self.number);
        self.order.insert(key, id.clone());
        self.sessions.insert(id.clone(), (record, key));
    }

    /// Makes room for one more, of at most `max`.
    fn make_room(&mut self, max: usize, now: Instant) {
        while let Some(((expires, _), id)) = self.order.first_key_value() {
            if *expires > now && self.sessions.len() < max {
                break;
            }
            let id = id.clone();
            self.remove(&id);
        }
    }
}

impl SessionStore for MemoryStore {
    fn load<'a>(&'a self, id: &'a SessionId) -> StoreFuture<'a, Option<SessionRecord>> {
        let kept = self.kept();
        let found = kept.sessions.get(id).filter(|(_, (expires, _))| *expires > Instant::now());
        Box::pin(ready(Ok(found.map(|(record, _)| record.clone()))))
    }

    fn save<'a>(
        &'a self,
        id: &'a SessionId,
        record: SessionRecord,
        lifetime: Duration,
    ) -> StoreFuture<'a, ()> {
        let now = Instant::now();
        let mut kept = self.kept();
        kept.remove(id);
        kept.make_room(self.sessions_max, now);
        if self.sessions_max > 0 {
            kept.insert(id, record, now + lifetime.min(LIFETIME_MAX));
        }
        Box::pin(ready(Ok(())))
    }

    fn touch<'a>(&'a self, id: &'a SessionId, lifetime: Duration) -> StoreFuture<'a, ()> {
        let now = Instant::now();
        let mut kept = self.kept();
        if let Some((record, _)) = kept.sessions.get(id).filter(|(_, (expires, _))| *expires > now)
        {
            let record = record.clone();
            kept.remove(id);
            kept.insert(id, record, now + lifetime.min(LIFETIME_MAX));
        }
        Box::pin(ready(Ok(())))
    }

    fn delete<'a>(&'a self, id: &'a SessionId) -> StoreFuture<'a, ()> {
        self.kept().remove(id);
        Box::pin(ready(Ok(())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn sessions_expire_and_the_first_to_expire_makes_room() {
        let store = MemoryStore::new(2);
        let ids: Vec<_> = (0..3).map(|_| SessionId::generate().unwrap()).collect();
        let minutes = |count: u64| Duration::from_secs(60 * count);
        let save = |at: usize, lifetime| store.save(&ids[at], SessionRecord::new(), lifetime);
        let is_there = async |at: usize| store.load(&ids[at]).await.unwrap().is_some();
        save(0, minutes(2)).await.unwrap();
        save(1, minutes(5)).await.unwrap();
        // Used again, it lives longer than the other.
        save(0, minutes(10)).await.unwrap();
        save(2, minutes(20)).await.unwrap();
        assert_eq!((is_there(0).await, is_there(1).await, is_there(2).await), (true, false, true));
        tokio::time::advance(minutes(11)).await;
        assert_eq!((is_there(0).await, is_there(2).await, store.len()), (false, true, 2));
        store.touch(&ids[0], minutes(1)).await.unwrap();
        assert!(!is_there(0).await, "what has expired does not come back");
        save(2, Duration::MAX).await.unwrap();
        assert_eq!(store.len(), 1, "what has expired is forgotten");
        store.delete(&ids[2]).await.unwrap();
        store.delete(&ids[2]).await.unwrap();
        assert!(store.is_empty());
    }
}
