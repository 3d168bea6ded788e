//! A histogram of latencies: exact below sixteen microseconds, and within a sixteenth above.

use std::time::Duration;

const STEPS: u32 = 16;
const BUCKETS: usize = (STEPS + (u64::BITS - STEPS.ilog2()) * STEPS) as usize;

/// A histogram that costs a shift and an addition for each latency.
pub struct Latencies(Box<[u64; BUCKETS]>);

impl Default for Latencies {
    fn default() -> Self {
        Self(Box::new([0; BUCKETS]))
    }
}

impl Latencies {
    /// Adds a latency.
    pub fn add(&mut self, latency: Duration) {
        self.0[bucket(u64::try_from(latency.as_micros()).unwrap_or(u64::MAX))] += 1;
    }

    /// The quantile of `share` in microseconds; 0 if there are no latencies.
    pub fn quantile(&self, share: f64) -> u64 {
        let wanted = (self.0.iter().sum::<u64>() as f64 * share).ceil() as u64;
        let mut seen = 0;
        let reached = self.0.iter().position(|count| {
            seen += count;
            seen >= wanted
        });
        reached.map_or(0, lowest)
    }
}

/// The bucket of a latency: there are sixteen for the first sixteen microseconds, and for each doubling.
fn bucket(micros: u64) -> usize {
    if micros < u64::from(STEPS) {
        return micros as usize;
    }
    let octave = micros.ilog2() - STEPS.ilog2();
    (STEPS + octave * STEPS) as usize + (micros >> octave) as usize % STEPS as usize
}

/// The lowest latency of a bucket.
fn lowest(bucket: usize) -> u64 {
    let (steps, bucket) = (u64::from(STEPS), bucket as u64);
    if bucket < steps {
        return bucket;
    }
    let octave = bucket / steps - 1;
    (steps + bucket % steps) << octave
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_in_order_and_within_a_sixteenth() {
        for micros in (0..100_000).chain([u64::MAX / 2, u64::MAX]) {
            let lowest = lowest(bucket(micros));
            assert!(lowest <= micros && micros - lowest <= micros / 16, "{micros}: {lowest}");
            assert!(bucket(micros) <= bucket(micros.saturating_add(1)));
        }
    }

    #[test]
    fn quantiles_of_ten_latencies_are_exact() {
        let mut latencies = Latencies::default();
        assert_eq!(latencies.quantile(0.5), 0);
        (1..=10).for_each(|micros| latencies.add(Duration::from_micros(micros)));
        assert_eq!([0.5, 0.9, 0.99].map(|share| latencies.quantile(share)), [5, 9, 10]);
    }
}
