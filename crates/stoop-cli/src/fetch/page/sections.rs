//! What is on the page: each part with a plot, and a table that says the same.

use std::fmt::{Display, Write as _};

use stoop::Phase;
use stoop_fetch::statistics::{Durations, HostFigures, Statistics};

use super::canvas::{CLASSES, MAIN};
use super::html::Table;
use super::plots::{Bar, PERCENTILES, SpreadRow, bars, spreads};
use super::times::{counts_table, rates, rates_table, shares};
use crate::fetch::short_text::{failure_name, short};
use crate::hints::hint;

/// How many hosts, statuses and kinds are shown.
const ROWS_MAX: usize = 20;

/// The phases, by the names that people know them by.
pub(in crate::fetch) const PHASES: [(&str, Phase); 6] = [
    ("waiting for a connection", Phase::Queue),
    ("name lookup", Phase::Dns),
    ("connecting", Phase::Connect),
    ("TLS", Phase::Tls),
    ("waiting for the answer", Phase::Wait),
    ("receiving content", Phase::Receive),
];

/// Appends all parts.
pub(super) fn all(statistics: &Statistics, page: &mut String) {
    phases(statistics, page);
    let timeline = statistics.timeline();
    let is_empty = timeline.buckets().is_empty();
    let title = "Statuses over time";
    let about = "What the URLs came to, as shares of those that were done at the time.";
    section(page, title, about, is_empty, || {
        (shares("statuses", title, timeline), counts_table(title, timeline))
    });
    let title = "Rate over time";
    let about = "How many URLs were done a second, whatever they came to.";
    section(page, title, about, is_empty, || {
        (rates("rate", title, timeline), rates_table(title, timeline))
    });
    statuses(statistics, page);
    errors(statistics, page);
    failing_hosts(statistics, page);
    slowest_hosts(statistics, page);
}

/// Appends a part: its title, what it is about, its plot and its table, unless there is nothing to show.
fn section<T: Display>(
    page: &mut String,
    title: &str,
    about: &str,
    is_empty: bool,
    content: impl FnOnce() -> (String, T),
) {
    write!(page, "<section>\n<h2>{title}</h2>\n").expect("memory takes all");
    match is_empty {
        true => page.push_str("<p>There is nothing to show.</p>\n"),
        false => {
            let (plot, table) = content();
            write!(
                page,
                "<p>{about}</p>\n<div class=\"pair\">\n<figure>\n{plot}</figure>\n{table}</div>\n"
            )
            .expect("memory takes all");
        }
    }
    page.push_str("</section>\n");
}

fn phases(statistics: &Statistics, page: &mut String) {
    let title = "Time of each phase";
    let known = PHASES.iter().filter_map(|(name, phase)| {
        Some((*name, statistics.phase(*phase).filter(|times| times.count() > 0)?))
    });
    let mut known: Vec<(&str, &Durations)> = known.collect();
    if statistics.durations().count() > 0 {
        known.push(("all of a URL", statistics.durations()));
    }
    let about = "A phase counts where it took place: a connection that is used again needs no name, no connecting and no \
                 TLS. The line is from the 5th to the 99th percentile, the box from the 25th to the 75th, the mark and the \
                 figure are the median.";
    section(page, title, about, known.is_empty(), || {
        let rows: Vec<_> = known
            .iter()
            .map(|(name, times)| SpreadRow {
                name,
                percentiles: PERCENTILES.map(|percent| times.percentile(percent)),
            })
            .collect();
        let columns = ["phase", "times", "mean", "median", "90 %", "99 %", "longest"];
        let mut table = Table::new("Time of each phase: so many per cent took no longer", &columns);
        for (name, times) in &known {
            let mut row = vec![(*name).to_owned(), times.count().to_string(), short(times.mean())];
            row.extend([50.0, 90.0, 99.0].map(|percent| short(times.percentile(percent))));
            row.push(short(times.max()));
            table.row(&row);
        }
        (spreads("phases", title, &rows), table)
    });
}

