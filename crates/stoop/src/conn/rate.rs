//! The least rate at which content has to come, in both roles and versions.

use std::time::{Duration, Instant};

/// The time for which content may still be waited for: waiting uses it up, and each byte gives back the
/// time that it may take at the least rate.
///
/// In microseconds, of which 32 bits hold more than an hour: each exchange under way has one, and content
/// that arrives slowly for longer than that is ended however fast it came before.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RateBudget(u32);

impl RateBudget {
    /// No limit.
    pub(crate) const UNLIMITED: Self = Self(u32::MAX);

    /// A budget for content that has to come at `rate` bytes per second, or at none if that is 0.
    pub(crate) fn new(rate: u64, budget: Duration) -> Self {
        if rate == 0 { Self::UNLIMITED } else { Self(micros(budget)) }
    }

    fn is_limited(self) -> bool {
        self.0 != Self::UNLIMITED.0
    }

    /// So many bytes came, which gives back time, up to `max`: a budget above that is kept and does not
    /// grow.
    #[inline]
    pub(crate) fn earn(&mut self, bytes: usize, rate: u64, max: Duration) {
        let max = micros(max).min(Self::UNLIMITED.0 - 1);
        if self.0 < max {
            let earned = (bytes as u64).saturating_mul(1_000_000).checked_div(rate);
            let left = u64::from(self.0).saturating_add(earned.unwrap_or(u64::MAX));
            self.0 = left.min(max.into()) as u32;
        }
    }

    /// Content was waited for so long. False if that is more than there was, and then nothing is taken.
    pub(crate) fn spend(&mut self, waited: Duration) -> bool {
        if !self.is_limited() {
            return true;
        }
        let left = self.0.checked_sub(micros(waited));
        self.0 = left.unwrap_or(self.0);
        left.is_some()
    }

    /// When content that is waited for since then has come too slowly, if nothing comes before.
    pub(crate) fn due(self, since: Instant) -> Option<Instant> {
        self.is_limited().then(|| since + Duration::from_micros(self.0.into()))
    }
}

fn micros(time: Duration) -> u32 {
    time.as_micros().try_into().unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn a_budget_is_used_up_by_waiting_and_earned_by_bytes() {
        let since = Instant::now();
        let mut budget = RateBudget::new(100, 2 * SECOND);
        assert_eq!(budget.due(since), Some(since + 2 * SECOND));
        assert!(budget.spend(SECOND) && budget.spend(SECOND) && !budget.spend(SECOND));
        budget.earn(50, 100, Duration::MAX);
        assert_eq!(budget.due(since), Some(since + SECOND / 2));
        assert!(!budget.spend(SECOND), "and nothing is taken");
        assert!(budget.spend(SECOND / 2));
    }

    #[test]
    fn a_budget_grows_no_further_than_its_bound() {
        let since = Instant::now();
        let mut budget = RateBudget::new(1, 5 * SECOND);
        budget.earn(100, 1, 3 * SECOND);
        assert_eq!(budget.due(since), Some(since + 5 * SECOND), "the grace beyond it is kept");
        assert!(budget.spend(4 * SECOND));
        budget.earn(100, 1, 3 * SECOND);
        assert_eq!(budget.due(since), Some(since + 3 * SECOND));
        budget.earn(usize::MAX, 1, Duration::MAX);
        assert!(budget.due(since).is_some(), "what is earned is never without limit");
    }

    #[test]
    fn what_came_fast_makes_up_for_an_hour_of_waiting() {
        let mut budget = RateBudget::new(240, 5 * SECOND);
        budget.earn(100 << 20, 240, Duration::MAX);
        assert!(budget.spend(3_600 * SECOND));
        assert!(!budget.spend(3_600 * SECOND), "it is no more than that");
    }

    #[test]
    fn a_rate_of_zero_is_no_limit() {
        let mut budget = RateBudget::new(0, SECOND);
        budget.earn(1, 0, SECOND);
        assert!(budget.spend(Duration::MAX) && budget.due(Instant::now()).is_none());
    }
}
