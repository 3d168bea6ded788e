//! Pauses a listener while there are no descriptors.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use crate::timer::{Timer, now};

/// The first pause: a descriptor may come free in the next moment.
const PAUSE_MIN: Duration = Duration::from_millis(5);

/// The longest pause: a listener finds descriptors that another process freed within a second.
const PAUSE_MAX: Duration = Duration::from_secs(1);

/// The listeners of the process that wait for descriptors: by number, with their wakers.
static WAITING: Mutex<Vec<(u64, Waker)>> = Mutex::new(Vec::new());

/// How many listeners wait, so that finding none takes no lock.
static WAITING_COUNT: AtomicUsize = AtomicUsize::new(0);

/// How many times descriptors were freed while listeners waited.
static FREED_COUNT: AtomicU64 = AtomicU64::new(0);

/// Numbers the listeners.
static NEXT_NUMBER: AtomicU64 = AtomicU64::new(0);

/// Tells the listeners of this process that a descriptor was closed, so that one that is out of
/// them accepts again at once and not only at its next attempt.
///
/// Costs one load while no listener waits. A [`ConnectionSlot`](crate::ConnectionSlot) calls it when it is dropped.
pub fn descriptors_freed() {
    if WAITING_COUNT.load(Ordering::Relaxed) == 0 {
        return;
    }
    FREED_COUNT.fetch_add(1, Ordering::Relaxed);
    let wakers = {
        let mut waiting = waiting();
        WAITING_COUNT.store(0, Ordering::Relaxed);
        std::mem::take(&mut *waiting)
    };
    wakers.into_iter().for_each(|(_, waker)| waker.wake());
}

fn waiting() -> MutexGuard<'static, Vec<(u64, Waker)>> {
    WAITING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The pause between two attempts: 5 ms, then twice as long each time up to 1 s.
pub(super) struct Pause {
    number: u64,
    timer: Timer,
    until: Option<Instant>,
    /// The length of the last pause; zero if the last attempt succeeded.
    length: Duration,
    /// [`FREED_COUNT`] when it began.
    freed: u64,
    count: Arc<AtomicU64>,
}

impl Pause {
    pub(super) fn new(count: Arc<AtomicU64>) -> Self {
        Self {
            number: NEXT_NUMBER.fetch_add(1, Ordering::Relaxed),
            timer: Timer::coarse(),
            until: None,
            length: Duration::ZERO,
            freed: 0,
            count,
        }
    }

    /// Ready when there is no pause, or it is over.
    #[inline]
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        match self.until {
            None => Poll::Ready(()),
            Some(until) => self.poll_until(cx, until),
        }
    }

    fn poll_until(&mut self, cx: &mut Context<'_>, until: Instant) -> Poll<()> {
        if self.freed != FREED_COUNT.load(Ordering::Relaxed) {
            // The report may come a moment before the descriptor is closed: then try again soon.
            self.length = Duration::ZERO;
        } else if self.timer.poll(cx, Some(until)).is_pending() {
            self.register(cx.waker());
            return Poll::Pending;
        }
        self.until = None;
        self.unregister();
        Poll::Ready(())
    }

    /// Starts a pause, after an attempt that failed.
    pub(super) fn start(&mut self) {
        self.length = (self.length * 2).clamp(PAUSE_MIN, PAUSE_MAX);
        self.until = Some(now() + self.length);
        self.freed = FREED_COUNT.load(Ordering::Relaxed);
        self.count.fetch_add(1, Ordering::Relaxed);
    }

    /// Lets the next pause be short again, after an attempt that succeeded.
    #[inline]
    pub(super) fn reset(&mut self) {
        self.length = Duration::ZERO;
    }

    pub(super) fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }

    pub(super) fn counter(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.count)
    }

    fn register(&self, waker: &Waker) {
        let waker = waker.clone();
        let mut waiting = waiting();
        let old = match waiting.iter_mut().find(|(number, _)| *number == self.number) {
            Some((_, old)) => Some(std::mem::replace(old, waker)),
            None => {
                waiting.push((self.number, waker));
                None
            }
        };
        WAITING_COUNT.store(waiting.len(), Ordering::Relaxed);
        drop(waiting);
        drop(old);
    }

    fn unregister(&self) {
        let mut waiting = waiting();
        let place = waiting.iter().position(|(number, _)| *number == self.number);
        let old = place.map(|place| waiting.swap_remove(place));
        WAITING_COUNT.store(waiting.len(), Ordering::Relaxed);
        drop(waiting);
        drop(old);
    }
}

impl Drop for Pause {
    fn drop(&mut self) {
        if self.until.is_some() {
            self.unregister();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One test, because there is one list of waiting listeners.
    #[tokio::test(start_paused = true)]
    async fn pauses_grow_from_5_ms_to_1_s_until_an_attempt_succeeds_or_a_descriptor_is_freed() {
        let mut pause = Pause::new(Arc::default());
        let mut lengths = Vec::new();
        for _ in 0..10 {
            let begin = now();
            pause.start();
            std::future::poll_fn(|cx| pause.poll(cx)).await;
            lengths.push((now() - begin).as_millis());
        }
        assert_eq!(lengths, [5, 10, 20, 40, 80, 160, 320, 640, 1000, 1000]);
        assert_eq!(pause.count(), 10);

        let begin = now();
        pause.start();
        let wait = std::future::poll_fn(|cx| pause.poll(cx));
        let free = async {
            tokio::time::sleep(Duration::from_millis(100)).await;
            descriptors_freed();
            std::future::pending().await
        };
        tokio::select! { biased; () = wait => (), () = free => () }
        assert_eq!((now() - begin).as_millis(), 100);
        pause.start();
        assert_eq!(pause.length, PAUSE_MIN, "the next one is short");

        pause.start();
        assert_eq!(pause.length, PAUSE_MIN * 2);
        pause.reset();
        pause.start();
        assert_eq!(pause.length, PAUSE_MIN);
    }
}