fn statuses(statistics: &Statistics, page: &mut String) {
    let title = "Answers by status";
    let mut statuses: Vec<_> = statistics.statuses().collect();
    statuses.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    statuses.truncate(ROWS_MAX);
    section(page, title, "The most frequent ones.", statuses.is_empty(), || {
        let names: Vec<_> = statuses.iter().map(|(status, _)| status.to_string()).collect();
        let class = |status: u16| CLASSES[usize::from(status / 100).clamp(2, 5) - 2].1;
        let rows: Vec<_> = statuses
            .iter()
            .zip(&names)
            .map(|((status, count), name)| Bar {
                name,
                parts: vec![(*count as f64, class(*status))],
                label: count.to_string(),
            })
            .collect();
        let mut table = Table::new(title, &["status", "URLs"]);
        for (name, (_, count)) in names.iter().zip(&statuses) {
            table.row(&[name.clone(), count.to_string()]);
        }
        (bars("answers", title, &rows, &[]), table)
    });
}

fn errors(statistics: &Statistics, page: &mut String) {
    let title = "Errors by kind";
    let mut errors = statistics.errors();
    errors.truncate(ROWS_MAX);
    let about =
        "URLs without an answer, by what kept it from coming, with the first example of each.";
    section(page, title, about, errors.is_empty(), || {
        let rows: Vec<_> = errors
            .iter()
            .map(|(kind, count, _)| Bar {
                name: kind,
                parts: vec![(*count as f64, CLASSES[4].1)],
                label: count.to_string(),
            })
            .collect();
        let mut table = Table::new(title, &["kind", "URLs", "meaning", "example"]);
        for (kind, count, example) in &errors {
            let meaning = hint(kind).unwrap_or_default().to_owned();
            let example = format!("{}: {}", example.url(), example.text());
            let example = example.trim_end_matches([':', ' ']).to_owned();
            table.row(&[(*kind).to_owned(), count.to_string(), meaning, example]);
        }
        (bars("errors", title, &rows, &[]), table)
    });
}

fn failing_hosts(statistics: &Statistics, page: &mut String) {
    let title = "Hosts with most failures";
    let hosts = statistics.failing_hosts(ROWS_MAX);
    let about = format!(
        "By URLs without an answer, or with a status of 400 or more.{}",
        forgotten(statistics)
    );
    section(page, title, &about, hosts.is_empty(), || {
        let rows: Vec<_> = hosts
            .iter()
            .map(|host| {
                let counts = [host.client_errors, host.server_errors, host.unanswered];
                let parts = counts.iter().zip(&CLASSES[2..]);
                Bar {
                    name: host.host,
                    parts: parts.map(|(count, (_, color))| (*count as f64, *color)).collect(),
                    label: format!("{} of {}", counts.iter().sum::<u64>(), host.urls),
                }
            })
            .collect();
        (bars("failing-hosts", title, &rows, &CLASSES[2..]), host_table(title, &hosts))
    });
}

fn slowest_hosts(statistics: &Statistics, page: &mut String) {
    let title = "Slowest hosts";
    let hosts = statistics.slowest_hosts(ROWS_MAX);
    let about = format!(
        "By the mean time of their URLs; those without an answer count with the time until that was known.{}",
        forgotten(statistics)
    );
    section(page, title, &about, hosts.is_empty(), || {
        let rows: Vec<_> = hosts
            .iter()
            .map(|host| Bar {
                name: host.host,
                parts: vec![(host.mean.as_secs_f64(), MAIN)],
                label: short(host.mean),
            })
            .collect();
        (bars("slowest-hosts", title, &rows, &[]), host_table(title, &hosts))
    });
}

fn forgotten(statistics: &Statistics) -> &'static str {
    match statistics.has_all_hosts() {
        true => "",
        false => {
            " There were so many hosts that some were forgotten meanwhile, those that were neither slow nor failing: \
              figures of hosts that came again are of their later URLs."
        }
    }
}

fn host_table(caption: &str, hosts: &[HostFigures<'_>]) -> Table {
    let columns =
        ["host", "URLs", "4xx", "5xx", "no answer", "mostly failed by", "mean time", "longest"];
    let mut table = Table::new(caption, &columns);
    for host in hosts {
        table.row(&[
            host.host.to_owned(),
            host.urls.to_string(),
            host.client_errors.to_string(),
            host.server_errors.to_string(),
            host.unanswered.to_string(),
            host.most_frequent_failure.map_or_else(String::new, failure_name),
            short(host.mean),
            short(host.max),
        ]);
    }
    table
}
