//! What handlers can learn of the end of their server, and how they hold it up: [`Draining`].

use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::num::NonZeroU64;
use std::pin::Pin;
use std::sync::atomic::{AtomicU8, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::task::{Context, Poll, Waker};

/// The servers that have a number, as long as they live.
static NUMBERED: Mutex<BTreeMap<DrainNumber, Weak<DrainState>>> = Mutex::new(BTreeMap::new());

/// The number that was given last.
static LAST_NUMBER: AtomicU64 = AtomicU64::new(0);

/// By which the state of a server is found again: for values that are copied, and hold on to nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct DrainNumber(NonZeroU64);

/// How far a server is from its end, for those that ask.
#[derive(Default)]
pub(crate) struct DrainState {
    number: OnceLock<DrainNumber>,
    stage: AtomicU8,
    /// Handles that hold the drain up.
    holds: AtomicUsize,
    waiting: Mutex<DrainWaiters>,
}

#[derive(Default)]
struct DrainWaiters {
    /// An entry for each future that waits for the drain.
    draining: Vec<Option<Waker>>,
    free: Vec<usize>,
    /// What waits for the end of the holds.
    released: Vec<Waker>,
}

const ANNOUNCED: u8 = 1;
const BEGUN: u8 = 2;

impl DrainState {
    /// Its number, which it gets when it is first asked for.
    #[inline]
    pub(crate) fn number(self: &Arc<Self>) -> DrainNumber {
        *self.number.get_or_init(|| {
            let last = LAST_NUMBER.fetch_add(1, Ordering::Relaxed);
            let number = DrainNumber(NonZeroU64::MIN.saturating_add(last));
            numbered().insert(number, Arc::downgrade(self));
            number
        })
    }

    /// The state of that number; of a server that is gone, one that has come to its end.
    pub(crate) fn of(number: DrainNumber) -> Arc<Self> {
        let found = numbered().get(&number).and_then(Weak::upgrade);
        found.unwrap_or_else(|| {
            let gone = Arc::<Self>::default();
            gone.begin();
            gone
        })
    }

    /// The server will drain: it is not ready for new clients any more.
    pub(crate) fn announce(&self) {
        self.stage.fetch_max(ANNOUNCED, Ordering::AcqRel);
    }

    /// The drain begins.
    pub(crate) fn begin(&self) {
        self.stage.fetch_max(BEGUN, Ordering::AcqRel);
        let woken = std::mem::take(&mut self.waiting().draining);
        // Not under the lock: waking may run foreign code.
        woken.into_iter().flatten().for_each(Waker::wake);
    }

    pub(crate) fn is_ready(&self) -> bool {
        self.stage.load(Ordering::Acquire) == 0
    }

    fn has_begun(&self) -> bool {
        self.stage.load(Ordering::Acquire) == BEGUN
    }

    /// Whether nothing holds the drain up. If something does, the task is woken when that ends.
    pub(crate) fn is_released(&self, cx: &Context<'_>) -> bool {
        let is_released = || self.holds.load(Ordering::Acquire) == 0;
        if is_released() {
            return true;
        }
        let mut waiting = self.waiting();
        if !waiting.released.iter().any(|waker| waker.will_wake(cx.waker())) {
            waiting.released.push(cx.waker().clone());
        }
        // It may have ended before the waker was registered.
        is_released()
    }

    fn waiting(&self) -> MutexGuard<'_, DrainWaiters> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for DrainState {
    fn drop(&mut self) {
        if let Some(number) = self.number.get() {
            numbered().remove(number);
        }
    }
}

fn numbered() -> MutexGuard<'static, BTreeMap<DrainNumber, Weak<DrainState>>> {
    NUMBERED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A future that is done once the server drains, or closes: by [`Request::draining`](crate::Request::draining),
/// [`ConnectionInfo::draining`](crate::ConnectionInfo::draining), [`Server::draining`](crate::Server::draining) or
/// [`ServerHandle::draining`](crate::ServerHandle::draining).
///
/// A handler that waits for long, content that never ends, and the task of an upgraded connection end by it. It may be
/// sent to another task, and is of use after the request is gone. Clones wait each for themselves. That of a request
/// that no server received never ends, and neither does the default one.
///
/// ```
/// use std::time::Duration;
/// use stoop::{Request, Response, StatusCode};
///
/// /// Waits for news, for up to a minute, and not longer than the server runs.
/// async fn poll(request: Request) -> Response {
///     let draining = request.draining();
///     tokio::select! {
///         () = tokio::time::sleep(Duration::from_secs(60)) => Response::from_text("no news"),
///         () = draining => Response::from_text("ask again").with_status(StatusCode::ACCEPTED),
///     }
/// }
/// # let _ = stoop::Client::builder().handler(poll);
/// ```
#[derive(Default)]
pub struct Draining {
    state: Option<Arc<DrainState>>,
    /// Its entry among those that wait, and the task that it wakes.
    entry: Option<(usize, Waker)>,
}

impl Draining {
    pub(crate) fn new(state: Option<Arc<DrainState>>) -> Self {
        Self { state, entry: None }
    }

    /// What it waits for.
    pub(crate) fn state(&self) -> Option<Arc<DrainState>> {
        self.state.clone()
    }

    /// Whether the drain has begun.
    #[inline]
    pub fn is_draining(&self) -> bool {
        self.state.as_ref().is_some_and(|state| state.has_begun())
    }

    /// Whether the server is there for new clients: not once a drain was announced by
    /// [`ServerHandle::drain_after`](crate::ServerHandle::drain_after), or has begun. What a load balancer asks for
    /// answers by it:
    ///
    /// ```
    /// use stoop::{Request, StatusCode};
    ///
    /// fn ready(request: Request) -> StatusCode {
    ///     match request.draining().is_ready() {
    ///         true => StatusCode::OK,
    ///         false => StatusCode::SERVICE_UNAVAILABLE,
    ///     }
    /// }
    /// # let _ = stoop::Client::builder().handler(ready);
    /// ```
    pub fn is_ready(&self) -> bool {
        self.state.as_ref().is_none_or(|state| state.is_ready())
    }

    /// Has the drain wait until what is returned is dropped, though not longer than its grace: for upgraded connections
    /// and other work that is not a connection of the server's.
    pub fn hold(&self) -> DrainHold {
        if let Some(state) = &self.state {
            state.holds.fetch_add(1, Ordering::AcqRel);
        }
        DrainHold(self.state.clone())
    }

    /// Whether the drain wakes this task when it begins.
    #[inline]
    fn is_registered(&self, waker: &Waker) -> bool {
        self.entry.as_ref().is_some_and(|(_, known)| known.will_wake(waker))
    }

    #[inline(never)]
    fn register(&mut self, waker: &Waker) {
        let Some(state) = &self.state else { return };
        let mut waiting = state.waiting();
        // The entries are gone then, and there is nothing to wait for.
        if state.has_begun() {
            return;
        }
        let entry = self.entry.as_ref().map(|(entry, _)| *entry);
        let entry = entry.or_else(|| waiting.free.pop()).unwrap_or_else(|| {
            waiting.draining.push(None);
            waiting.draining.len() - 1
        });
        let before = waiting.draining[entry].replace(waker.clone());
        self.entry = Some((entry, waker.clone()));
        drop(waiting);
        // Not under the lock: dropping a waker may run foreign code.
        drop(before);
    }
}

impl Future for Draining {
    type Output = ();

    #[inline]
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if self.is_draining() {
            return Poll::Ready(());
        }
        // The lock is all threads', and a connection with much to do comes by here after each message.
        if self.is_registered(cx.waker()) {
            return Poll::Pending;
        }
        self.register(cx.waker());
        // It may have begun before the waker was registered.
        if self.is_draining() { Poll::Ready(()) } else { Poll::Pending }
    }
}

