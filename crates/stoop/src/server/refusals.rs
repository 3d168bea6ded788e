//! How many of the connections that a core refuses are told why: as many as cost little.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::time::Instant;

use stoop_io::now;

/// Connections of one core that are told at a time why they are refused; others are closed without a word. Each has its
/// descriptor for two seconds at most, and for the time of its handshake where TLS is spoken.
const AT_A_TIME_MAX: usize = 64;

/// Handshakes of one core in a second for the sake of telling it: by what one costs, from 0.1 ms of processor time to 1 ms,
/// a few percent of the core at most.
const HANDSHAKES_PER_SECOND_MAX: u64 = 64;

/// Room for the number of a second's handshakes, in the lower bits beside that of the second.
const COUNTS: u64 = 1 << 16;

/// Counts the refused connections of one core that are answered.
pub(super) struct Refusals {
    epoch: Instant,
    answering: AtomicUsize,
    /// The second of the last handshake, since the epoch, and how many that second has had.
    handshakes: AtomicU64,
}

impl Refusals {
    pub(super) fn new() -> Self {
        Self { epoch: now(), answering: AtomicUsize::new(0), handshakes: AtomicU64::new(0) }
    }

    /// Counts one more that is answered, if it may be: until [`end`](Self::end) is called for it.
    pub(super) fn begin(&self, is_secure: bool) -> bool {
        let free = |answering| (answering < AT_A_TIME_MAX).then_some(answering + 1);
        if self.answering.fetch_update(Relaxed, Relaxed, free).is_err() {
            return false;
        }
        let may_begin = !is_secure || self.count_handshake(now());
        if !may_begin {
            self.end();
        }
        may_begin
    }

    /// One that was answered is over.
    pub(super) fn end(&self) {
        self.answering.fetch_sub(1, Relaxed);
    }

    fn count_handshake(&self, now: Instant) -> bool {
        let second = now.saturating_duration_since(self.epoch).as_secs();
        let counted = |last: u64| match last / COUNTS == second {
            true => (last % COUNTS < HANDSHAKES_PER_SECOND_MAX).then_some(last + 1),
            false => Some(second * COUNTS + 1),
        };
        self.handshakes.fetch_update(Relaxed, Relaxed, counted).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_second_has_64_handshakes_and_the_next_one_as_many() {
        let refusals = Refusals::new();
        for second in [0, 1, 2, 60] {
            let now = refusals.epoch + Duration::from_millis(second * 1_000 + 500);
            let counted = (0..100).filter(|_| refusals.count_handshake(now)).count();
            assert_eq!(counted, 64, "{second}");
        }
    }

    #[test]
    fn as_many_as_are_over_may_begin() {
        let refusals = Refusals::new();
        assert_eq!((0..100).filter(|_| refusals.begin(false)).count(), 64);
        assert!(!refusals.begin(false) && !refusals.begin(true));
        refusals.end();
        assert!(refusals.begin(true) && !refusals.begin(false));
    }
}
