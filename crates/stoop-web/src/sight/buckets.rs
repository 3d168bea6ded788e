//! How many durations are below fixed bounds.

use std::time::Duration;

/// The lowest bound, as a power of two of microseconds: 64 µs.
pub(super) const LOWEST_BITS: u32 = 6;

/// Doublings from there: to 134 s.
pub(super) const DOUBLINGS: usize = 21;

/// One for each bound, and one for what is above the last.
const LEN: usize = DOUBLINGS + 2;

/// Counts of durations by 22 bounds, each twice the one before: what is shown to Prometheus.
#[derive(Clone, Default)]
pub(super) struct Buckets {
    counts: [u64; LEN],
    nanos: u64,
}

/// A duration in whole microseconds, rounded up: Prometheus' buckets have their bounds in them, so that what is a
/// nanosecond longer than a bound is not in its bucket.
pub(super) fn micros_of(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos().div_ceil(1_000)).unwrap_or(u64::MAX)
}

impl Buckets {
    pub(super) fn record(&mut self, duration: Duration) {
        let below = micros_of(duration).saturating_sub(1) >> LOWEST_BITS;
        let index = (u64::BITS - below.leading_zeros()) as usize;
        self.counts[index.min(LEN - 1)] += 1;
        let nanos = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        self.nanos = self.nanos.saturating_add(nanos);
    }

    pub(super) fn add(&mut self, other: &Self) {
        self.counts.iter_mut().zip(other.counts).for_each(|(one, other)| *one += other);
        self.nanos = self.nanos.saturating_add(other.nanos);
    }

    pub(super) fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// All durations together, in seconds.
    pub(super) fn seconds(&self) -> f64 {
        self.nanos as f64 / 1e9
    }

    /// For each bound, in seconds, how many durations are not above it.
    pub(super) fn below(&self) -> impl Iterator<Item = (f64, u64)> {
        let mut below = 0;
        (0..=DOUBLINGS).map(move |index| {
            below += self.counts[index];
            (f64::from(1 << (LOWEST_BITS as usize + index)) / 1e6, below)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_of_a_bound_is_in_its_bucket_and_a_longer_one_is_not() {
        for (index, bound) in (0..=DOUBLINGS).map(|index| (index, 64_000_u64 << index)) {
            let mut buckets = Buckets::default();
            buckets.record(Duration::from_nanos(bound));
            buckets.record(Duration::from_nanos(bound + 1));
            let below: Vec<_> = buckets.below().collect();
            assert_eq!(below[index], (bound as f64 / 1e9, 1));
            assert!(below[..index].iter().all(|(_, count)| *count == 0), "{bound}");
            assert!(below[index + 1..].iter().all(|(_, count)| *count == 2), "{bound}");
            assert_eq!((buckets.count(), buckets.seconds()), (2, (2 * bound + 1) as f64 / 1e9));
        }
    }

    #[test]
    fn durations_of_any_length_have_a_bucket() {
        let mut buckets = Buckets::default();
        buckets.record(Duration::ZERO);
        buckets.record(Duration::MAX);
        buckets.record(Duration::MAX);
        let below: Vec<_> = buckets.below().collect();
        assert_eq!((below.len(), below[0], below[DOUBLINGS]), (22, (64e-6, 1), (134.217_728, 1)));
        assert_eq!(buckets.count(), 3);
    }
}
