//! The result of one run of a load, and the line of output that has it.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context, Result};

/// The counts of a load generator in one run.
#[derive(Debug, PartialEq)]
pub(crate) struct LoadResult {
    pub(crate) requests: u64,
    pub(crate) duration: Duration,
    /// Its further counts, by their names.
    pub(crate) more: BTreeMap<&'static str, f64>,
}

/// The further counts that a line `summary requests=N duration_us=N` may have.
const FURTHER_COUNTS: [&str; 27] = [
    "errors",
    "reconnects",
    "answered",
    "p50_us",
    "p99_us",
    "p999_us",
    "max_us",
    "alone_p50_us",
    "alone_p99_us",
    "greedy",
    "bytes",
    "least",
    "timed_out",
    "closed",
    "reset",
    "other",
    "left",
    "first_end_us",
    "last_end_us",
    "sent",
    "declined",
    "promised",
    "broken",
    "hung",
    "connections",
    "refused",
    "reset_after",
];

impl LoadResult {
    /// Reads the line `summary requests=N duration_us=N …` of the output of a load.
    pub(crate) fn from_summary(text: &str) -> Option<Self> {
        let line = text.lines().find_map(|line| line.strip_prefix("summary "))?;
        let value = |name: &str| {
            let words = line.split(' ').filter_map(|word| word.split_once('='));
            words.filter(|(key, _)| *key == name).find_map(|(_, value)| value.parse::<u64>().ok())
        };
        let more = FURTHER_COUNTS.into_iter();
        let more = more.filter_map(|key| Some((key, value(key)? as f64))).collect();
        let duration = Duration::from_micros(value("duration_us")?);
        Some(Self { requests: value("requests")?, duration, more })
    }

    /// The further count of that name. One that a load has not printed is an error: as a zero it would be just what a
    /// figure asks for.
    pub(crate) fn count(&self, name: &str) -> Result<f64> {
        self.more.get(name).copied().with_context(|| format!("the load has not printed {name}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_summary_is_found_among_the_lines_of_wrk() {
        let result = LoadResult::from_summary(
            "Running\n\nsummary requests=10 duration_us=2000000 errors=1\nbye",
        );
        let result = result.unwrap();
        assert_eq!(
            (result.requests, result.duration.as_secs(), result.more["errors"]),
            (10, 2, 1.0)
        );
        assert_eq!((result.count("errors").unwrap(), result.count("hung").is_err()), (1.0, true));
        assert_eq!(LoadResult::from_summary("summary requests=10"), None);
    }
}
