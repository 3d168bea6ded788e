//! `client`: the published comparison of fetching clients, over the synthetic internet and over one fast
//! server, with its fifteen columns, CPU time and memory.

use std::time::Duration;

use anyhow::Result;

use crate::arguments::{ClientOptions, FetchOptions, InternetOptions};
use crate::bench::Bench;
use crate::fetch_lines::{FetchLines, OutcomeClass};
use crate::participants::{self, Participants};
use crate::report::{Report, Subject};
use crate::rounds;
use crate::run_client::ClientRun;
use crate::run_server::ServerMode;
use crate::series::{Metric, Sample, metric};
use crate::table;
use crate::work;
use crate::work::fetch;
use crate::work::internet::Fetched;

const TIME: &str = "time_ms";
const CPU: &str = "cpu_s";

/// The columns of the comparison, in its order, after the client's name. Its language and method are the
/// name and the description of the contender.
const METRICS: &[Metric] = &[
    metric("concurrency", "concurrency", 0),
    metric(TIME, "time", 0),
    metric("avg_ms", "avg", 0),
    metric("max_ms", "max", 0),
    metric("total_urls", "totalUrls", 0),
    metric("ok_per_s", "okReqsSec", 0),
    metric("ok_share", "okReqsPct", 2),
    metric("ok_length", "avgBodyLen", 0),
    metric("class_2xx", "2xx", 0),
    metric("class_3xx", "3xx", 0),
    metric("class_4xx", "4xx", 0),
    metric("class_5xx", "5xx", 0),
    metric("exceptions", "Exception", 0),
    metric(CPU, "CPU s", 2),
    metric("peak_mib", "peak MiB", 1),
];

const DEFAULTS: &[&str] =
    &["reqwest", "go", "node-fetch", "undici", "aiohttp", "curl", "deno", "bun"];
/// Contenders that take longer than all others together.
const SLOW: &[&str] = &["java", "async-http"];

/// The concurrency that the comparison uses for the fast server.
const FAST_CONCURRENCY: u32 = 64;

pub(crate) fn run(bench: &Bench, options: &ClientOptions) -> Result<Vec<Report>> {
    let internet = table::print(measure_internet(bench, options)?);
    let fast = table::print(measure_one_server(bench, options)?);
    Ok(vec![internet, fast])
}

fn names(options: &ClientOptions) -> Vec<String> {
    let slow = if options.full { SLOW } else { &[] };
    work::names(&options.common, &[DEFAULTS, slow].concat())
}

fn measure_internet(bench: &Bench, options: &ClientOptions) -> Result<Report> {
    let ClientOptions { urls, concurrency, timeout, seed, .. } = *options;
    let common = options.common.with_default_rounds(3);
    let stoop = bench.stoop_command()?;
    let Participants { ready, mut skipped } = participants::clients(bench, &names(options))?;
    let rounds = common.rounds();
    let options = InternetOptions { common, urls, concurrency, timeout, seed, pinned: false };
    let series = rounds::interleave(rounds, ready, &mut skipped, |series, client| {
        let fetched = Fetched::by(client, &series.name, bench, &stoop, &options)?;
        Ok(sample(concurrency, &fetched.run, &fetched.answered))
    });
    let what = format!(
        "{urls} URLs of the synthetic internet (seed {seed}), deadline {timeout} s, {rounds} rounds"
    );
    let subject = Subject { work: "client, synthetic internet", what, ..SUBJECT };
    Ok(Report::new(subject, series, skipped))
}

