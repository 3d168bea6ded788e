//! [`SessionStore`]: the interface of what keeps sessions.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use serde_json::Value;
use stoop::BoxError;

use crate::session::id::SessionId;

/// The values of a session, by their names: what a store keeps.
pub type SessionRecord = BTreeMap<String, Value>;

/// What a store answers with.
pub type StoreFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, BoxError>> + Send + 'a>>;

/// Where sessions are kept: [`MemoryStore`](crate::MemoryStore), or a database of yours.
///
/// An error of a store is answered 500, and its text stays here.
pub trait SessionStore: Send + Sync + 'static {
    /// The record of a session; `None` if there is none, or it has expired.
    fn load<'a>(&'a self, id: &'a SessionId) -> StoreFuture<'a, Option<SessionRecord>>;

    /// Keeps a record for so long from now on, in place of the one before.
    fn save<'a>(
        &'a self,
        id: &'a SessionId,
        record: SessionRecord,
        lifetime: Duration,
    ) -> StoreFuture<'a, ()>;

    /// Keeps a record for so long from now on in place of the one before, if there is one: where another request has ended
    /// the session meanwhile, it stays ended.
    ///
    /// By default it is loaded and then saved. What ends it between the two is lost: a store that can do both at once should.
    fn update<'a>(
        &'a self,
        id: &'a SessionId,
        record: SessionRecord,
        lifetime: Duration,
    ) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            match self.load(id).await? {
                Some(_) => self.save(id, record, lifetime).await,
                None => Ok(()),
            }
        })
    }

    /// Lets a session live for so long from now on, and leaves its record as it is; one that is not there too.
    fn touch<'a>(&'a self, id: &'a SessionId, lifetime: Duration) -> StoreFuture<'a, ()>;

    /// Forgets a session; one that is not there too.
    fn delete<'a>(&'a self, id: &'a SessionId) -> StoreFuture<'a, ()>;
}
