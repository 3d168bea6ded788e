//! Which lines are of a job that has another line: that of a run whose failed jobs were fetched again
//! ('--retry-failed').

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use crate::stderr;

/// How many lines are kept in mind, by 8 bytes of a hash each: some 40 MiB.
const KEPT_MAX: usize = 1 << 20;

/// Decides which lines count.
#[derive(Debug)]
pub(super) enum Repeats {
    /// All of them, as each is of another job.
    None,
    /// All of them, in a file that does not say which are repeats: those that may be are told.
    Possible(Possible),
    /// The last line of each job, in files that are read from the last round to the first.
    Known(Known),
}

/// Lines behind one of the same URL that failed.
#[derive(Debug, Default)]
pub(super) struct Possible {
    failed: HashSet<u64>,
    later: u64,
}

/// The lines of later rounds, each of which takes the place of a line of an earlier round that failed.
#[derive(Debug, Default)]
pub(super) struct Known {
    later: HashMap<u64, u32>,
    /// Those of the round that is being read, in which no job has two lines.
    of_round: Vec<u64>,
    round: u32,
    left_out: u64,
    /// Lines that were not kept in mind.
    lost: u64,
}

impl Repeats {
    /// The file that is read next has lines of this round. Rounds go down.
    pub(super) fn begin_file(&mut self, round: u32) {
        if let Self::Known(known) = self
            && known.round != round
        {
            known.round = round;
            for key in known.of_round.drain(..) {
                *known.later.entry(key).or_default() += 1;
            }
        }
    }

    /// Whether a line counts that `job` identifies.
    pub(super) fn counts(&mut self, is_failure: bool, job: impl Hash) -> bool {
        match self {
            Self::None => true,
            Self::Possible(possible) => {
                possible.note(is_failure, job);
                true
            }
            Self::Known(known) => known.counts(is_failure, job),
        }
    }

    /// Says on standard error what was found in the lines of the file or folder `name`.
    pub(super) fn tell(&self, name: &str) {
        let lines = |count: u64| if count == 1 { "line is" } else { "lines are" };
        match self {
            Self::Possible(Possible { later, .. }) if *later > 0 => stderr::message(format_args!(
                "{name}: {later} {} of a URL whose line before failed, and all are counted; after --retry-failed only \
                 the last one says what came of it, which a report of a folder (-o FOLDER/) takes alone",
                lines(*later)
            )),
            Self::Known(Known { left_out, lost, .. }) => {
                if *left_out > 0 {
                    stderr::message(format_args!(
                        "{name}: {left_out} {} not counted, as their URLs were fetched again",
                        lines(*left_out)
                    ));
                }
                if *lost > 0 {
                    stderr::message(format_args!(
                        "{name}: {lost} URLs more were fetched again than are kept in memory: their earlier lines are \
                         counted, too"
                    ));
                }
            }
            Self::None | Self::Possible(_) => {}
        }
    }
}

impl Possible {
    fn note(&mut self, is_failure: bool, job: impl Hash) {
        if !is_failure && self.failed.is_empty() {
            return;
        }
        let key = key(job);
        self.later += u64::from(self.failed.contains(&key));
        if is_failure && self.failed.len() < KEPT_MAX {
            self.failed.insert(key);
        }
    }
}

impl Known {
    fn counts(&mut self, is_failure: bool, job: impl Hash) -> bool {
        if self.round == 0 && !is_failure {
            return true;
        }
        let key = key(job);
        if self.round > 0 {
            match self.later.len() + self.of_round.len() < KEPT_MAX {
                true => self.of_round.push(key),
                false => self.lost += 1,
            }
        }
        match self.later.get_mut(&key) {
            Some(count @ 1..) if is_failure => {
                *count -= 1;
                self.left_out += 1;
                false
            }
            _ => true,
        }
    }
}

fn key(job: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    job.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines with their URLs and whether they failed, by rounds, the last first. Returns which count.
    fn counted(rounds: &[(u32, &[(&str, bool)])]) -> Vec<bool> {
        let mut repeats = Repeats::Known(Known::default());
        let mut counted = Vec::new();
        for (round, lines) in rounds {
            repeats.begin_file(*round);
            counted.extend(lines.iter().map(|(url, failed)| repeats.counts(*failed, url)));
        }
        counted
    }

    #[test]
    fn a_line_of_a_later_round_takes_the_place_of_one_that_failed() {
        let first = [("a", false), ("b", true), ("c", true), ("d", true)];
        let found = counted(&[(2, &[("b", false)]), (1, &[("b", true), ("c", true)]), (0, &first)]);
        assert_eq!(found, [true, false, true, true, false, false, true]);
    }

    /// A list may have a URL twice.
    #[test]
    fn a_later_line_takes_the_place_of_one_line_alone() {
        let first = [("a", true), ("a", false), ("a", true)];
        assert_eq!(counted(&[(1, &[("a", false)]), (0, &first)]), [true, false, true, true]);
        let both = [("a", true), ("a", false)];
        assert_eq!(counted(&[(1, &both), (0, &first)]), [true, true, false, true, false]);
        assert_eq!(counted(&[(0, &first)]), [true, true, true]);
    }

    #[test]
    fn what_may_be_a_repeat_is_counted_and_noted() {
        let mut repeats = Repeats::Possible(Possible::default());
        for (url, is_failure) in
            [("a", false), ("a", false), ("b", true), ("a", true), ("b", true), ("b", false)]
        {
            assert!(repeats.counts(is_failure, url));
        }
        let Repeats::Possible(possible) = repeats else { panic!("it was one") };
        assert_eq!(possible.later, 2);
    }
}
