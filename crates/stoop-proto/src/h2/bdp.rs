//! How large a window has to be: as much as arrives while an answer is on its way.
//!
//! Where content keeps coming, a PING goes out now and then, and what arrives until its answer is what
//! one round trip can carry. If that is most of the window, the window was what held the peer back,
//! and it is doubled. On a short or slow connection nothing ever grows, and once nothing may grow
//! nothing is asked.

use std::time::{Duration, Instant};

/// Round trips are measured at least so far apart.
const PAUSE: Duration = Duration::from_millis(10);

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Bdp {
    /// What came since the PING that is out.
    sample: Option<u64>,
    last: Option<Instant>,
}

impl Bdp {
    /// Content came. True if a PING is to be sent.
    #[inline]
    pub(super) fn received(&mut self, bytes: u32, now: Instant) -> bool {
        if let Some(sample) = &mut self.sample {
            *sample += u64::from(bytes);
            return false;
        }
        if self.last.is_some_and(|last| now.saturating_duration_since(last) < PAUSE) {
            return false;
        }
        self.sample = Some(0);
        self.last = Some(now);
        true
    }

    /// Whether a PING is out.
    pub(super) fn is_measuring(&self) -> bool {
        self.sample.is_some()
    }

    /// The PING was answered. True if a window of that size is too small.
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
        assert!(bdp.received(16_384, now));
        for _ in 0..4 {
            assert!(!bdp.received(16_384, now));
        }
        let later = now + Duration::from_millis(50);
        assert!(bdp.answered(later, 65_535));
        assert!(!bdp.received(16_384, later + Duration::from_millis(9)));
        assert!(bdp.received(16_384, later + Duration::from_millis(10)));
        assert!(!bdp.received(16_384, later + Duration::from_millis(10)));
        assert!(!bdp.answered(later, 65_535));
    }
}
