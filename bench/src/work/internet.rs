//! `internet`: fetches a list of the testbed's synthetic internet as a user would.

use std::time::Duration;

use anyhow::{Context, Result};

use crate::arguments::InternetOptions;
use crate::bench::Bench;
use crate::cores::Placement;
use crate::fetch_lines::{FetchLines, OutcomeClass};
use crate::figure::{Figure, Limit};
use crate::participants::{self, Participants};
use crate::planned::PlannedOutcomes;
use crate::program::Program;
use crate::report::{Report, Subject};
use crate::rounds;
use crate::run_client::{ClientProgram, ClientRun, ClientTask};
use crate::series::{Metric, Sample, Series, metric};
use crate::testbed::{Testbed, TestbedLog};
use crate::work;

const CPU: &str = "cpu_s";

const METRICS: &[Metric] = &[
    metric(CPU, "CPU s", 2),
    metric("wall_s", "wall s", 2),
    metric("peak_mib", "peak memory, MiB", 1),
    metric("peak_connections", "peak connections", 0),
    metric("lines", "lines", 0),
    metric("class_misfits", "class not as planned", 0),
    metric("answer_misfits", "answer not as planned", 0),
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
    let setup = Setup { bench, options, stoop };
    let Participants { ready, mut skipped } = participants::clients(bench, &names)?;
    if options.pinned {
        bench.leave_server_core()?;
    }
    let series =
        rounds::interleave(options.common.rounds(), ready, &mut skipped, |series, client| {
            setup.turn(series, client)
        });
    Ok(Report::new(subject(options), series, skipped))
}

/// The state that all turns share.
struct Setup<'a> {
    bench: &'a Bench,
    options: &'a InternetOptions,
    stoop: Program,
}

/// A fetched list, with the log of the testbed.
pub(super) struct Fetched {
    pub(super) run: ClientRun,
    pub(super) answered: FetchLines,
    urls: Vec<String>,
    /// What is to come of them: some hosts fail over HTTP/2 only.
    plan: PlannedOutcomes,
    log: TestbedLog,
}

impl Fetched {
    /// Makes `client` fetch the list of a new testbed.
    pub(super) fn by(
        client: &ClientProgram,
        name: &str,
        bench: &Bench,
        stoop: &Program,
        options: &InternetOptions,
    ) -> Result<Self> {
        let place = |placement| if options.pinned { placement } else { Placement::Anywhere };
        let (server, load) = (place(Placement::Server), place(Placement::Load));
        let dns = client.name_server();
        let testbed = Testbed::start(bench, stoop, options.seed, options.urls, dns, server)?;
        let (list, ca) = (testbed.list(), testbed.ca());
        let lines = testbed.directory().join("lines");
        let task = ClientTask {
            list: &list,
            lines: &lines,
            concurrency: options.concurrency,
            timeout_s: options.timeout,
            ca: Some(&ca),
            // With hosts that agree on it by ALPN, if the client can.
            http2: true,
            dns: Some(testbed.dns),
            placement: load,
            limit: longest_run(options),
            count_connections: true,
        };
        let run = client.run(bench, name, &task)?;
        let answered = FetchLines::read(&lines)?;
        let list = std::fs::read_to_string(&list).context("the testbed's list")?;
        let urls = list.lines().map(str::to_owned).collect();
        let plan = PlannedOutcomes::read(&testbed.expected(), client.check_http2().is_ok())?;
        let log = testbed.stop()?;
        Ok(Self { run, answered, urls, plan, log })
    }
}

impl Setup<'_> {
    fn turn(&self, series: &mut Series, client: &ClientProgram) -> Result<Sample> {
        let Self { bench, options, stoop, .. } = self;
        let fetched = Fetched::by(client, &series.name, bench, stoop, options)?;
        let Fetched { answered, urls, plan, .. } = &fetched;
        let mut sample = sample(options, &fetched);
        let deadline = Duration::from_secs(options.timeout.into());
        let class = answered.misfits(urls, |url, line| plan.admits_class(url, line, deadline));
        sample.insert("class_misfits", class as f64);
        // The names of failures and the lengths of bodies are those of stoop.
        if series.name == work::STOOP {
            let answer = answered.misfits(urls, |url, line| plan.admits(url, line, deadline));
            sample.insert("answer_misfits", answer as f64);
        }
        Ok(sample)
    }
}

