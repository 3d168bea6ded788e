//! [`AbuseBudget`]: what a peer may cause without need before the connection ends (CVE-2023-44487,
//! CVE-2025-8671). Time and useful work refill it.

use std::time::{Duration, Instant};

use crate::h2::fault::Fault;
use crate::limits::{Http2Limits, Rate};

const NANOS: u64 = 1_000_000_000;

/// How many exchanges that end well give back one reset, and one abandoned request: the exchanges may
/// have been cheap, and the requests that were reset were not.
const EXCHANGES_PER_RESET: u32 = 4;
const EXCHANGES_PER_ABANDONED_REQUEST: u32 = 8;

/// How many overhead frames an exchange that ends well gives back.
const OVERHEAD_FRAMES_PER_EXCHANGE: u32 = 8;

/// The budgets of one connection: for streams that end early, and for frames that carry no message.
#[derive(Debug, Default)]
pub(super) struct AbuseBudget {
    resets: Bucket,
    abandoned_requests: Bucket,
    overhead_frames: Bucket,
}

impl AbuseBudget {
    /// Counts a frame that causes work and carries no message.
    #[inline]
    pub(super) fn count_overhead(
        &mut self,
        now: Instant,
        limits: &Http2Limits,
    ) -> Result<(), Fault> {
        let taken = self.overhead_frames.take(limits.overhead_frames, now);
        taken.map_err(|_| Fault::TooMuchOverhead)
    }

    /// Counts a stream that the peer reset, or made us reset.
    pub(super) fn count_reset(&mut self, now: Instant, limits: &Http2Limits) -> Result<(), Fault> {
        self.resets.take(limits.resets, now).map_err(|_| Fault::TooManyResets)
    }

    /// Counts a request that ended before it was answered, beside its reset.
    pub(super) fn count_abandoned(
        &mut self,
        now: Instant,
        limits: &Http2Limits,
    ) -> Result<(), Fault> {
        let taken = self.abandoned_requests.take(limits.abandoned_requests, now);
        taken.map_err(|_| Fault::TooManyResets)
    }

    /// An exchange has ended well, which gives back a part of each budget.
    #[inline]
    pub(super) fn exchange_completed(&mut self) {
        self.resets.give_back_part(EXCHANGES_PER_RESET);
        self.abandoned_requests.give_back_part(EXCHANGES_PER_ABANDONED_REQUEST);
        self.overhead_frames.give_back(OVERHEAD_FRAMES_PER_EXCHANGE);
    }

    /// Content was sent, for which the peer has to send WINDOW_UPDATE.
    #[inline]
    pub(super) fn content_sent(&mut self, bytes: u32) {
        self.overhead_frames.give_back(2 + (bytes >> 10));
    }
}

/// A token bucket. It is full at first.
#[derive(Clone, Copy, Debug, Default)]
struct Bucket {
    /// How many tokens are missing.
    taken: u32,
    /// Parts of a token that were given back.
    parts: u32,
    /// The time up to which the bucket was refilled.
    since: Option<Instant>,
}

/// The bucket is empty.
#[derive(Debug, PartialEq, Eq)]
struct BudgetSpent;

impl Bucket {
    /// Takes a token.
    fn take(&mut self, rate: Rate, now: Instant) -> Result<(), BudgetSpent> {
        self.refill(rate, now);
        if self.taken >= rate.burst {
            return Err(BudgetSpent);
        }
        self.taken += 1;
        Ok(())
    }

    /// Gives back `count` tokens, for useful work.
    #[inline]
    fn give_back(&mut self, count: u32) {
        self.taken = self.taken.saturating_sub(count);
    }

    /// Gives back one part of a token, which has `parts_in_one` parts.
    #[inline]
    fn give_back_part(&mut self, parts_in_one: u32) {
        if self.taken > 0 {
            self.parts += 1;
            if self.parts >= parts_in_one {
                (self.parts, self.taken) = (0, self.taken - 1);
            }
        }
    }

