//! Which failures a host has most, in a few bytes for each host.

use std::cmp::Reverse;

use crate::summary::ResultCode;

/// How many failures of a host are told apart. One that makes more than a fifth of all is always among them.
const CODES_MAX: usize = 4;

/// Codes above all statuses are of kinds of errors.
const FIRST_KIND: u16 = 1000;

/// The kinds of errors that hosts came to, which are a closed list, by the numbers that stand for them.
#[derive(Clone, Debug, Default)]
pub(super) struct Kinds(Vec<&'static str>);

/// The failures of a host with their counts, each by its number, and the most frequent in front (the summary of Misra and
/// Gries): where there are more different ones than have room, all counts are lowered by that of the rarest.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FrequentFailures([(u16, u32); CODES_MAX]);

impl Kinds {
    /// The number of a failure.
    pub(super) fn number(&mut self, code: ResultCode<'static>) -> u16 {
        let kind = match code {
            ResultCode::Status(status) => return status.min(FIRST_KIND - 1),
            ResultCode::Error(kind) => kind,
        };
        let known = self.0.iter().position(|known| *known == kind);
        let at = known.unwrap_or_else(|| {
            self.0.push(kind);
            self.0.len() - 1
        });
        FIRST_KIND.saturating_add(u16::try_from(at).unwrap_or(u16::MAX))
    }

    /// The failure of a number.
    pub(super) fn code(&self, number: u16) -> Option<ResultCode<'static>> {
        match number.checked_sub(FIRST_KIND) {
            None => Some(ResultCode::Status(number)),
            Some(at) => self.0.get(usize::from(at)).copied().map(ResultCode::Error),
        }
    }
}

impl FrequentFailures {
    /// Counts a failure so many times.
    pub(super) fn add(&mut self, number: u16, times: u32) {
        let mut all = [(0, 0); CODES_MAX + 1];
        all[..CODES_MAX].copy_from_slice(&self.0);
        let is_it = |(known, count): &&mut (u16, u32)| *known == number && *count > 0;
        match all.iter_mut().find(is_it) {
            Some((_, count)) => *count = count.saturating_add(times),
            // The last one is free.
            None => all[CODES_MAX] = (number, times),
        }
        all.sort_by_key(|(_, count)| Reverse(*count));
        let (_, rarest) = all[CODES_MAX];
        for (into, (number, count)) in self.0.iter_mut().zip(all) {
            *into = (number, count - rarest);
        }
    }

    /// The numbers and counts that are told apart, the most frequent first.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u16, u32)> {
        self.0.iter().copied().filter(|(_, count)| *count > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_has_a_number_and_comes_back_from_it() {
        let mut kinds = Kinds::default();
        for code in [ResultCode::Status(404), ResultCode::Error("reset"), ResultCode::Error("tls")]
        {
            let number = kinds.number(code);
            assert_eq!((kinds.number(code), kinds.code(number)), (number, Some(code)));
        }
        assert_eq!(kinds.0, ["reset", "tls"]);
    }

    #[test]
    fn the_most_frequent_failure_is_found_among_many() {
        let mut failures = FrequentFailures::default();
        for number in [404, 503, 404, 500] {
            failures.add(number, 1);
        }
        assert_eq!(failures.iter().collect::<Vec<_>>(), [(404, 2), (503, 1), (500, 1)]);
        // A third of 3,000, among 2,000 that are all different.
        let mut failures = FrequentFailures::default();
        for number in 0..2000 {
            failures.add(number + 2000, 1);
            if number % 2 == 0 {
                failures.add(429, 1);
            }
        }
        assert_eq!(failures.iter().next().map(|(number, _)| number), Some(429));
        // Two workers together.
        let mut both = FrequentFailures::default();
        for of_one in [[(404, 9), (429, 5), (500, 3)], [(429, 5), (502, 1), (503, 1)]] {
            of_one.into_iter().for_each(|(number, times)| both.add(number, times));
        }
        assert_eq!(both.iter().collect::<Vec<_>>(), [(429, 9), (404, 8), (500, 2)]);
    }
}