/// The time of a run in which every URL takes twice its deadline.
fn longest_run(options: &InternetOptions) -> Duration {
    let turns = options.urls.div_ceil(options.concurrency);
    Duration::from_secs(30 + 2 * u64::from(turns) * u64::from(options.timeout))
}

fn sample(options: &InternetOptions, fetched: &Fetched) -> Sample {
    let Fetched { run, answered, log, .. } = fetched;
    let mut sample = Sample::from([
        (CPU, run.cpu.as_secs_f64()),
        ("wall_s", run.wall.as_secs_f64()),
        ("peak_mib", run.peak_bytes as f64 / 1024.0 / 1024.0),
        ("peak_connections", run.peak_connections as f64),
        ("lines", (answered.lines.len() + answered.malformed) as f64),
        ("past_deadline", log.longer_than(deadline_with_tolerance(options)) as f64),
        ("class_failed", answered.count(OutcomeClass::Failed) as f64),
    ]);
    let classes = ["class_2xx", "class_3xx", "class_4xx", "class_5xx"];
    for (digit, key) in (2..).zip(classes) {
        sample.insert(key, answered.count(OutcomeClass::Status(digit)) as f64);
    }
    let concurrency = f64::from(options.concurrency);
    let maybe = [
        ("log_open_peak", log.open_peak.map(|peak| peak as f64)),
        ("in_flight_share", answered.mean_in_flight().map(|mean| mean / concurrency)),
        ("tail_s", answered.tail().map(|tail| tail.as_secs_f64())),
    ];
    sample.extend(maybe.into_iter().filter_map(|(key, value)| Some((key, value?))));
    sample
}

/// The deadline and its tolerance: a tenth, and at least 50 ms.
fn deadline_with_tolerance(options: &InternetOptions) -> Duration {
    let deadline = Duration::from_secs(u64::from(options.timeout));
    deadline + (deadline / 10).max(Duration::from_millis(50))
}

fn subject(options: &InternetOptions) -> Subject {
    let InternetOptions { urls, concurrency, timeout, seed, .. } = options;
    let rounds = options.common.rounds();
    let what = format!(
        "{urls} URLs of the synthetic internet (seed {seed}), concurrency {concurrency}, \
         deadline {timeout} s, {rounds} rounds"
    );
    let worst = |what: &str, metric, limit| Figure::worst(what, metric, "stoop", limit);
    let figures = vec![
        worst("lines", "lines", Limit::Exactly(f64::from(*urls))),
        worst("classes not as planned", "class_misfits", Limit::Exactly(0.0)),
        worst("URLs past deadline and tolerance", "past_deadline", Limit::Exactly(0.0)),
        worst("peak memory, MiB", "peak_mib", Limit::AtMost(64.0)),
        worst("peak connections", "peak_connections", Limit::AtMost(f64::from(concurrency + 64))),
        worst("in flight / concurrency", "in_flight_share", Limit::AtLeast(0.95)),
        worst("tail, s", "tail_s", Limit::AtMost(deadline_with_tolerance(options).as_secs_f64())),
        Figure::ratio(CPU, "stoop", "reqwest", Limit::AtMost(0.8)).called("stoop / reqwest, CPU"),
        Figure::ratio("wall_s", "stoop", "reqwest", Limit::AtMost(1.0))
            .called("stoop / reqwest, wall time"),
    ];
    let baselines = &["reqwest", "stoop"];
    Subject {
        work: "internet",
        what,
        metrics: METRICS,
        compared: CPU,
        baselines,
        figures,
        sorted_by: None,
    }
}
