//! Durations of any number, and their percentiles.

use std::time::Duration;

use hdrhistogram::Histogram;

/// The longest duration that is told apart, in microseconds: an hour.
const MICROS_MAX: u64 = 3_600_000_000;
/// Each is within one part in a hundred of what it was.
const DIGITS: u8 = 2;

/// Durations of any number: each is kept within 1 %, from a microsecond to an hour, in 14 KiB.
#[derive(Clone, Debug, Default)]
pub struct Durations {
    /// None before the first.
    histogram: Option<Box<Histogram<u32>>>,
    sum_us: u64,
    max_us: u64,
}

impl Durations {
    /// How many there are.
    pub fn count(&self) -> u64 {
        self.histogram.as_ref().map_or(0, |histogram| histogram.len())
    }

    /// The longest.
    pub fn max(&self) -> Duration {
        Duration::from_micros(self.max_us)
    }

    /// The mean; zero if there are none.
    pub fn mean(&self) -> Duration {
        Duration::from_micros(self.sum_us / self.count().max(1))
    }

    /// The duration that `percent` of them do not exceed: 50 is the median. Zero if there are none.
    pub fn percentile(&self, percent: f64) -> Duration {
        let micros = self
            .histogram
            .as_ref()
            .map_or(0, |histogram| histogram.value_at_percentile(percent).min(self.max_us));
        Duration::from_micros(micros)
    }

    pub(super) fn add(&mut self, duration: Duration) {
        let micros = u64::try_from(duration.as_micros()).unwrap_or(u64::MAX);
        self.histogram.get_or_insert_with(empty).saturating_record(micros.max(1));
        self.sum_us = self.sum_us.saturating_add(micros);
        self.max_us = self.max_us.max(micros);
    }

    pub(super) fn merge(&mut self, other: &Self) {
        let Some(theirs) = &other.histogram else { return };
        let ours = self.histogram.get_or_insert_with(empty);
        ours.add(&**theirs).expect("of one kind");
        self.sum_us = self.sum_us.saturating_add(other.sum_us);
        self.max_us = self.max_us.max(other.max_us);
    }
}

fn empty() -> Box<Histogram<u32>> {
    Box::new(Histogram::new_with_bounds(1, MICROS_MAX, DIGITS).expect("good bounds"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_within_a_hundredth() {
        let mut durations = Durations::default();
        assert_eq!((durations.count(), durations.percentile(99.0)), (0, Duration::ZERO));
        (1..=10_000).for_each(|ms| durations.add(Duration::from_millis(ms)));
        for (percent, ms) in [(50.0, 5000.0), (90.0, 9000.0), (99.0, 9900.0)] {
            let found = durations.percentile(percent).as_secs_f64() * 1000.0;
            assert!((found / ms - 1.0).abs() < 0.01, "{percent}: {found}");
        }
        assert_eq!(durations.percentile(100.0), Duration::from_secs(10));
        assert_eq!(durations.mean(), Duration::from_micros(5_000_500));
    }

    #[test]
    fn what_is_longer_than_an_hour_or_nothing_at_all_is_counted() {
        let mut durations = Durations::default();
        durations.add(Duration::ZERO);
        durations.add(Duration::from_secs(10_000));
        let mut all = Durations::default();
        all.merge(&Durations::default());
        all.merge(&durations);
        assert_eq!((all.count(), all.max()), (2, Duration::from_secs(10_000)));
    }
}
