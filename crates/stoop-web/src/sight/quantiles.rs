//! Durations, so that their quantiles are known to an eighth.

use std::time::Duration;

use super::buckets::{DOUBLINGS, LOWEST_BITS, micros_of};

/// Parts of a doubling.
const PARTS_BITS: u32 = 3;
const PARTS: usize = 1 << PARTS_BITS;

/// One for what is shorter than 64 µs, one for what is longer than 134 s.
const LEN: usize = 1 + DOUBLINGS * PARTS + 1;

/// Counts of durations in 170 logarithmic buckets: what the page shows quantiles of.
#[derive(Clone)]
pub(super) struct Quantiles {
    counts: Box<[u64; LEN]>,
    /// In microseconds, rounded up.
    longest: u64,
}

impl Default for Quantiles {
    fn default() -> Self {
        Self { counts: Box::new([0; LEN]), longest: 0 }
    }
}

/// The bucket of what takes so many whole microseconds and up to one more.
fn index(micros: u64) -> usize {
    let Some(doubling) = (u64::BITS - 1).checked_sub(micros.leading_zeros() + LOWEST_BITS) else {
        return 0;
    };
    let part = (micros >> (doubling + LOWEST_BITS - PARTS_BITS)) as usize & (PARTS - 1);
    (1 + doubling as usize * PARTS + part).min(LEN - 1)
}

/// The microseconds that a bucket's durations do not exceed; the last has no such bound.
fn bound(index: usize) -> u64 {
    let Some(index) = index.checked_sub(1) else { return 1 << LOWEST_BITS };
    let (doubling, part) = ((index / PARTS) as u32, (index % PARTS) as u64);
    (PARTS as u64 + part + 1) << (doubling + LOWEST_BITS - PARTS_BITS)
}

impl Quantiles {
    pub(super) fn record(&mut self, duration: Duration) {
        let micros = micros_of(duration);
        self.counts[index(micros.saturating_sub(1))] += 1;
        self.longest = self.longest.max(micros);
    }

    pub(super) fn add(&mut self, other: &Self) {
        self.counts.iter_mut().zip(&*other.counts).for_each(|(one, other)| *one += other);
        self.longest = self.longest.max(other.longest);
    }

    pub(super) fn clear(&mut self) {
        self.counts.fill(0);
        self.longest = 0;
    }

    /// The microseconds that this part of the durations does not exceed, an eighth too many at most; 0 if there are
    /// none.
    pub(super) fn quantile(&self, part: f64) -> u64 {
        let count: u64 = self.counts.iter().sum();
        let rank = ((count as f64 * part).ceil() as u64).max(1);
        let mut below = 0;
        for (index, count) in self.counts.iter().enumerate() {
            below += count;
            if below >= rank {
                let is_last = index == LEN - 1;
                return if is_last { self.longest } else { bound(index).min(self.longest) };
            }
        }
        0
    }

    /// The longest of all, in microseconds.
    pub(super) fn longest(&self) -> u64 {
        self.longest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_duration_is_below_its_buckets_bound_and_not_below_the_one_before() {
        assert_eq!((index(0), index(63), index(64), index(u64::MAX)), (0, 0, 1, LEN - 1));
        for micros in (0..200_000).chain([1 << 20, (1 << 20) + 1, (1 << 27) - 1]) {
            let index = index(micros);
            assert!(micros < bound(index), "{micros}");
            assert!(index == 0 || micros >= bound(index - 1), "{micros}");
        }
        assert_eq!(index(1 << 27), LEN - 1);
    }

    #[test]
    fn quantiles_are_an_eighth_too_long_at_most() {
        let mut durations = Quantiles::default();
        assert_eq!(durations.quantile(0.5), 0);
        (1..=1_000).for_each(|n| durations.record(Duration::from_micros(n * 100)));
        for (part, exact) in [(0.5, 50_000), (0.9, 90_000), (0.99, 99_000), (1.0, 100_000)] {
            let said = durations.quantile(part);
            assert!((exact..=exact * 9 / 8).contains(&said), "{part}: {said}");
        }
        let mut both = durations.clone();
        durations.clear();
        durations.record(Duration::from_secs(1_000));
        assert_eq!((durations.quantile(0.5), durations.longest()), (1_000_000_000, 1_000_000_000));
        both.add(&durations);
        assert_eq!(both.longest(), 1_000_000_000);
        assert!((50_000..=57_000).contains(&both.quantile(0.5)));
    }
}
