//! What takes long to make is made once for all who ask for it meanwhile: a list of a directory, which takes microseconds for
//! each entry.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;
use tokio::task::spawn_blocking;

/// What is being made, by its key.
pub(super) struct Making<T>(Mutex<HashMap<String, Made<T>>>);

/// What is made, once it is; its sender is gone where it cannot be made.
type Made<T> = watch::Receiver<Option<Arc<T>>>;

impl<T> Default for Making<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T: Send + Sync + 'static> Making<T> {
    /// What is being made under that key, or else what `make` makes, on a thread that may block; `None` if it cannot be made.
    /// It is made to its end also where all who waited for it have left: who comes again then waits for the same.
    pub(super) async fn get(
        self: &Arc<Self>,
        key: String,
        make: impl FnOnce() -> io::Result<T> + Send + 'static,
    ) -> Option<Arc<T>> {
        let mut made = self.join(key, make);
        let made = made.wait_for(Option::is_some).await.ok()?;
        made.clone()
    }

    fn join(
        self: &Arc<Self>,
        key: String,
        make: impl FnOnce() -> io::Result<T> + Send + 'static,
    ) -> Made<T> {
        let mut all = self.all();
        if let Some(made) = all.get(&key) {
            return made.clone();
        }
        let (sender, made) = watch::channel(None);
        all.insert(key.clone(), made.clone());
        drop(all);
        let work = Work { all: self.clone(), key, sender };
        spawn_blocking(move || {
            if let Ok(made) = make() {
                let sender = work.sender.clone();
                // Before it is told: who asks once it was seen wants what is there then.
                drop(work);
                sender.send_replace(Some(Arc::new(made)));
            }
        });
        made
    }

    fn all(&self) -> MutexGuard<'_, HashMap<String, Made<T>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What is being made. Its key is free again before its sender is gone, however it ends: also by a panic, or because its
/// runtime has ended before it began.
struct Work<T: Send + Sync + 'static> {
    all: Arc<Making<T>>,
    key: String,
    sender: watch::Sender<Option<Arc<T>>>,
}

impl<T: Send + Sync + 'static> Drop for Work<T> {
    fn drop(&mut self) {
        self.all.all().remove(&self.key);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::task::{Context, Poll, Waker};

    use super::*;

    /// Polls once, so that it has joined.
    fn begin<F: Future + Unpin>(future: &mut F) {
        let mut cx = Context::from_waker(Waker::noop());
        assert!(matches!(std::pin::Pin::new(future).poll(&mut cx), Poll::Pending));
    }

    #[tokio::test]
    async fn what_is_asked_for_at_once_is_made_once() {
        let making = Arc::new(Making::default());
        let (release, released) = mpsc::channel::<()>();
        let slow = move || {
            released.recv().unwrap();
            Ok(7)
        };
        let again = || -> io::Result<u32> { panic!("it is being made") };
        let mut first = Box::pin(making.get("a".to_owned(), slow));
        begin(&mut first);
        let mut second = Box::pin(making.get("a".to_owned(), again));
        begin(&mut second);
        assert_eq!(making.get("b".to_owned(), || Ok(8)).await.as_deref(), Some(&8));
        // The one that has begun it leaves.
        drop(first);
        let mut third = Box::pin(making.get("a".to_owned(), again));
        begin(&mut third);
        release.send(()).unwrap();
        assert_eq!((second.await.as_deref(), third.await.as_deref()), (Some(&7), Some(&7)));
        assert_eq!(making.get("a".to_owned(), || Ok(9)).await.as_deref(), Some(&9));
    }

    #[tokio::test]
    async fn what_cannot_be_made_is_told_and_can_be_tried_again() {
        let making = Arc::new(Making::default());
        let get = async |make: fn() -> io::Result<u32>| making.get("a".to_owned(), make).await;
        assert_eq!(get(|| Err(io::ErrorKind::NotFound.into())).await, None);
        assert_eq!(get(|| panic!("on purpose")).await, None);
        assert_eq!(get(|| Ok(1)).await.as_deref(), Some(&1));
    }
}
