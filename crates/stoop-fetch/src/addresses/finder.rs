//! Finds the addresses of servers, and remembers them for all threads of a run.

use std::fmt::{self, Formatter};
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use super::book::{AddressBook, Found, LookedUp};
use crate::target::target;

/// The address of a URL's host that is being looked up.
pub(crate) type LookingUp = Pin<Box<dyn Future<Output = LookedUp> + Send>>;

/// Finds the addresses of servers.
pub(crate) struct AddressFinder {
    look_up: Box<dyn Fn(Box<str>) -> LookingUp + Send + Sync>,
    book: Mutex<AddressBook>,
}

impl AddressFinder {
    /// One that looks up the address of a URL's host by `look_up`, which has a time limit of its own.
    pub(crate) fn new(look_up: impl Fn(Box<str>) -> LookingUp + Send + Sync + 'static) -> Self {
        Self { look_up: Box::new(look_up), book: Mutex::default() }
    }

    /// What is known of the server with that [key](crate::schedule::server_key).
    pub(crate) fn known(&self, server: &[u8]) -> Option<Found> {
        self.book().find(server, Instant::now())
    }

    /// Looks up the server with that key, to which `line` leads.
    pub(crate) fn find(
        self: &Arc<Self>,
        server: &[u8],
        line: &[u8],
    ) -> impl Future<Output = Found> + Send + use<> {
        let (finder, server) = (Arc::clone(self), Box::from(server));
        let url = std::str::from_utf8(line).ok().and_then(|line| target(line).ok());
        let url = url.map(Box::<str>::from);
        async move {
            let said = match url {
                Some(url) => finder.look_up(url).await,
                None => LookedUp::Nothing,
            };
            finder.book().insert(server, said, Instant::now())
        }
    }

    /// What the lookup of a URL's host says. One that panics fails: what panics is the caller's, and the jobs get their
    /// records by the workers, whose clients panic there as well.
    async fn look_up(&self, url: Box<str>) -> LookedUp {
        let Ok(mut looking_up) = catch_unwind(AssertUnwindSafe(|| (self.look_up)(url))) else {
            return LookedUp::Failed;
        };
        poll_fn(|cx| {
            let polled = catch_unwind(AssertUnwindSafe(|| looking_up.as_mut().poll(cx)));
            polled.unwrap_or(Poll::Ready(LookedUp::Failed))
        })
        .await
    }

    /// The same for a server that hardly needs to be looked up: none if it does.
    pub(super) fn find_at_once(self: &Arc<Self>, server: &[u8], line: &[u8]) -> Option<Found> {
        let finding = pin!(self.find(server, line));
        match finding.poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(found) => Some(found),
            Poll::Pending => None,
        }
    }

    fn book(&self) -> MutexGuard<'_, AddressBook> {
        // No code under the lock can panic half-way, so the state behind a poisoned lock is sound.
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for AddressFinder {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("AddressFinder").finish_non_exhaustive()
    }
}
