//! ab, with which the DataKernel project measured its figures.

use std::collections::BTreeMap;
use std::time::Duration;

use super::request::LoadRun;
use super::result::LoadResult;

/// ab keeps a record of this many requests in memory; no server answers so many in a turn.
const REQUESTS_MAX: &str = "3000000";

/// The arguments for a run.
pub(super) fn arguments(run: &LoadRun<'_>) -> Vec<String> {
    let mut words: Vec<String> = [
        "-q",
        "-t",
        &run.seconds.to_string(),
        "-n",
        REQUESTS_MAX,
        "-c",
        &run.connections.to_string(),
    ]
    .map(str::to_owned)
    .to_vec();
    if !run.request.is_fresh {
        words.push("-k".to_owned());
    }
    if run.request.post.is_some() {
        words.extend(["-p".to_owned(), run.file.display().to_string()]);
        words.extend(["-T", "text/plain"].map(str::to_owned));
    }
    words.push(run.url());
    words
}

/// Reads the report of ab.
pub(super) fn result(text: &str) -> Option<LoadResult> {
    let value = |title: &str| {
        let line = text.lines().find_map(|line| line.trim_start().strip_prefix(title))?;
        line.split_ascii_whitespace().next()?.parse::<f64>().ok()
    };
    // Responses whose length differs from that of the first count as failed, and so do requests that are in
    // flight at the end; a status other than 2xx is counted separately.
    let errors = value("Failed requests:")? + value("Non-2xx responses:").unwrap_or(0.0);
    let mut more = BTreeMap::from([("errors", errors)]);
    for (key, title) in [("p50_us", "50%"), ("p99_us", "99%")] {
        // In whole milliseconds.
        more.extend(value(title).map(|millis| (key, millis * 1000.0)));
    }
    let requests = value("Complete requests:")?;
    // Printed only where connections are kept; a server may end one nevertheless.
    more.extend(value("Keep-Alive requests:").map(|kept| ("reconnects", requests - kept)));
    let duration = Duration::try_from_secs_f64(value("Time taken for tests:")?).ok()?;
    Some(LoadResult { requests: requests as u64, duration, more })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_report_of_ab_is_read() {
        let text = "Concurrency Level:      8\nTime taken for tests:   2.500 seconds\n\
            Complete requests:      1000\nFailed requests:        2\n   (Connect: 0)\n\
            Non-2xx responses:      1\nKeep-Alive requests:    996\n  50%      3\n  99%     12\n";
        let result = result(text).unwrap();
        assert_eq!((result.requests, result.duration.as_millis()), (1000, 2500));
        assert_eq!((result.more["errors"], result.more["p99_us"]), (3.0, 12_000.0));
        assert_eq!(result.more["reconnects"], 4.0);
    }
}
