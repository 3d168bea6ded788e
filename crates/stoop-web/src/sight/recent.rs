//! What one core has seen lately.

use std::time::Duration;

use super::quantiles::Quantiles;

/// Seconds that are counted on their own: a minute, and a few for the one that is not over.
const SECONDS: usize = 64;

/// Seconds whose durations are kept together.
const SLICE: u64 = 10;

/// Parts of a minute, and the one that is not over.
const SLICES: usize = 7;

/// Exchanges that a core keeps as slow ones.
pub(super) const SLOW_MAX: usize = 16;

/// How long an exchange is a recent one: long enough to come and look.
pub(super) const RECENT: Duration = Duration::from_secs(300);

/// Bytes of a path that are shown.
const PATH_BYTES_MAX: usize = 96;

/// What was counted in a second.
#[derive(Clone, Copy, Default)]
pub(super) struct SecondFigures {
    /// Which one, since the beginning.
    at: u64,
    pub(super) requests: u64,
    /// Of them, those answered by 5xx.
    pub(super) errors: u64,
}

/// How long exchanges took that ended within ten seconds.
struct Slice {
    at: u64,
    durations: Quantiles,
}

/// The beginning of a request's path. Its query may have secrets in it, and is not shown.
#[derive(Clone, Copy)]
pub(super) struct ShortPath {
    bytes: [u8; PATH_BYTES_MAX],
    len: u8,
    is_cut: bool,
}

impl ShortPath {
    pub(super) fn of(path: &str) -> Self {
        let (mut bytes, len) = ([0; PATH_BYTES_MAX], path.floor_char_boundary(PATH_BYTES_MAX));
        bytes[..len].copy_from_slice(&path.as_bytes()[..len]);
        Self { bytes, len: len as u8, is_cut: len < path.len() }
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }

    /// Whether there was more of it.
    pub(super) fn is_cut(&self) -> bool {
        self.is_cut
    }
}

/// An exchange that is over, as it is listed among the slow ones.
#[derive(Clone, Copy)]
pub(super) struct SlowExchange {
    pub(super) took: Duration,
    /// When it ended, since the beginning.
    pub(super) at: Duration,
    /// An index of the list of methods.
    pub(super) method: usize,
    pub(super) status: Option<u16>,
    pub(super) path: ShortPath,
}

/// What one core has seen lately.
pub(super) struct Recent {
    seconds: [SecondFigures; SECONDS],
    /// Made when they are needed.
    slices: [Option<Slice>; SLICES],
    pub(super) slow: Vec<SlowExchange>,
    /// Where as many are kept as may be: what took no longer than this, and ended by then, is not kept.
    floor: Option<(Duration, Duration)>,
}

impl Default for Recent {
    fn default() -> Self {
        Self {
            seconds: [SecondFigures::default(); SECONDS],
            slices: Default::default(),
            slow: Vec::new(),
            floor: None,
        }
    }
}

impl Recent {
    /// Notes an exchange that has ended, in which the server may have failed.
    pub(super) fn note(&mut self, exchange: &SlowExchange, is_error: bool) {
        let at = exchange.at.as_secs();
        let second = &mut self.seconds[(at % SECONDS as u64) as usize];
        if second.at != at {
            *second = SecondFigures { at, ..SecondFigures::default() };
        }
        second.requests += 1;
        second.errors += u64::from(is_error);
        self.slice(at / SLICE).record(exchange.took);
        self.note_slow(exchange);
    }

    fn slice(&mut self, at: u64) -> &mut Quantiles {
        let slice = &mut self.slices[(at % SLICES as u64) as usize];
        let slice = slice.get_or_insert_with(|| Slice { at, durations: Quantiles::default() });
        if slice.at != at {
            slice.at = at;
            slice.durations.clear();
        }
        &mut slice.durations
    }

    /// Keeps an exchange if it is among the slowest recent ones. Most are not, and cost a look at the floor.
    fn note_slow(&mut self, exchange: &SlowExchange) {
        let is_below = |(took, until)| exchange.took <= took && exchange.at <= until;
        if self.floor.is_some_and(is_below) {
            return;
        }
        self.keep_slow(exchange);
        if self.slow.len() == SLOW_MAX {
            let least = self.slow.iter().map(|kept| kept.took).min();
            let oldest = self.slow.iter().map(|kept| kept.at).min();
            self.floor = least.zip(oldest.map(|at| at.saturating_add(RECENT)));
        }
    }

