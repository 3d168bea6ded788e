//! What takes long to make is made once for all requests that come meanwhile, and little of it at a time: lists of directories,
//! which take microseconds for each entry.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use tokio::sync::{Semaphore, watch};
use tokio::task::spawn_blocking;

/// How much is made at a time. It takes a core each, and memory; what else is asked for waits, and holds neither.
const AT_ONCE_MAX: usize = 2;

/// What is being made, or waits for it, by its key.
pub(super) struct Making<T> {
    all: Mutex<HashMap<String, Made<T>>>,
    /// What was made last under a key, as long as it is in use.
    last: Mutex<HashMap<String, Weak<T>>>,
    places: Arc<Semaphore>,
}

/// What is made, once it is; its sender is gone where it cannot be made.
type Made<T> = watch::Receiver<Option<Arc<T>>>;

impl<T> Default for Making<T> {
    fn default() -> Self {
        let places = Arc::new(Semaphore::new(AT_ONCE_MAX));
        Self { all: Mutex::default(), last: Mutex::default(), places }
    }
}

impl<T: PartialEq + Send + Sync + 'static> Making<T> {
    /// What is being made under that key, or else what `make` makes, on a thread that may block; `None` if it cannot be made.
    /// It is made to its end also where all clients that waited for it have left: a later request then waits for the same. What is the
    /// same as the last time, and in use still, is that value: so clients that are slow to read hold one, whenever they came.
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
        let places = self.places.clone();
        // A task of its own: the client whose request has begun it may leave while it waits.
        tokio::spawn(async move {
            // Nothing closes it.
            let Ok(place) = places.acquire_owned().await else { return };
            spawn_blocking(move || {
                if let Ok(made) = make() {
                    let made = work.all.shared(&work.key, made);
                    let sender = work.sender.clone();
                    // Before it is told: a request that comes once it was seen wants what is there then.
                    drop(work);
                    sender.send_replace(Some(made));
                }
                drop(place);
            });
        });
        made
    }

    /// The value that was made last under this key, if it is the same; else this one.
    fn shared(&self, key: &str, made: T) -> Arc<T> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let before = last.get(key).and_then(Weak::upgrade);
        let made = before.filter(|before| **before == made).unwrap_or_else(|| Arc::new(made));
        last.retain(|_, last| last.strong_count() > 0);
        last.insert(key.to_owned(), Arc::downgrade(&made));
        made
    }
}

impl<T> Making<T> {
    fn all(&self) -> MutexGuard<'_, HashMap<String, Made<T>>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
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
    async fn what_is_made_again_and_the_same_is_one_value_while_it_is_in_use() {
        let making = Arc::new(Making::default());
        let get = async |key: &str, value: u32| {
            making.get(key.to_owned(), move || Ok(value)).await.unwrap()
        };
        let first = get("a", 1).await;
        assert!(Arc::ptr_eq(&first, &get("a", 1).await));
        let (other, changed) = (get("b", 1).await, get("a", 2).await);
        assert!(!Arc::ptr_eq(&first, &other) && *changed == 2);
        assert!(Arc::ptr_eq(&changed, &get("a", 2).await));
        drop((first, other, changed));
        // The threads that have made them may hold them for a moment longer.
        for _ in 0..1_000 {
            get("c", 1).await;
            if making.last.lock().unwrap().len() == 1 {
                return;
            }
        }
        panic!("something is kept of what is not in use");
    }

    #[tokio::test]
    async fn little_is_made_at_a_time_and_all_of_it_in_the_end() {
        let making = Arc::new(Making::default());
        let (began, begun) = mpsc::channel();
        let (release, released) = mpsc::channel::<()>();
        let released = Arc::new(Mutex::new(released));
        let mut asked: Vec<_> = (0..AT_ONCE_MAX + 3)
            .map(|n| {
                let (began, released) = (began.clone(), released.clone());
                let slow = move || {
                    began.send(n).unwrap();
                    released.lock().unwrap().recv().unwrap();
                    Ok(n)
                };
                Box::pin(making.get(n.to_string(), slow))
            })
            .collect();
        asked.iter_mut().for_each(begin);
        // One that waits for its place is left.
        drop(asked.pop());
        let made = spawn_blocking(move || {
            let first: Vec<_> = (0..AT_ONCE_MAX).map(|_| begun.recv().unwrap()).collect();
            let none_more = begun.try_recv().is_err();
            (0..AT_ONCE_MAX + 3).for_each(|_| release.send(()).unwrap());
            (first, none_more, begun)
        });
        let (first, none_more, _begun) = made.await.unwrap();
        let mut all = Vec::new();
        for asked in asked {
            all.push(*asked.await.unwrap());
        }
        assert_eq!((first.len(), none_more), (AT_ONCE_MAX, true));
        assert_eq!(all, (0..AT_ONCE_MAX + 2).collect::<Vec<_>>());
        // It is made all the same, for a later request.
        while !making.all().is_empty() {
            tokio::task::yield_now().await;
        }
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