fn measure_one_server(bench: &Bench, options: &ClientOptions) -> Result<Report> {
    let common = options.common.with_default_rounds(3);
    let Participants { ready, mut skipped } = participants::clients(bench, &names(options))?;
    let rounds = common.rounds();
    let options = FetchOptions {
        common,
        urls: options.fast_urls,
        concurrency: FAST_CONCURRENCY,
        server: Some("floor".to_owned()),
        http2: false,
        unpinned: false,
    };
    let (mut server_series, server) =
        participants::server(bench, options.server(), options.mode())?;
    bench.leave_server_core()?;
    let series = rounds::interleave(rounds, ready, &mut skipped, |series, client| {
        let server = server.start(bench, ServerMode::Plain, &mut server_series)?;
        let (run, answered) = fetch::fetch(bench, &options, &series.name, client, &server)?;
        Ok(sample(options.concurrency, &run, &answered))
    });
    let what = format!(
        "{} URLs of {} on another core, client on one core, {rounds} rounds",
        options.urls,
        options.server()
    );
    let subject = Subject { work: "client, one fast server", what, ..SUBJECT };
    Ok(Report::new(subject, series, skipped))
}

/// Without figures: those of the project are measured by `internet` and `fetch`, with longer lists.
const SUBJECT: Subject = Subject {
    work: "client",
    what: String::new(),
    metrics: METRICS,
    compared: CPU,
    baselines: &["reqwest", "stoop"],
    figures: Vec::new(),
    sorted_by: Some(TIME),
};

/// Aggregates the lines as the comparison does, and adds the cost of the run.
fn sample(concurrency: u32, run: &ClientRun, answered: &FetchLines) -> Sample {
    let FetchLines { lines, malformed } = answered;
    let ok: Vec<_> = lines.iter().filter(|line| line.class() == OutcomeClass::Status(2)).collect();
    let time = answered.time().unwrap_or_default();
    let mean = |sum: f64, count: usize| sum / count.max(1) as f64;
    let ms = |time: Duration| time.as_secs_f64() * 1e3;
    let all = lines.len() + malformed;
    let class = |digit| answered.count(OutcomeClass::Status(digit)) as f64;
    Sample::from([
        ("concurrency", f64::from(concurrency)),
        (TIME, ms(time)),
        ("avg_ms", mean(lines.iter().map(|line| ms(line.duration)).sum(), lines.len())),
        ("max_ms", lines.iter().map(|line| line.duration).max().map_or(0.0, ms)),
        ("total_urls", all as f64),
        ("ok_per_s", ok.len() as f64 / time.as_secs_f64().max(1e-3)),
        ("ok_share", mean(ok.len() as f64, all)),
        ("ok_length", mean(ok.iter().map(|line| line.length as f64).sum(), ok.len())),
        ("class_2xx", class(2)),
        ("class_3xx", class(3)),
        ("class_4xx", class(4)),
        ("class_5xx", class(5)),
        ("exceptions", answered.count(OutcomeClass::Failed) as f64 + *malformed as f64),
        (CPU, run.cpu.as_secs_f64()),
        ("peak_mib", run.peak_bytes as f64 / 1024.0 / 1024.0),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_aggregated_as_in_the_comparison() {
        let lines = "http://a/,200,2026-11-21T00:00:00Z,100,10\n\
                     http://b/,204,2026-11-21T00:00:01Z,1000,20\n\
                     http://c/,404,2026-11-21T00:00:00Z,300,99\n\
                     http://d/,dns_nxdomain,2026-11-21T00:00:00Z,200,0\n\
                     torn\n";
        let cpu = Duration::from_millis(1_500);
        let run = ClientRun { wall: cpu, cpu, peak_bytes: 3 << 20, peak_connections: 0 };
        let sample = sample(7, &run, &FetchLines::parse(lines));
        let expected = [
            ("concurrency", 7.0),
            (TIME, 2_000.0),
            ("avg_ms", 400.0),
            ("max_ms", 1_000.0),
            ("total_urls", 5.0),
            ("ok_per_s", 1.0),
            ("ok_share", 0.4),
            ("ok_length", 15.0),
            ("class_2xx", 2.0),
            ("class_3xx", 0.0),
            ("class_4xx", 1.0),
            ("class_5xx", 0.0),
            ("exceptions", 2.0),
            (CPU, 1.5),
            ("peak_mib", 3.0),
        ];
        assert_eq!(sample, Sample::from(expected));
        assert!(METRICS.iter().all(|metric| sample.contains_key(metric.key)));
    }
}
