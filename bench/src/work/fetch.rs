//! `fetch`: the CPU time that a client spends on a small request.

use std::fmt::Write;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};

use crate::arguments::FetchOptions;
use crate::bench::Bench;
use crate::core_watch::{CoreWatch, LOAD_CORE, SERVER_CORE};
use crate::cores::Placement;
use crate::exchange;
use crate::fetch_lines::FetchLines;
use crate::figure::{Figure, Limit};
use crate::participants::{self, Participants};
use crate::report::{Report, Subject};
use crate::rounds;
use crate::run_client::{ClientProgram, ClientRun, ClientTask};
use crate::run_server::{RunningServer, ServerProgram};
use crate::series::{Metric, Sample, Series, metric};
use crate::work;

const CPU: &str = "cpu_us_per_request";

const METRICS: &[Metric] = &[
    metric(CPU, "CPU µs/request", 2),
    metric("requests_per_s", "requests/s", 0),
    metric("errors", "errors", 0),
    metric("connections", "most connections", 0),
    metric("peak_mib", "peak memory, MiB", 1),
    metric("wall_s", "wall s", 2),
    SERVER_CORE,
    LOAD_CORE,
];

pub(crate) fn run(bench: &Bench, options: &FetchOptions) -> Result<Report> {
    let names = work::names(&options.common, &["reqwest", "reqwest-current"]);
    let mut participants = participants::clients(bench, &names)?;
    if options.http2 {
        participants.retain(|contender| contender.check_http2());
    }
    let Participants { ready, mut skipped } = participants;
    let (mut server_series, server) =
        participants::server(bench, options.server(), options.mode())?;
    bench.leave_server_core()?;
    let series =
        rounds::interleave(options.common.rounds(), ready, &mut skipped, |series, contender| {
            turn(bench, options, series, contender, &server, &mut server_series)
        });
    Ok(Report::new(subject(options), series, skipped))
}

fn turn(
    bench: &Bench,
    options: &FetchOptions,
    series: &Series,
    client: &ClientProgram,
    server: &ServerProgram,
    server_series: &mut Series,
) -> Result<Sample> {
    let server = server.start(bench, options.mode(), server_series)?;
    let watch = CoreWatch::begin(&bench.cores, server.pid())?;
    let (run, answered) = fetch(bench, options, &series.name, client, &server)?;
    let elsewhere = watch.end()?;
    let good = answered.lines.iter().filter(|line| is_good(&line.code, line.length)).count();
    let urls = f64::from(options.urls);
    let mut sample = Sample::from([
        (CPU, run.cpu.as_secs_f64() * 1e6 / urls),
        ("requests_per_s", urls / run.wall.as_secs_f64()),
        // A URL without a good line, and a line too many, are one error each.
        ("errors", urls - good as f64 + (answered.lines.len() as f64 - urls).max(0.0)),
        ("peak_mib", run.peak_bytes as f64 / 1024.0 / 1024.0),
        ("wall_s", run.wall.as_secs_f64()),
    ]);
    if options.http2 {
        sample.insert("connections", run.peak_connections as f64);
    }
    if !options.unpinned {
        sample.extend(elsewhere);
    }
    Ok(sample)
}

/// Makes `client` fetch a list of different URLs of `server`.
pub(super) fn fetch(
    bench: &Bench,
    options: &FetchOptions,
    name: &str,
    client: &ClientProgram,
    server: &RunningServer,
) -> Result<(ClientRun, FetchLines)> {
    let list = bench.directory().join("urls");
    let lines = bench.directory().join("lines");
    let mut text = String::new();
    let scheme = if options.http2 { "https" } else { "http" };
    for number in 0..options.urls {
        // Writing to a String cannot fail. The number is in the query, because some paths have a meaning.
        let _ = writeln!(text, "{scheme}://{}/?{number}", server.address);
    }
    std::fs::write(&list, text).context("the list of URLs")?;

    let run = client.run(bench, name, &task(bench, options, &list, &lines))?;
    Ok((run, FetchLines::read(&lines)?))
}

fn task<'a>(
    bench: &'a Bench,
    options: &FetchOptions,
    list: &'a Path,
    lines: &'a Path,
) -> ClientTask<'a> {
    ClientTask {
        list,
        lines,
        concurrency: options.concurrency,
        timeout_s: 5,
        ca: options.mode().ca(bench),
        dns: None,
        http2: options.http2,
        placement: if options.unpinned { Placement::Anywhere } else { Placement::Load },
        // The time at a hundredth of the speed of the slowest known client.
        limit: Duration::from_secs(30 + u64::from(options.urls) / 100),
        // Over HTTP/1.1 there is one for each request in flight.
        count_connections: options.http2,
    }
}

fn is_good(code: &str, length: u64) -> bool {
    code == "200" && length == exchange::BODY.len() as u64
}

fn subject(options: &FetchOptions) -> Subject {
    let protocol = if options.http2 { " over HTTP/2 and TLS" } else { "" };
    let place = if options.unpinned { "on all cores" } else { "on one core" };
    let what = format!(
        "{} URLs of {} on another core{protocol}, concurrency {}, client {place}, {} rounds",
        options.urls,
        options.server(),
        options.concurrency,
        options.common.rounds()
    );
    let (multi, current) = if options.http2 { (0.5, 0.5) } else { (0.6, 0.7) };
    let figures = vec![
        Figure::ratio(CPU, "stoop", "reqwest", Limit::AtMost(multi)),
        Figure::ratio(CPU, "stoop", "reqwest-current", Limit::AtMost(current)),
        Figure::worst("errors", "errors", "stoop", Limit::Exactly(0.0)),
    ];
    let baselines = &["reqwest", "reqwest-current", "stoop"];
    Subject {
        work: if options.http2 { "fetch, HTTP/2" } else { "fetch" },
        what,
        metrics: METRICS,
        compared: CPU,
        baselines,
        figures,
        sorted_by: None,
    }
}