impl Clone for Draining {
    fn clone(&self) -> Self {
        Self::new(self.state.clone())
    }
}

impl Drop for Draining {
    fn drop(&mut self) {
        let (Some(state), Some((entry, _))) = (&self.state, self.entry.take()) else { return };
        let mut waiting = state.waiting();
        if entry < waiting.draining.len() {
            waiting.free.push(entry);
            let waker = waiting.draining[entry].take();
            drop(waiting);
            drop(waker);
        }
    }
}

impl fmt::Debug for Draining {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Draining({})", self.is_draining())
    }
}

/// Holds a drain up until it is dropped: [`Draining::hold`].
#[must_use = "it holds the drain up only as long as it is kept"]
pub struct DrainHold(Option<Arc<DrainState>>);

impl Drop for DrainHold {
    fn drop(&mut self) {
        let Some(state) = &self.0 else { return };
        if state.holds.fetch_sub(1, Ordering::AcqRel) == 1 {
            let woken = std::mem::take(&mut state.waiting().released);
            woken.into_iter().for_each(Waker::wake);
        }
    }
}

impl fmt::Debug for DrainHold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DrainHold")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn poll(draining: &mut Draining) -> Poll<()> {
        Pin::new(draining).poll(&mut Context::from_waker(Waker::noop()))
    }

    /// A server of years has had many handlers that waited for its end.
    #[test]
    fn futures_that_are_dropped_leave_nothing_behind() {
        let state = Arc::<DrainState>::default();
        let mut kept = Draining::new(Some(state.clone()));
        for _ in 0..100 {
            let mut one = kept.clone();
            assert_eq!(
                (poll(&mut one), poll(&mut one), poll(&mut kept)),
                (Poll::Pending, Poll::Pending, Poll::Pending)
            );
        }
        assert_eq!(state.waiting().draining.len(), 2);
        state.announce();
        assert!(!kept.is_ready() && !kept.is_draining());
        assert_eq!(poll(&mut kept), Poll::Pending);
        state.begin();
        assert_eq!((poll(&mut kept), poll(&mut kept.clone())), (Poll::Ready(()), Poll::Ready(())));
        drop(kept);
        assert_eq!(state.waiting().draining.len(), 0);
    }

    /// A handler that is polled on one thread while the drain begins on another.
    #[test]
    fn a_future_that_was_late_for_the_drain_panicked_if_others_had_been_dropped() {
        let state = Arc::<DrainState>::default();
        let (mut kept, mut dropped) =
            (Draining::new(Some(state.clone())), Draining::new(Some(state.clone())));
        assert_eq!((poll(&mut kept), poll(&mut dropped)), (Poll::Pending, Poll::Pending));
        drop(dropped);
        let mut late = kept.clone();
        assert!(!late.is_draining());
        state.begin();
        late.register(Waker::noop());
        assert_eq!((poll(&mut late), poll(&mut kept)), (Poll::Ready(()), Poll::Ready(())));
    }

    #[test]
    fn a_server_is_found_by_its_number_and_is_at_its_end_once_it_is_gone() {
        let (state, other) = (Arc::<DrainState>::default(), Arc::<DrainState>::default());
        let number = state.number();
        assert!(number == state.number() && number != other.number());
        assert!(Arc::ptr_eq(&DrainState::of(number), &state));
        assert!(!DrainState::of(number).has_begun());
        drop(state);
        assert!(!numbered().contains_key(&number));
        assert!(DrainState::of(number).has_begun());
        assert!(!DrainState::of(other.number()).has_begun());
    }

    #[test]
    fn holds_are_counted_until_they_are_dropped() {
        let state = Arc::<DrainState>::default();
        let cx = Context::from_waker(Waker::noop());
        let draining = Draining::new(Some(state.clone()));
        let (one, other) = (draining.hold(), draining.hold());
        drop(one);
        assert!(!state.is_released(&cx));
        drop(other);
        assert!(state.is_released(&cx));
        drop(Draining::new(None).hold());
    }
}
