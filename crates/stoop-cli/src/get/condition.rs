//! `-z`: content that is newer than a date, or older.

use std::fs;
use std::time::UNIX_EPOCH;

use super::date::{http_date, parse_date};

/// Which content is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wanted {
    Newer,
    Older,
}

/// Content is wanted if it is newer than a date, or older.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TimeCondition {
    wanted: Wanted,
    /// Seconds since 1970.
    date: i64,
}

impl TimeCondition {
    /// The condition as it is typed: a date, or a file, whose date it is then; behind `-` content is to be older. None,
    /// where it is neither.
    pub(super) fn read(typed: &str) -> Option<Self> {
        let (wanted, named) = match typed.strip_prefix('-') {
            Some(named) => (Wanted::Older, named),
            None => (Wanted::Newer, typed.strip_prefix('+').unwrap_or(typed)),
        };
        let date = parse_date(named).or_else(|| modified(named))?;
        Some(Self { wanted, date })
    }

    /// The field that asks for it: its name and value.
    pub(super) fn field(self) -> (&'static str, Option<String>) {
        let name = match self.wanted {
            Wanted::Newer => "if-modified-since",
            Wanted::Older => "if-unmodified-since",
        };
        (name, http_date(self.date))
    }

    /// Whether content of that date is wanted: one without a date is. The first second of 1970 is none, in an option as in
    /// a field, where it is what builds that can be repeated have.
    pub(super) fn is_met_by(self, last_modified: Option<i64>) -> bool {
        let date = last_modified.filter(|date| *date != 0 && self.date != 0);
        date.is_none_or(|date| match self.wanted {
            Wanted::Newer => date > self.date,
            Wanted::Older => date < self.date,
        })
    }
}

/// When a file was changed last.
fn modified(path: &str) -> Option<i64> {
    let modified = fs::metadata(path).and_then(|file| file.modified()).ok()?;
    let seconds = match modified.duration_since(UNIX_EPOCH) {
        Ok(since) => i64::try_from(since.as_secs()),
        Err(before) => i64::try_from(before.duration().as_secs()).map(|seconds| -seconds),
    };
    seconds.ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_is_wanted_by_its_date() {
        let condition = |typed| TimeCondition::read(typed).expect("a date");
        let (newer, older) = (condition("19700102"), condition("-19700102"));
        assert_eq!(condition("+19700102"), newer);
        for (date, is_newer, is_older) in [
            (Some(86_399), false, true),
            (Some(86_400), false, false),
            (Some(86_401), true, false),
            (None, true, true),
            (Some(0), true, true),
        ] {
            let met = (newer.is_met_by(date), older.is_met_by(date));
            assert_eq!(met, (is_newer, is_older), "{date:?}");
        }
        assert_eq!(TimeCondition::read("/no/such/file"), None);
    }
}
