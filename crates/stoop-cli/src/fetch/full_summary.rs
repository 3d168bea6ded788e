//! The longer summary, as text: the times of the phases, statuses, and the hosts that failed or were slow.

use std::fmt::Write as _;

use stoop_fetch::statistics::{Durations, Statistics};

use super::page::PHASES;
use super::short_text::{failure_name, name, short};

/// How many hosts and statuses are shown.
const ROWS_MAX: usize = 10;

/// What stands below the table of the summary.
pub(super) fn text(statistics: &Statistics) -> String {
    let mut text = String::new();
    phases(statistics, &mut text);
    let mut statuses: Vec<_> = statistics.statuses().collect();
    statuses.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    for (status, count) in statuses.iter().take(ROWS_MAX) {
        writeln!(text, "{count:>8}  with status {status}").expect("memory takes all");
    }
    let failing = statistics.failing_hosts(ROWS_MAX);
    if !failing.is_empty() {
        text.push_str("hosts with most failures:\n");
    }
    for host in failing {
        let failures = host.client_errors + host.server_errors + host.unanswered;
        writeln!(
            text,
            "{failures:>8}  {}: of {} URLs, {} 4xx, {} 5xx, {} without an answer; mostly {}",
            name(host.host),
            host.urls,
            host.client_errors,
            host.server_errors,
            host.unanswered,
            host.most_frequent_failure.map_or_else(String::new, failure_name)
        )
        .expect("memory takes all");
    }
    let slowest = statistics.slowest_hosts(ROWS_MAX);
    if !slowest.is_empty() {
        text.push_str("slowest hosts, mean time:\n");
    }
    for host in slowest {
        let (mean, max) = (short(host.mean), short(host.max));
        writeln!(text, "{mean:>8}  {}: of {} URLs, {max} at most", name(host.host), host.urls)
            .expect("memory takes all");
    }
    text
}

fn phases(statistics: &Statistics, text: &mut String) {
    let known = PHASES.iter().filter_map(|(name, phase)| Some((*name, statistics.phase(*phase)?)));
    let known = known.chain([("all of a URL", statistics.durations())]);
    let known: Vec<(&str, &Durations)> = known.filter(|(_, times)| times.count() > 0).collect();
    if known.is_empty() {
        return;
    }
    writeln!(
        text,
        "{:<24}  {:>8}  {:>8}  {:>8}  {:>8}  {:>8}",
        "time of", "URLs", "median", "90 %", "99 %", "longest"
    )
    .expect("memory takes all");
    for (name, times) in known {
        let [median, most, nearly_all] = [50.0, 90.0, 99.0].map(|at| short(times.percentile(at)));
        let (count, longest) = (times.count(), short(times.max()));
        writeln!(
            text,
            "{name:<24}  {count:>8}  {median:>8}  {most:>8}  {nearly_all:>8}  {longest:>8}"
        )
        .expect("memory takes all");
    }
}