    fn keep_slow(&mut self, exchange: &SlowExchange) {
        if self.slow.len() < SLOW_MAX {
            return self.slow.push(*exchange);
        }
        let is_old = |kept: &SlowExchange| exchange.at.saturating_sub(kept.at) > RECENT;
        let rank = |kept: &SlowExchange| (!is_old(kept), kept.took);
        if let Some(least) = self.slow.iter_mut().min_by_key(|kept| rank(kept))
            && (is_old(least) || least.took < exchange.took)
        {
            *least = *exchange;
        }
    }

    /// What was counted in the second `at`, of the last minute.
    pub(super) fn second(&self, at: u64) -> SecondFigures {
        let second = self.seconds[(at % SECONDS as u64) as usize];
        if second.at == at { second } else { SecondFigures::default() }
    }

    /// Adds the durations of the exchanges that ended in the minute before the second `now`, and up to ten seconds
    /// longer ago.
    pub(super) fn add_durations(&self, now: u64, to: &mut Quantiles) {
        let current = now / SLICE;
        for slice in self.slices.iter().flatten() {
            if (current.saturating_sub(SLICES as u64 - 1)..=current).contains(&slice.at) {
                to.add(&slice.durations);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exchange(took: u64, at: u64) -> SlowExchange {
        let (took, at) = (Duration::from_millis(took), Duration::from_secs(at));
        SlowExchange { took, at, method: 0, status: Some(200), path: ShortPath::of("/") }
    }

    #[test]
    fn the_slowest_of_the_last_minutes_are_kept() {
        let mut recent = Recent::default();
        (1..=100).for_each(|n| recent.note(&exchange(n, 0), false));
        let mut kept: Vec<_> = recent.slow.iter().map(|slow| slow.took.as_millis()).collect();
        kept.sort_unstable();
        assert_eq!(kept, (85..=100).collect::<Vec<_>>());
        // At five minutes they are recent still; later they make room for what is faster.
        recent.note(&exchange(1, 300), false);
        assert!(recent.slow.iter().all(|slow| slow.took.as_millis() > 1));
        recent.note(&exchange(1, 301), false);
        assert!(recent.slow.iter().any(|slow| slow.took.as_millis() == 1));
        assert_eq!(recent.slow.len(), SLOW_MAX);
        // Once all of them are as recent, the floor is theirs.
        (0..100).for_each(|_| recent.note(&exchange(2, 900), false));
        recent.note(&exchange(2, 900), false);
        recent.note(&exchange(3, 901), false);
        let mut kept: Vec<_> = recent.slow.iter().map(|slow| slow.took.as_millis()).collect();
        kept.sort_unstable();
        assert_eq!((kept.len(), kept[0], kept[SLOW_MAX - 2], kept[SLOW_MAX - 1]), (16, 2, 2, 3));
    }

    #[test]
    fn a_second_is_forgotten_when_another_takes_its_place() {
        let mut recent = Recent::default();
        recent.note(&exchange(1, 3), false);
        recent.note(&exchange(1, 3), true);
        let counts = |second: SecondFigures| (second.requests, second.errors);
        assert_eq!((counts(recent.second(3)), counts(recent.second(4))), ((2, 1), (0, 0)));
        assert_eq!(counts(recent.second(3 + SECONDS as u64)), (0, 0));
        recent.note(&exchange(1, 3 + SECONDS as u64), false);
        assert_eq!(counts(recent.second(3)), (0, 0));
    }

    #[test]
    fn durations_are_forgotten_after_a_minute() {
        let mut recent = Recent::default();
        let longest = |recent: &Recent, now| {
            let mut durations = Quantiles::default();
            recent.add_durations(now, &mut durations);
            durations.longest() / 1_000
        };
        recent.note(&exchange(900, 9), false);
        recent.note(&exchange(20, 65), false);
        assert_eq!(
            (longest(&recent, 9), longest(&recent, 69), longest(&recent, 70)),
            (900, 900, 20)
        );
        assert_eq!((longest(&recent, 129), longest(&recent, 130)), (20, 0));
        // The place of the first is taken by the eighth.
        recent.note(&exchange(5, 75), false);
        assert_eq!((longest(&recent, 75), longest(&recent, 139)), (20, 5));
    }

    #[test]
    fn a_long_path_is_cut_between_characters() {
        let path = ShortPath::of(&format!("/{}", "é".repeat(60)));
        assert_eq!((path.as_bytes().len(), path.is_cut()), (95, true));
        assert!(std::str::from_utf8(path.as_bytes()).is_ok());
        let whole = ShortPath::of(&"/".repeat(PATH_BYTES_MAX));
        assert_eq!((whole.as_bytes().len(), whole.is_cut()), (PATH_BYTES_MAX, false));
    }
}