    fn refill(&mut self, rate: Rate, now: Instant) {
        let since = *self.since.get_or_insert(now);
        let nanos = now.saturating_duration_since(since).as_nanos();
        let filled = nanos.saturating_mul(u128::from(rate.per_second)) / u128::from(NANOS);
        match u32::try_from(filled) {
            Ok(0) if self.taken > 0 => {}
            Ok(filled) if filled < self.taken => {
                self.taken -= filled;
                let time = u64::from(filled) * NANOS / u64::from(rate.per_second);
                self.since = Some(since + Duration::from_nanos(time));
            }
            _ => (self.taken, self.since) = (0, Some(now)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How often `count` succeeds, at most 10,000 times.
    fn counted(mut count: impl FnMut() -> Result<(), Fault>) -> usize {
        (0..10_000).take_while(|_| count().is_ok()).count()
    }

    #[test]
    fn each_budget_has_its_fault_and_is_refilled_by_its_share_of_exchanges() {
        let mut limits = crate::Limits::server().http2;
        let rate = |burst| Rate { burst, per_second: 0 };
        (limits.resets, limits.abandoned_requests) = (rate(20), rate(10));
        limits.overhead_frames = rate(100);
        let (mut budget, now) = (AbuseBudget::default(), Instant::now());
        for (resets, abandoned, overhead) in [(20, 10, 100), (4, 2, 100)] {
            assert_eq!(counted(|| budget.count_reset(now, &limits)), resets);
            assert_eq!(counted(|| budget.count_abandoned(now, &limits)), abandoned);
            assert_eq!(counted(|| budget.count_overhead(now, &limits)), overhead);
            (0..16).for_each(|_| budget.exchange_completed());
        }
        assert_eq!(counted(|| budget.count_overhead(now, &limits)), 100);
        assert_eq!(budget.count_reset(now, &limits), Ok(()));
        budget.content_sent(10 << 10);
        assert_eq!(counted(|| budget.count_overhead(now, &limits)), 12);
        assert_eq!(budget.count_overhead(now, &limits), Err(Fault::TooMuchOverhead));
        (0..3).for_each(|_| assert!(budget.count_reset(now, &limits).is_ok()));
        assert_eq!(budget.count_reset(now, &limits), Err(Fault::TooManyResets));
    }

    #[test]
    fn a_bucket_holds_no_more_than_the_burst_after_any_time() {
        let rate = Rate { burst: 10, per_second: 1 };
        let (mut bucket, start) = (Bucket::default(), Instant::now());
        bucket.take(rate, start).unwrap();
        let later = start + Duration::from_secs(3_600);
        let taken = (0..100).filter(|_| bucket.take(rate, later).is_ok());
        assert_eq!(taken.count(), 10);
        bucket.give_back(u32::MAX);
        assert_eq!((0..100).filter(|_| bucket.take(rate, later).is_ok()).count(), 10);
    }

    #[test]
    fn a_bucket_loses_no_time_however_often_tokens_are_taken() {
        let rate = Rate { burst: 10, per_second: 20 };
        let (mut bucket, start) = (Bucket::default(), Instant::now());
        let asked = (0..10_000).map(|n| start + Duration::from_millis(n));
        let taken = asked.filter(|&now| bucket.take(rate, now).is_ok());
        assert_eq!(taken.count(), 10 + 199);
    }

    #[test]
    fn a_spent_bucket_is_refilled_by_time_and_useful_work() {
        let rate = Rate { burst: 3, per_second: 2 };
        let (mut bucket, start) = (Bucket::default(), Instant::now());
        for _ in 0..3 {
            bucket.take(rate, start).unwrap();
        }
        assert_eq!(bucket.take(rate, start), Err(BudgetSpent));
        assert_eq!(bucket.take(rate, start + Duration::from_millis(499)), Err(BudgetSpent));
        let later = start + Duration::from_millis(1_000);
        assert_eq!((bucket.take(rate, later), bucket.take(rate, later)), (Ok(()), Ok(())));
        assert_eq!(bucket.take(rate, later), Err(BudgetSpent));
        (0..9).for_each(|_| bucket.give_back_part(10));
        assert_eq!(bucket.take(rate, later), Err(BudgetSpent));
        bucket.give_back_part(10);
        assert_eq!(bucket.take(rate, later), Ok(()));
        assert_eq!(bucket.take(rate, later), Err(BudgetSpent));
        bucket.give_back(1);
        assert_eq!(bucket.take(rate, later), Ok(()));
        assert_eq!(bucket.take(rate, later), Err(BudgetSpent));
    }
}
