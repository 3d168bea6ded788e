//! `resilience`: what a client makes of servers that close at any moment, fail in every way, or are very many.
//!
//! The servers, and the clients of stoop in two of the works, are in `resilience/`.

use std::fs::File;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::{Map, Value};

use crate::arguments::ResilienceOptions;
use crate::bench::Bench;
use crate::contender::{self, Placeholders, STOOP};
use crate::cores::Placement;
use crate::figure::{Figure, Limit};
use crate::own_server::OwnServer;
use crate::participants::Participants;
use crate::process::Process;
use crate::program::Program;
use crate::report::{Report, Subject};
use crate::series::{Metric, Sample, Series, metric};
use crate::{rounds, table, work};

/// A program that takes longer is stopped.
const TIME_LIMIT: Duration = Duration::from_secs(600);
const POLL_PERIOD: Duration = Duration::from_millis(5);

/// Requests of each race, and how many are in flight.
const RACE_REQUESTS: u32 = 100_000;
const RACE_CONCURRENCY: u32 = 16;
/// Requests that meet faults, and how many are in flight.
const FAULT_REQUESTS: u32 = 10_000;
const FAULT_CONCURRENCY: u32 = 500;
/// Requests to many origins.
const MANY_REQUESTS: u32 = 1_000_000;
const MANY_ORIGINS: u32 = 100_000;
const MANY_CONCURRENCY: u32 = 500;

const FAILED: &str = "failed";
const TWICE: &str = "twice";
const REUSED: &str = "reused_pct";
const SLOWEST: &str = "slowest_of_deadline";
const PEAK: &str = "peak_mib";
const GROWTH: &str = "growth_pct";

const RACE_METRICS: &[Metric] = &[
    metric(FAILED, "requests that failed", 0),
    metric(TWICE, "executed twice", 0),
    metric(REUSED, "on reused connections, %", 2),
    metric("connections", "connections", 0),
    metric("wall_s", "wall s", 2),
];

const FAULT_METRICS: &[Metric] = &[
    metric("hung", "hung", 0),
    metric(SLOWEST, "slowest, of its deadline", 3),
    metric("wrong", "wrong kind or phase", 0),
    metric("descriptors_left", "descriptors left", 0),
    metric("tasks_left", "tasks left", 0),
    metric("faults", "faults", 0),
    metric("wall_s", "wall s", 2),
];

