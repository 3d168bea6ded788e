//! [`Bucket`]: a budget for what a peer may cause without need, which time and useful work refill.

use std::time::{Duration, Instant};

use crate::limits::Rate;

const NANOS: u64 = 1_000_000_000;

/// A token bucket. It is full at first.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Bucket {
    /// How many tokens are missing.
    taken: u32,
    /// Parts of a token that were given back.
    parts: u32,
    /// The time up to which the bucket was refilled.
    since: Option<Instant>,
}

/// The bucket is empty.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct BudgetSpent;

impl Bucket {
    /// Takes a token.
    pub(super) fn take(&mut self, rate: Rate, now: Instant) -> Result<(), BudgetSpent> {
        self.refill(rate, now);
        if self.taken >= rate.burst {
            return Err(BudgetSpent);
        }
        self.taken += 1;
        Ok(())
    }

    /// Gives back `count` tokens, for useful work.
    #[inline]
    pub(super) fn give_back(&mut self, count: u32) {
        self.taken = self.taken.saturating_sub(count);
    }

    /// Gives back one part of a token, which has `parts_in_one` parts.
    #[inline]
    pub(super) fn give_back_part(&mut self, parts_in_one: u32) {
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
