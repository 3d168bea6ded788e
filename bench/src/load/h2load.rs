//! h2load, the load generator of the nghttp2 project.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use super::request::{DEPTH, FIELDS, LoadRequest, LoadRun};
use super::result::LoadResult;

/// Windows so large that no server ever waits for them, of streams and of connections: the cost of content
/// is measured, and not how the two sides wait for each other.
const WINDOWS: [&str; 4] = ["-w", "30", "-W", "30"];

/// The arguments for a run.
pub(super) fn arguments(run: &LoadRun<'_>) -> Vec<String> {
    let mut words: Vec<String> =
        ["-t", "1", "-c", &run.connections.to_string(), "-D", &run.seconds.to_string()]
            .map(str::to_owned)
            .to_vec();
    words.extend(version(run.request));
    if run.request.is_pipelined {
        words.extend(["-m".to_owned(), DEPTH.to_string()]);
        // h2load sends the host itself.
        let fields = FIELDS.lines().filter(|line| !line.starts_with("Host"));
        words.extend(fields.flat_map(|line| ["-H".to_owned(), line.to_owned()]));
    }
    if run.request.post.is_some() {
        words.extend(["-d".to_owned(), run.file.display().to_string()]);
    }
    words.push(run.url());
    words
}

/// The arguments for one request with `file` as its content, without the URL.
pub(super) fn upload(request: &LoadRequest, file: &Path) -> Vec<String> {
    let words = ["-t", "1", "-c", "1", "-n", "1", "-d"].map(str::to_owned);
    let file = file.display().to_string();
    words.into_iter().chain([file]).chain(version(request)).collect()
}

fn version(request: &LoadRequest) -> Vec<String> {
    let Some(streams) = request.streams else { return vec!["--h1".to_owned()] };
    let words = ["--npn-list=h2".to_owned(), "-m".to_owned(), streams.to_string()];
    words.into_iter().chain(WINDOWS.map(str::to_owned)).collect()
}

/// Reads the report of h2load.
pub(super) fn result(text: &str) -> Option<LoadResult> {
    let words = |title: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(title))?;
        Some(line.split([' ', ',']).filter(|word| !word.is_empty()).collect::<Vec<_>>())
    };
    let counts = words("requests: ")?;
    let count = |name: &str| {
        let place = counts.iter().position(|word| *word == name)?;
        counts.get(place.checked_sub(1)?)?.parse::<u64>().ok()
    };
    // Its latencies have no percentiles.
    let more = BTreeMap::from([("errors", count("failed")? as f64)]);
    // The time itself is printed in a unit that depends on its length.
    let requests = count("succeeded")?;
    let rate: f64 = words("finished in ")?.get(1)?.parse().ok()?;
    let duration = Duration::try_from_secs_f64(requests as f64 / rate).ok()?;
    Some(LoadResult { requests, duration, more })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_report_of_h2load_is_read() {
        let text = "Warm-up started for thread #0.\n\nfinished in 2.50s, 10.40 req/s, 0.56KB/s\n\
            requests: 28 total, 29 started, 26 done, 26 succeeded, 2 failed, 2 errored, 0 timeout\n\
            status codes: 26 2xx, 0 3xx, 0 4xx, 0 5xx\n";
        let result = result(text).unwrap();
        assert_eq!((result.requests, result.duration.as_millis()), (26, 2500));
        assert_eq!(result.more["errors"], 2.0);
        assert_eq!(super::result("requests: 28 total"), None);
    }
}
