//! The time of day at which jobs start, without asking the system for each of them.

use std::time::{Duration, Instant};

use crate::record::unix_time;

/// How long an answer of the system counts: a clock that is set is noticed that late.
const ASK_EVERY: Duration = Duration::from_secs(1);

/// The system's clock, which is asked once a second. Until then a monotonic clock, which is read anyway, tells how much later
/// it is.
#[derive(Debug)]
pub(crate) struct WallClock {
    asked: Instant,
    /// Microseconds of Unix time when it was asked.
    unix_us: i64,
}

impl WallClock {
    /// Asks the system.
    pub(crate) fn new() -> Self {
        Self::asked_at(Instant::now())
    }

    fn asked_at(now: Instant) -> Self {
        Self { asked: now, unix_us: i64::try_from(unix_time().as_micros()).unwrap_or(i64::MAX) }
    }

    /// What time it is `now`, in milliseconds of Unix time.
    pub(crate) fn unix_ms(&mut self, now: Instant) -> i64 {
        let mut since = now.saturating_duration_since(self.asked);
        if since >= ASK_EVERY {
            *self = Self::asked_at(now);
            since = Duration::ZERO;
        }
        self.unix_us.saturating_add(since.subsec_micros().into()) / 1000
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_goes_on_by_the_other_clock_and_is_asked_for_again() {
        let mut clock = WallClock::new();
        let (asked, first) = (clock.asked, clock.unix_us);
        clock.unix_us = 5_000_900;
        for (later_us, unix_ms) in [(0, 5_000), (99, 5_000), (100, 5_001), (999_999, 6_000)] {
            let later = asked + Duration::from_micros(later_us);
            assert_eq!(clock.unix_ms(later), unix_ms, "{later_us}");
        }
        // The clock was set meanwhile.
        let again = clock.unix_ms(asked + ASK_EVERY);
        assert!((first / 1000..first / 1000 + 60_000).contains(&again), "{first} {again}");
        assert_eq!(clock.asked, asked + ASK_EVERY);
    }
}
