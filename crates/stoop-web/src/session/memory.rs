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

/// Which part of the places new sessions always have: a fourth, so that a visitor who has just come is not put out by the
/// next one.
const NEW_PART: usize = 4;

/// Sessions in this process, lost when it ends: at most so many.
///
/// Each is forgotten at the end of its lifetime, when the next is saved. Beyond the bound one makes room: of the sessions
/// whose cookie has never come back the first to expire, or of the others where those hold less than a fourth of the
/// places. So programs that begin sessions and keep no cookies, such as crawlers, put out no visitor. A client that brings
/// each of its cookies back once can still put out all others: where any request begins a session and that matters,
/// begin it at a login alone, or keep sessions in a database.
#[derive(Debug)]
pub struct MemoryStore {
    sessions_max: usize,
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    sessions: HashMap<SessionId, Entry>,
    /// Sessions whose cookie has not come back.
    new: Order,
    /// Those whose cookie has.
    known: Order,
    number: u64,
}

#[derive(Debug)]
struct Entry {
    record: SessionRecord,
    key: Key,
    is_known: bool,
}

/// Sessions in the order in which they expire.
type Order = BTreeMap<Key, SessionId>;

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
    fn remove(&mut self, id: &SessionId) -> Option<Entry> {
        let entry = self.sessions.remove(id)?;
        self.order(entry.is_known).remove(&entry.key);
        Some(entry)
    }

    /// Takes a session out, if it has not expired.
    fn take(&mut self, id: &SessionId, now: Instant) -> Option<SessionRecord> {
        let entry = self.remove(id)?;
        (entry.key.0 > now).then_some(entry.record)
    }

    fn insert(&mut self, id: &SessionId, record: SessionRecord, expires: Instant, is_known: bool) {
        self.number += 1;
        let key = (expires, self.number);
        self.order(is_known).insert(key, id.clone());
        self.sessions.insert(id.clone(), Entry { record, key, is_known });
    }

    fn order(&mut self, is_known: bool) -> &mut Order {
        if is_known { &mut self.known } else { &mut self.new }
    }

    /// Forgets what has expired, and makes room for one more, of at most `max`.
    fn make_room(&mut self, max: usize, now: Instant) {
        for is_known in [false, true] {
            while let Some(id) = first(self.order(is_known), |expires| expires <= now) {
                self.remove(&id);
            }
        }
        while self.sessions.len() >= max {
            let is_known = self.new.is_empty() || self.new.len() < max / NEW_PART;
            let Some(id) = first(self.order(is_known), |_| true) else { return };
            self.remove(&id);
        }
    }
}

/// The first session to expire, if `is` is true for when it does.
fn first(order: &Order, is: impl Fn(Instant) -> bool) -> Option<SessionId> {
    let ((expires, _), id) = order.first_key_value()?;
    is(*expires).then(|| id.clone())
}

/// When a session expires that lives for so long.
fn end_of(now: Instant, lifetime: Duration) -> Instant {
    now + lifetime.min(LIFETIME_MAX)
}

impl SessionStore for MemoryStore {
    fn load<'a>(&'a self, id: &'a SessionId) -> StoreFuture<'a, Option<SessionRecord>> {
        let kept = self.kept();
        let found = kept.sessions.get(id).filter(|entry| entry.key.0 > Instant::now());
        Box::pin(ready(Ok(found.map(|entry| entry.record.clone()))))
    }

    fn save<'a>(
        &'a self,
        id: &'a SessionId,
        record: SessionRecord,
        lifetime: Duration,
    ) -> StoreFuture<'a, ()> {
        let now = Instant::now();
        let mut kept = self.kept();
        let is_known = kept.remove(id).is_some();
        kept.make_room(self.sessions_max, now);
        if self.sessions_max > 0 {
            kept.insert(id, record, end_of(now, lifetime), is_known);
        }
        Box::pin(ready(Ok(())))
    }

    fn update<'a>(
        &'a self,
        id: &'a SessionId,
        record: SessionRecord,
        lifetime: Duration,
    ) -> StoreFuture<'a, ()> {
        let now = Instant::now();
        let mut kept = self.kept();
        if kept.take(id, now).is_some() {
            kept.insert(id, record, end_of(now, lifetime), true);
        }
        Box::pin(ready(Ok(())))
    }

    fn touch<'a>(&'a self, id: &'a SessionId, lifetime: Duration) -> StoreFuture<'a, ()> {
        let now = Instant::now();
        let mut kept = self.kept();
        if let Some(record) = kept.take(id, now) {
            kept.insert(id, record, end_of(now, lifetime), true);
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

    fn ids(count: usize) -> Vec<SessionId> {
        (0..count).map(|_| SessionId::generate().unwrap()).collect()
    }

    #[tokio::test(start_paused = true)]
    async fn sessions_expire_and_the_first_to_expire_makes_room() {
        let store = MemoryStore::new(2);
        let ids = ids(3);
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
        store.update(&ids[0], SessionRecord::new(), minutes(1)).await.unwrap();
        assert!(!is_there(0).await, "what has expired does not come back");
        save(2, Duration::MAX).await.unwrap();
        assert_eq!(store.len(), 1, "what has expired is forgotten");
        store.delete(&ids[2]).await.unwrap();
        store.delete(&ids[2]).await.unwrap();
        store.update(&ids[2], SessionRecord::new(), minutes(1)).await.unwrap();
        assert!(store.is_empty(), "what has ended does not come back");
    }

    /// Crawlers keep no cookies.
    #[tokio::test]
    async fn sessions_whose_cookie_never_came_back_put_out_no_visitor() {
        let store = MemoryStore::new(100);
        let (visitors, crawled) = (ids(75), ids(1_000));
        let hour = Duration::from_secs(3_600);
        let save = |id| store.save(id, SessionRecord::new(), hour);
        let count = async |ids: &[SessionId]| {
            let mut count = 0;
            for id in ids {
                count += usize::from(store.load(id).await.unwrap().is_some());
            }
            count
        };
        for (at, id) in visitors.iter().enumerate() {
            save(id).await.unwrap();
            match at % 2 {
                0 => store.touch(id, hour).await.unwrap(),
                _ => store.update(id, SessionRecord::new(), hour).await.unwrap(),
            }
        }
        for id in &crawled {
            save(id).await.unwrap();
            assert!(store.len() <= 100);
        }
        assert_eq!((count(&visitors).await, count(&crawled[975..]).await), (75, 25));
        // Beyond three fourths, visitors make room for those who have just come.
        for id in &crawled[975..] {
            store.touch(id, hour).await.unwrap();
        }
        let late = ids(50);
        for id in &late {
            save(id).await.unwrap();
            assert!(store.len() <= 100);
        }
        let seen = (count(&visitors).await, count(&crawled).await, count(&late[25..]).await);
        assert_eq!(seen, (50, 25, 25));
        let none = MemoryStore::new(0);
        none.save(&late[0], SessionRecord::new(), hour).await.unwrap();
        assert!(none.is_empty());
    }
}
