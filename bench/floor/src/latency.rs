//! How often each latency was seen: exact below sixteen microseconds, within a sixteenth above.

use std::time::Duration;

const STEPS: u32 = 16;
const PLACES: usize = (STEPS + (u64::BITS - STEPS.ilog2()) * STEPS) as usize;

/// A histogram that costs a shift and an addition for each latency.
pub struct Latencies(Box<[u64; PLACES]>);

impl Default for Latencies {
    fn default() -> Self {
        Self(Box::new([0; PLACES]))
    }
}

impl Latencies {
    /// Counts one.
    pub fn note(&mut self, latency: Duration) {
        self.0[place(u64::try_from(latency.as_micros()).unwrap_or(u64::MAX))] += 1;
    }

    /// The latency that this share of all stayed within, in microseconds; zero of none.
    pub fn within(&self, share: f64) -> u64 {
        let wanted = (self.0.iter().sum::<u64>() as f64 * share).ceil() as u64;
        let mut seen = 0;
        let reached = self.0.iter().position(|count| {
            seen += count;
            seen >= wanted
        });
        reached.map_or(0, least)
    }
}

/// Sixteen places for the first sixteen microseconds, and for each doubling after.
fn place(micros: u64) -> usize {
    if micros < u64::from(STEPS) {
        return micros as usize;
    }
    let octave = micros.ilog2() - STEPS.ilog2();
    (STEPS + octave * STEPS) as usize + (micros >> octave) as usize % STEPS as usize
}

/// The least latency with that place.
fn least(place: usize) -> u64 {
    let (steps, place) = (u64::from(STEPS), place as u64);
    if place < steps {
        return place;
    }
    let octave = place / steps - 1;
    (steps + place % steps) << octave
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_in_order_and_within_a_sixteenth() {
        for micros in (0..100_000).chain([u64::MAX / 2, u64::MAX]) {
            let least = least(place(micros));
            assert!(least <= micros && micros - least <= micros / 16, "{micros}: {least}");
            assert!(place(micros) <= place(micros.saturating_add(1)));
        }
    }

    #[test]
    fn a_share_of_all_stays_within() {
        let mut latencies = Latencies::default();
        assert_eq!(latencies.within(0.5), 0);
        (1..=10).for_each(|micros| latencies.note(Duration::from_micros(micros)));
        assert_eq!([0.5, 0.9, 0.99].map(|share| latencies.within(share)), [5, 9, 10]);
    }
}
