//! The rate of all requests of a run, to whatever hosts: each takes a place on one line of times, which all workers share.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// How late a place may be used: timers count milliseconds, and a busy event loop comes to them some later. What is later
/// than that is not made up for, so that no pause is followed by a burst.
const CATCH_UP: Duration = Duration::from_millis(10);

/// The line of times. Times are nanoseconds since its beginning.
#[derive(Debug)]
pub(crate) struct TotalRate {
    begun: Instant,
    /// The time from one place to the next; 0 where requests have no rate.
    interval: AtomicU64,
    /// The next place.
    next: AtomicU64,
}

/// What one worker has of it: the place of its next request, once it has one to send.
#[derive(Debug)]
pub(crate) struct RateShare {
    rate: Arc<TotalRate>,
    place: Cell<Option<Instant>>,
    /// A place was used for a request that was not sent: it is the next one's, which need not wait.
    is_spare: Cell<bool>,
}

impl Default for TotalRate {
    /// No rate.
    fn default() -> Self {
        Self { begun: Instant::now(), interval: AtomicU64::new(0), next: AtomicU64::new(0) }
    }
}

impl TotalRate {
    /// Sets the least time between two requests on average; zero for none.
    pub(crate) fn set_interval(&self, interval: Duration) {
        self.interval.store(nanoseconds(interval), Relaxed);
    }

    /// A request is sent that has not waited for its place: those that come later wait longer.
    pub(crate) fn pay(&self) {
        if self.interval.load(Relaxed) > 0 {
            self.take(Instant::now());
        }
    }

    /// The share of a worker, if requests have a rate.
    pub(crate) fn share(self: &Arc<Self>) -> Option<RateShare> {
        let has_rate = self.interval.load(Relaxed) > 0;
        has_rate.then(|| RateShare {
            rate: Arc::clone(self),
            place: Cell::new(None),
            is_spare: Cell::new(false),
        })
    }

    /// Takes the next place. It may be past.
    fn take(&self, now: Instant) -> Instant {
        let now = nanoseconds(now.saturating_duration_since(self.begun));
        let interval = self.interval.load(Relaxed);
        let place = |next: u64| match next.saturating_add(nanoseconds(CATCH_UP)) >= now {
            true => next,
            false => now,
        };
        let after = |next| Some(place(next).saturating_add(interval));
        let next = self.next.fetch_update(Relaxed, Relaxed, after).unwrap_or_else(|next| next);
        self.begun + Duration::from_nanos(place(next))
    }

    /// A place was taken and is not used.
    pub(crate) fn give_back(&self) {
        let interval = self.interval.load(Relaxed);
        let earlier = |next: u64| Some(next.saturating_sub(interval));
        let _ = self.next.fetch_update(Relaxed, Relaxed, earlier);
    }
}

impl RateShare {
    /// When the worker may send a request, which it has; `None` if it may now.
    pub(crate) fn wait(&self, now: Instant) -> Option<Instant> {
        if self.is_spare.get() {
            return None;
        }
        if self.place.get().is_some_and(|place| place + CATCH_UP < now) {
            self.place.set(None);
            self.rate.give_back();
        }
        let place = self.place.get().unwrap_or_else(|| self.rate.take(now));
        self.place.set(Some(place));
        (place > now).then_some(place)
    }

    /// The place is that of a request that is sent now.
    pub(crate) fn used(&self) {
        if !self.is_spare.take() {
            self.place.set(None);
        }
    }

    /// The worker has no request to send.
    pub(crate) fn leave(&self) {
        if self.place.take().is_some() {
            self.rate.give_back();
        }
        if self.is_spare.take() {
            self.rate.give_back();
        }
    }

    /// A request whose place was used is not sent.
    pub(crate) fn not_sent(&self) {
        if self.is_spare.replace(true) {
            self.rate.give_back();
        }
    }
}

impl Drop for RateShare {
    fn drop(&mut self) {
        self.leave();
    }
}

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn rate(interval: Duration) -> (Arc<TotalRate>, Instant) {
        let rate = Arc::new(TotalRate::default());
        rate.set_interval(interval);
        let begun = rate.begun;
        (rate, begun)
    }

    /// Sends as many requests as may be sent by `now`.
    fn send(share: &RateShare, now: Instant) -> usize {
        let mut sent = 0;
        while share.wait(now).is_none() {
            share.used();
            sent += 1;
        }
        sent
    }

    #[test]
    fn without_a_rate_there_is_no_share() {
        let rate = Arc::new(TotalRate::default());
        rate.pay();
        assert!(rate.share().is_none());
    }

    #[test]
    fn workers_take_turns_on_one_line() {
        let (rate, begun) = rate(100 * MS);
        let (a, b) = (rate.share().expect("a rate"), rate.share().expect("a rate"));
        assert_eq!(send(&a, begun), 1);
        assert_eq!(a.wait(begun), Some(begun + 100 * MS));
        assert_eq!(b.wait(begun), Some(begun + 200 * MS));
        assert_eq!(a.wait(begun + 99 * MS), Some(begun + 100 * MS), "it keeps its place");
        assert_eq!((send(&a, begun + 105 * MS), send(&b, begun + 105 * MS)), (1, 0));
        assert_eq!(a.wait(begun + 105 * MS), Some(begun + 300 * MS));
    }

    #[test]
    fn many_a_millisecond_are_made_up_for_and_a_pause_is_not() {
        let (rate, begun) = rate(MS / 10);
        let share = rate.share().expect("a rate");
        assert_eq!(send(&share, begun), 1);
        assert_eq!(send(&share, begun + 2 * MS), 20);
        assert_eq!(send(&share, begun + 10 * MS), 80);
        assert_eq!(send(&share, begun + 5_000 * MS), 1);
    }

    #[test]
    fn a_place_that_is_not_used_is_another_s() {
        let (rate, begun) = rate(100 * MS);
        let (a, b) = (rate.share().expect("a rate"), rate.share().expect("a rate"));
        assert_eq!(send(&a, begun), 1);
        assert_eq!(a.wait(begun), Some(begun + 100 * MS));
        a.leave();
        assert_eq!(b.wait(begun), Some(begun + 100 * MS));
        drop(b);
        assert_eq!(a.wait(begun), Some(begun + 100 * MS));
        // One that was used for a request that was not sent is there again.
        assert_eq!(send(&a, begun + 100 * MS), 1);
        a.not_sent();
        assert_eq!(send(&a, begun + 100 * MS), 1);
        // A place that its worker could not use in time is no burst later.
        assert_eq!(a.wait(begun + 150 * MS), Some(begun + 200 * MS));
        assert_eq!(send(&a, begun + 900 * MS), 1);
    }

    #[test]
    fn what_does_not_wait_has_the_next_wait_longer() {
        let (rate, _) = rate(3_600_000 * MS);
        let share = rate.share().expect("a rate");
        rate.pay();
        rate.pay();
        let now = Instant::now();
        let wait = share.wait(now).expect("it waits").duration_since(now);
        assert!(wait > 7_000_000 * MS && wait <= 7_200_000 * MS, "{wait:?}");
    }
}