const MANY_METRICS: &[Metric] = &[
    metric(FAILED, "requests that failed", 0),
    metric(PEAK, "peak memory, MiB", 1),
    metric("first_half_mib", "most in the first half, MiB", 1),
    metric("second_half_mib", "most in the second half, MiB", 1),
    metric(GROWTH, "growth in the second half, %", 1),
    metric("requests_per_s", "requests/s", 0),
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Work {
    Race { posts: bool, half: bool },
    Faults,
    Origins,
}

const WORKS: &[(&str, Work)] = &[
    ("race-get", Work::Race { posts: false, half: false }),
    ("race-post", Work::Race { posts: true, half: false }),
    ("race-post-half", Work::Race { posts: true, half: true }),
    ("faults", Work::Faults),
    ("origins", Work::Origins),
];

/// The names of all works.
pub(crate) fn names() -> String {
    work::listed(WORKS, |work| work.0)
}

/// Runs the chosen works one after the other.
pub(crate) fn run(bench: &Bench, options: &ResilienceOptions) -> Result<Vec<Report>> {
    let chosen = work::chosen(WORKS, options.work.as_deref(), |work| work.0)?;
    let program = bench.own_program(&bench.root().join("resilience"), "stoop-bench-resilience")?;
    let runner = Runner { bench, program };
    let run = |(name, work): &(&'static str, Work)| runner.run(options, name, *work);
    chosen.into_iter().map(|work| run(work).map(table::print)).collect()
}

struct Runner<'a> {
    bench: &'a Bench,
    program: Program,
}

impl Runner<'_> {
    fn run(&self, options: &ResilienceOptions, name: &'static str, work: Work) -> Result<Report> {
        let rounds = options.common.rounds();
        match work {
            Work::Race { posts, half } => {
                let names = work::names(&options.common, &["reqwest"]);
                let Participants { ready, mut skipped } =
                    Participants::obtain(self.bench, &names, |contender| {
                        let missing =
                            "it has no program that sends requests; leave it out of this work";
                        let requests = contender.requests.clone().ok_or(missing)?;
                        let program = self.bench.obtain(&requests.program)?;
                        Ok((program.version.clone(), (requests, program)))
                    })?;
                self.bench.leave_server_core()?;
                let series = rounds::interleave(rounds, ready, &mut skipped, |series, client| {
                    self.race(&series.name, client, posts, half)
                });
                Ok(Report::new(race_subject(name, posts, half, rounds), series, skipped))
            }
            Work::Faults | Work::Origins => {
                let version = None;
                let ready = vec![(Series::new(STOOP, "this project's client", version), ())];
                self.bench.leave_server_core()?;
                let turn = |_: &mut Series, (): &()| match work {
                    Work::Faults => self.faults(),
                    _ => self.origins(),
                };
                let series = rounds::interleave(rounds, ready, &mut Vec::new(), turn);
                let subject = match work {
                    Work::Faults => faults_subject(rounds),
                    _ => origins_subject(rounds),
                };
                Ok(Report::new(subject, series, Vec::new()))
            }
        }
    }

    fn race(
        &self,
        name: &str,
        (requests, program): &(contender::RequestsSection, Program),
        posts: bool,
        half: bool,
    ) -> Result<Sample> {
        let requests_max = RACE_REQUESTS.to_string();
        let mut arguments = vec!["race-server", &requests_max];
        arguments.extend(half.then_some("half"));
        let server = self.start(&arguments)?;
        let address: SocketAddr = server.line.parse().context("the address of the server")?;
        let placeholders = Placeholders::of(program)
            .with("{url}", format_args!("http://{address}/"))
            .with("{count}", RACE_REQUESTS)
            .with("{concurrency}", RACE_CONCURRENCY)
            .with("{body_bytes}", if posts { 10 } else { 0 })
            .with("{connections}", 0)
            .with("{http}", 1)
            .with("{runtime}", "current")
            .with("{failures}", "counted");
        let words: Vec<String> =
            requests.start.iter().map(|word| placeholders.fill(word)).collect();
        let (program, arguments) = words.split_first().context("`start` is empty")?;
        let mut command = Command::new(program);
        command.args(arguments);
        let (figures, wall) = self.run_client(command, name, None)?;
        let report = report(address)?;
        let number =
            |name: &str| report.get(name).and_then(Value::as_f64).context("the server's report");
        let (executed, connections) = (number("executed")?, number("connections")?);
        Ok(Sample::from([
            (FAILED, figure(&figures, FAILED)?),
            (TWICE, number("twice")?),
            ("connections", connections),
            (REUSED, 100.0 * (1.0 - connections / executed)),
            ("wall_s", wall.as_secs_f64()),
        ]))
    }

    fn faults(&self) -> Result<Sample> {
        let server = self.start(&["fault-servers"])?;
        let mut command = Command::new(&self.program.path);
        command.args(["faults", &FAULT_REQUESTS.to_string(), &FAULT_CONCURRENCY.to_string()]);
        let (figures, wall) = self.run_client(command, STOOP, Some(&server.line))?;
        let mut sample = sample(&figures, FAULT_METRICS)?;
        sample.insert("wall_s", wall.as_secs_f64());
        Ok(sample)
    }

    fn origins(&self) -> Result<Sample> {
        let server = self.start(&["many-server"])?;
        let mut command = Command::new(&self.program.path);
        command.args(["many", server.line.trim()]);
        command.args([MANY_REQUESTS, MANY_ORIGINS, MANY_CONCURRENCY].map(|n| n.to_string()));
        let (figures, _) = self.run_client(command, STOOP, None)?;
        let mut sample = sample(&figures, MANY_METRICS)?;
        let half = |name| figure(&figures, name);
        let growth = 100.0 * (half("second_half_mib")? / half("first_half_mib")? - 1.0);
        sample.insert(GROWTH, growth);
        Ok(sample)
    }

    fn start(&self, arguments: &[&str]) -> Result<OwnServer> {
        OwnServer::start(self.bench, &self.program, arguments)
    }

    /// Runs a client to its end, and returns the figures that it printed.
    fn run_client(
        &self,
        mut command: Command,
        name: &str,
        input: Option<&str>,
    ) -> Result<(Map<String, Value>, Duration)> {
        let (output, path) = (self.file("client"), self.file("input"));
        std::fs::write(&path, input.unwrap_or_default()).context("the client's input")?;
        command
            .stdin(File::open(&path).context("the client's input")?)
            .stdout(File::create(&output).context("a file for the client's output")?)
            .stderr(Stdio::inherit());
        let started = Instant::now();
        let process = Process::start(command, self.bench.cores.set(Placement::Load), name)?;
        let exit = process.wait(TIME_LIMIT, POLL_PERIOD, |_| {})?;
        let wall = started.elapsed();
        ensure!(exit.is_success, "{name} failed; its message is above");
        let printed = std::fs::read_to_string(&output).context("the client's output")?;
        let figures = serde_json::from_str(&printed).context("the client's figures")?;
        Ok((figures, wall))
    }

    fn file(&self, name: &str) -> PathBuf {
        self.bench.directory().join(format!("resilience-{name}"))
    }
}

