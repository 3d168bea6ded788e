//! What a peer may ask for without need: a bucket that time and useful work fill again.

use std::time::Instant;

use crate::limits::Rate;

/// The bucket. It is full as long as nothing was taken.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Bucket {
    taken: u32,
    since: Option<Instant>,
}

/// It is empty.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Spent;

impl Bucket {
    /// Takes one.
    pub(super) fn take(&mut self, rate: Rate, now: Instant) -> Result<(), Spent> {
        if self.taken >= rate.burst {
            self.refill(rate, now);
        }
        if self.taken >= rate.burst {
            return Err(Spent);
        }
        self.since.get_or_insert(now);
        self.taken += 1;
        Ok(())
    }

    /// Something useful was done: so many are given back.
    #[inline]
    pub(super) fn give_back(&mut self, count: u32) {
        self.taken = self.taken.saturating_sub(count);
    }

    fn refill(&mut self, rate: Rate, now: Instant) {
        let Some(since) = self.since else { return };
        let millis = now.saturating_duration_since(since).as_millis();
        let filled = millis.saturating_mul(u128::from(rate.per_second)) / 1000;
        if filled > 0 {
            self.taken = self.taken.saturating_sub(u32::try_from(filled).unwrap_or(u32::MAX));
            self.since = Some(now);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn it_is_spent_and_fills_with_time_and_use() {
        let rate = Rate { burst: 3, per_second: 2 };
        let (mut bucket, start) = (Bucket::default(), Instant::now());
        for _ in 0..3 {
            bucket.take(rate, start).unwrap();
        }
        assert_eq!(bucket.take(rate, start), Err(Spent));
        assert_eq!(bucket.take(rate, start + Duration::from_millis(499)), Err(Spent));
        let later = start + Duration::from_millis(1_000);
        assert_eq!((bucket.take(rate, later), bucket.take(rate, later)), (Ok(()), Ok(())));
        assert_eq!(bucket.take(rate, later), Err(Spent));
        bucket.give_back(1);
        assert_eq!(bucket.take(rate, later), Ok(()));
        assert_eq!(bucket.take(rate, later), Err(Spent));
    }
}
