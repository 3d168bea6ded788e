//! Estimates the bandwidth-delay product, the size that a receive window needs.
//!
//! While content arrives, a PING is sent from time to time; the bytes that arrive until its answer are
//! those of one round trip. If they are most of the window, the window limited the peer, and it is
//! doubled. Content that is a small part of a window was not limited by it, so no PING is sent for it,
//! and none when no window may grow any more.

use std::time::{Duration, Instant};

/// The least time between two measurements of a round trip.
const MEASURE_INTERVAL: Duration = Duration::from_millis(10);

/// The measurement of one connection.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Bdp {
    /// Bytes that came since the last measurement.
    unmeasured: u64,
    /// Bytes that came since the unanswered PING was sent.
    sample: Option<u64>,
    /// When a measurement last began or ended.
    last: Option<Instant>,
}

impl Bdp {
    /// Counts content that came, with a window of that size. True if a PING is to be sent.
    #[inline]
    pub(super) fn received(&mut self, bytes: u32, window: u32, now: Instant) -> bool {
        if let Some(sample) = &mut self.sample {
            *sample += u64::from(bytes);
            return false;
        }
        self.unmeasured += u64::from(bytes);
        if self.unmeasured * 4 <= u64::from(window) {
            return false;
        }
        if self.last.is_some_and(|last| now.saturating_duration_since(last) < MEASURE_INTERVAL) {
            return false;
        }
        self.unmeasured = 0;
        self.sample = Some(0);
        self.last = Some(now);
        true
    }

    /// Whether a PING is unanswered.
    pub(super) fn is_measuring(&self) -> bool {
        self.sample.is_some()
    }

    /// Ends the measurement, as the PING was answered. True if a window of that size is too small.
    pub(super) fn answered(&mut self, now: Instant, window: u32) -> bool {
        self.last = Some(now);
        let sample = self.sample.take().unwrap_or(0);
        sample * 3 >= u64::from(window) * 2
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_that_is_filled_within_a_round_trip_is_too_small() {
        let (mut bdp, now) = (Bdp::default(), Instant::now());
        let received = |bdp: &mut Bdp, now| bdp.received(16_384, 65_535, now);
        assert!(received(&mut bdp, now));
        for _ in 0..4 {
            assert!(!received(&mut bdp, now));
        }
        let later = now + Duration::from_millis(50);
        assert!(bdp.answered(later, 65_535));
        assert!(!received(&mut bdp, later + Duration::from_millis(9)));
        assert!(received(&mut bdp, later + Duration::from_millis(10)));
        assert!(!received(&mut bdp, later + Duration::from_millis(10)));
        assert!(!bdp.answered(later, 65_535));
    }

    #[test]
    fn a_quarter_of_a_window_is_not_measured() {
        let (mut bdp, now) = (Bdp::default(), Instant::now());
        assert!(!bdp.received(16_384, 65_536, now));
        assert!(bdp.received(1, 65_536, now));
        assert!(!bdp.answered(now + Duration::from_millis(50), 65_536));
        let later = now + Duration::from_secs(1);
        assert!(!bdp.received(16_384, 65_536, later));
        assert!(bdp.received(1, 65_536, later));
    }
}