/// What the server of a race has counted.
fn report(address: SocketAddr) -> Result<Map<String, Value>> {
    let mut stream = TcpStream::connect(address).context("the server of the race")?;
    stream
        .write_all(b"GET /report HTTP/1.1\r\nhost: race\r\n\r\n")
        .context("asking for the report")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).context("the report")?;
    let (_, content) = answer.split_once("\r\n\r\n").context("the report has no content")?;
    serde_json::from_str(content).context("the report is not JSON")
}

fn figure(figures: &Map<String, Value>, name: &str) -> Result<f64> {
    figures
        .get(name)
        .and_then(Value::as_f64)
        .with_context(|| format!("the client printed no {name}"))
}

/// Those of the metrics that the client printed.
fn sample(figures: &Map<String, Value>, metrics: &[Metric]) -> Result<Sample> {
    let printed = metrics.iter().filter(|metric| figures.contains_key(metric.key));
    printed.map(|metric| Ok((metric.key, figure(figures, metric.key)?))).collect()
}

fn race_subject(name: &'static str, posts: bool, half: bool, rounds: u32) -> Subject {
    let what = format!(
        "{RACE_REQUESTS} {} over HTTP/1.1, {RACE_CONCURRENCY} in flight, to a server that closes each connection{} \
         at a random moment up to 5 ms after its last answer, {rounds} rounds; client on one core, server on another",
        if posts { "POSTs of 10 bytes" } else { "GETs" },
        if half { " in one direction, and reads on for 3 ms," } else { "" }
    );
    let figures = match (posts, half) {
        (false, _) => vec![Figure::worst("failed", FAILED, STOOP, Limit::Exactly(0.0))],
        (true, true) => {
            vec![Figure::worst("executed twice", TWICE, STOOP, Limit::Exactly(0.0))]
        }
        (true, false) => vec![
            Figure::worst("executed twice", TWICE, STOOP, Limit::Exactly(0.0)),
            Figure::worst("on reused connections, %", REUSED, STOOP, Limit::AtLeast(90.0)),
            Figure::ratio(FAILED, STOOP, "reqwest", Limit::AtMost(0.25)),
        ],
    };
    let (metrics, compared, baselines): (_, _, &[&str]) = (RACE_METRICS, FAILED, &["reqwest"]);
    Subject { work: name, what, metrics, compared, baselines, figures, sorted_by: None }
}

fn faults_subject(rounds: u32) -> Subject {
    let what = format!(
        "{FAULT_REQUESTS} requests, {FAULT_CONCURRENCY} in flight, of which three in ten meet a fault, then 1,000 \
         with few descriptors and 1,000 without a port for every other; deadline 2 s, {rounds} rounds"
    );
    let none = |what, metric| Figure::worst(what, metric, STOOP, Limit::Exactly(0.0));
    let figures = vec![
        none("hung", "hung"),
        Figure::worst("slowest, of its deadline", SLOWEST, STOOP, Limit::AtMost(1.1)),
        none("wrong kind or phase", "wrong"),
        none("descriptors left", "descriptors_left"),
        none("tasks left", "tasks_left"),
    ];
    let (metrics, compared) = (FAULT_METRICS, SLOWEST);
    Subject { work: "faults", what, metrics, compared, baselines: &[], figures, sorted_by: None }
}

fn origins_subject(rounds: u32) -> Subject {
    let what = format!(
        "{MANY_REQUESTS} GETs of 13 bytes to {MANY_ORIGINS} origins in turn, {MANY_CONCURRENCY} in flight, {rounds} \
         rounds; client on one core, server on another"
    );
    let figures = vec![
        Figure::worst("failed", FAILED, STOOP, Limit::Exactly(0.0)),
        Figure::worst("peak memory, MiB", PEAK, STOOP, Limit::AtMost(96.0)),
        Figure::worst("growth in the second half, %", GROWTH, STOOP, Limit::AtMost(3.0)),
    ];
    let (metrics, compared) = (MANY_METRICS, PEAK);
    Subject { work: "origins", what, metrics, compared, baselines: &[], figures, sorted_by: None }
}
