//! `internet`: a list of the testbed's synthetic internet, as a user would fetch it.

use std::time::Duration;

use anyhow::{Context, Result};

use crate::arguments::InternetOptions;
use crate::cores::Placement;
use crate::figure::{Figure, Limit};
use crate::lines::{Class, Lines};
use crate::program::Program;
use crate::report::{Metric, Report, Sample, Series, Subject, metric};
use crate::rounds;
use crate::run_client::{Run, Startable, Task};
use crate::testbed::{self, Log, Testbed};
use crate::work::{self, Bench, Field};

const CPU: &str = "cpu_s";

const METRICS: &[Metric] = &[
    metric(CPU, "CPU s", 2),
    metric("wall_s", "wall s", 2),
    metric("peak_mib", "peak memory, MiB", 1),
    metric("peak_connections", "peak connections", 0),
    metric("lines", "lines", 0),
    metric("not_as_planned", "not as planned", 0),
    metric("past_deadline", "past deadline (testbed's log)", 0),
    metric("log_open_peak", "peak connections (testbed's log)", 0),
    metric("in_flight_share", "in flight / concurrency", 3),
    metric("tail_s", "tail s", 2),
    metric("class_2xx", "2xx", 0),
    metric("class_3xx", "3xx", 0),
    metric("class_4xx", "4xx", 0),
    metric("class_5xx", "5xx", 0),
    metric("class_failed", "failed", 0),
];

pub(crate) fn run(bench: &Bench, options: &InternetOptions) -> Result<Report> {
    let names = work::names(&options.common, &["reqwest"]);
    let stoop = bench.stoop_command()?;
    let Field { ready, mut skipped } = bench.clients(&names)?;
    if options.pinned {
        bench.step_aside()?;
    }
    let series =
        rounds::interleave(options.common.rounds, ready, &mut skipped, |series, client| {
            turn(bench, options, &stoop, series, client)
        });
    Ok(Report::new(subject(options), series, skipped))
}

fn turn(
    bench: &Bench,
    options: &InternetOptions,
    stoop: &Program,
    series: &mut Series,
    client: &Startable,
) -> Result<Sample> {
    let place = |placement| if options.pinned { placement } else { Placement::Anywhere };
    let testbed =
        Testbed::start(bench, stoop, options.seed, options.urls, place(Placement::Server))?;
    let list = std::fs::read_to_string(testbed.list()).context("the testbed's list")?;
    let plan = testbed::plan(&list);
    let urls = testbed.directory().join("urls");
    let bare: String = plan.iter().map(|(url, _)| format!("{url}\n")).collect();
    std::fs::write(&urls, bare).context("the list of URLs")?;
    let lines = testbed.directory().join("lines");
    let authority = testbed.authority();
    let run = client.run(
        bench,
        &series.name,
        &Task {
            list: &urls,
            lines: &lines,
            concurrency: options.concurrency,
            timeout_s: options.timeout,
            authority: Some(&authority),
            dns: Some(testbed.dns),
            placement: place(Placement::Load),
            limit: longest(options),
            count_connections: true,
        },
    )?;
    let answered = Lines::read(&lines)?;
    if answered.malformed > 0 {
        series.note(format!("{} lines are not of the contract's form", answered.malformed));
    }
    let planned: Option<Vec<(String, Class)>> =
        plan.into_iter().map(|(url, class)| Some((url, class?))).collect();
    if planned.is_none() {
        series.note("the testbed's list has no plan to compare with".into());
    }
    Ok(sample(options, &run, &answered, planned.as_deref(), &testbed.stop()?))
}

/// Every URL taking its whole deadline, and as much again.
fn longest(options: &InternetOptions) -> Duration {
    let turns = options.urls.div_ceil(options.concurrency);
    Duration::from_secs(30 + 2 * u64::from(turns) * u64::from(options.timeout))
}

fn sample(
    options: &InternetOptions,
    run: &Run,
    answered: &Lines,
    planned: Option<&[(String, Class)]>,
    log: &Log,
) -> Sample {
    let mut sample = Sample::from([
        (CPU, run.cpu.as_secs_f64()),
        ("wall_s", run.wall.as_secs_f64()),
        ("peak_mib", run.peak_bytes as f64 / 1024.0 / 1024.0),
        ("peak_connections", run.peak_connections as f64),
        ("lines", (answered.lines.len() + answered.malformed) as f64),
        ("past_deadline", log.longer_than(tolerated(options)) as f64),
        ("class_failed", answered.count(Class::Failed) as f64),
    ]);
    let classes = ["class_2xx", "class_3xx", "class_4xx", "class_5xx"];
    for (digit, key) in (2..).zip(classes) {
        sample.insert(key, answered.count(Class::Status(digit)) as f64);
    }
    let concurrency = f64::from(options.concurrency);
    let maybe = [
        ("not_as_planned", planned.map(|planned| answered.differ_from(planned) as f64)),
        ("log_open_peak", log.open_peak.map(|peak| peak as f64)),
        ("in_flight_share", answered.mean_in_flight().map(|mean| mean / concurrency)),
        ("tail_s", answered.tail().map(|tail| tail.as_secs_f64())),
    ];
    sample.extend(maybe.into_iter().filter_map(|(key, value)| Some((key, value?))));
    sample
}

/// The deadline with its tolerance: a tenth, and at least 50 ms.
fn tolerated(options: &InternetOptions) -> Duration {
    let deadline = Duration::from_secs(u64::from(options.timeout));
    deadline + (deadline / 10).max(Duration::from_millis(50))
}

fn subject(options: &InternetOptions) -> Subject {
    let InternetOptions { urls, concurrency, timeout, seed, .. } = options;
    let rounds = options.common.rounds;
    let what = format!(
        "{urls} URLs of the synthetic internet (seed {seed}), concurrency {concurrency}, \
         deadline {timeout} s, {rounds} rounds"
    );
    let worst = |what: &str, metric, limit| Figure::worst(what, metric, "stoop", limit);
    let figures = vec![
        worst("lines", "lines", Limit::Exactly(f64::from(*urls))),
        worst("answers not as planned", "not_as_planned", Limit::Exactly(0.0)),
        worst("URLs past deadline and tolerance", "past_deadline", Limit::Exactly(0.0)),
        worst("peak memory, MiB", "peak_mib", Limit::AtMost(64.0)),
        worst("peak connections", "peak_connections", Limit::AtMost(f64::from(concurrency + 64))),
        worst("in flight / concurrency", "in_flight_share", Limit::AtLeast(0.95)),
        worst("tail, s", "tail_s", Limit::AtMost(tolerated(options).as_secs_f64())),
        Figure::ratio(CPU, "stoop", "reqwest", Limit::AtMost(0.8)).called("stoop / reqwest, CPU"),
        Figure::ratio("wall_s", "stoop", "reqwest", Limit::AtMost(1.0))
            .called("stoop / reqwest, wall time"),
    ];
    let baselines = &["reqwest", "stoop"];
    Subject { work: "internet", what, metrics: METRICS, compared: CPU, baselines, figures }
}
