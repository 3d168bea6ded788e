//! `server` and `churn`: the CPU time that a server spends on a request, in each of many works.

mod list;
mod server_work;

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};

use crate::arguments::ServerOptions;
use crate::bench::Bench;
use crate::core_watch::{CoreWatch, LOAD_CORE, SERVER_CORE};
use crate::load::{self, Generator, PreparedLoad};
use crate::participants::{self, Participants};
use crate::report::{Report, Subject};
use crate::run_server::ServerProgram;
use crate::series::{Metric, Sample, Series, metric};
use crate::usage;
use crate::{rounds, table};

use server_work::{CPU, ServerWork};

pub(crate) use list::names;

const METRICS: &[Metric] = &[
    metric(CPU, "CPU µs/request", 3),
    metric("requests_per_s", "requests/s", 0),
    // Below about 95 the load was too slow for the server, whose CPU time then includes falling asleep and
    // waking up.
    metric("busy_pct", "server busy %", 0),
    metric("errors", "errors", 0),
    metric("p50_us", "p50 µs", 0),
    metric("p99_us", "p99 µs", 0),
    metric("p999_us", "p99.9 µs", 0),
    metric("answered_pct", "connections answered %", 1),
    // The anonymous memory before and after the load, and the most that was ever resident, which includes
    // files, such as the program.
    metric("idle_mib", "idle memory, MiB", 1),
    metric("memory_mib", "memory after, MiB", 1),
    metric("peak_mib", "peak resident, MiB", 1),
    metric("reconnects", "reconnects", 0),
    SERVER_CORE,
    LOAD_CORE,
];

/// Runs the chosen works one after the other.
pub(crate) fn run(
    bench: &Bench,
    options: &ServerOptions,
    defaults: &[&str],
) -> Result<Vec<Report>> {
    let works = choose(options, defaults)?;
    // Missing programs are built before anything is measured.
    for work in &works {
        bench.build_servers(&work.names(&options.common))?;
        load::program(bench, generator(options, work))?;
    }
    works.into_iter().map(|work| run_one(bench, options, work).map(table::print)).collect()
}

/// The works to run: those named by the user, else all if that was asked for, else `defaults`.
fn choose(options: &ServerOptions, defaults: &[&str]) -> Result<Vec<&'static ServerWork>> {
    let named: Vec<&str> = match &options.work {
        Some(names) => names.iter().map(String::as_str).collect(),
        None if options.full => return Ok(list::works().collect()),
        None => defaults.to_vec(),
    };
    let mut chosen = Vec::new();
    for name in named {
        let called = list::called(name);
        ensure!(!called.is_empty(), "no work {name}; there are: {}", list::names());
        chosen.extend(called.into_iter().map(|work| work.name));
    }
    Ok(list::works().filter(|work| chosen.contains(&work.name)).collect())
}

/// The generator that the user chose, if it can send the requests of the work, else that of the work.
fn generator(options: &ServerOptions, work: &ServerWork) -> Generator {
    options.load.filter(|load| load.can_send(work.request)).unwrap_or(work.load)
}

fn run_one(bench: &Bench, options: &ServerOptions, work: &ServerWork) -> Result<Report> {
    let generator = generator(options, work);
    let load = PreparedLoad::prepare(bench, generator, work.request)?;
    let names = work.names(&options.common);
    let mut participants = participants::servers(bench, &names, work.mode())?;
    participants.retain(|contender| contender.check_answers(&work.request, work.mode()));
    let Participants { ready, mut skipped } = participants;
    bench.leave_server_core()?;
    let turn = ServerTurn { bench, load: &load, work, options };
    let series =
        rounds::interleave(options.common.rounds(), ready, &mut skipped, |series, contender| {
            turn.take(series, contender)
        });
    Ok(Report::new(subject(options, work, generator), series, skipped))
}

/// How long a turn is measured. Those over HTTP/2 are short, because the works are many.
fn seconds(options: &ServerOptions, work: &ServerWork) -> u32 {
    options.seconds.unwrap_or(if work.request.streams.is_some() { 1 } else { 2 })
}

struct ServerTurn<'a> {
    bench: &'a Bench,
    load: &'a PreparedLoad,
    work: &'a ServerWork,
    options: &'a ServerOptions,
}

impl ServerTurn<'_> {
    fn take(&self, series: &mut Series, contender: &ServerProgram) -> Result<Sample> {
        let Self { bench, load, work, options } = self;
        let connections = options.connections.unwrap_or(work.connections);
        let mut server = contender.start(bench, work.mode(), series)?;
        let idle = usage::anonymous_bytes(server.pid())?;
        load.run(server.address, connections, contender.server.warm_up_s)?;

        let before = Instant::now();
        let cpu_before = usage::cpu_time(server.pid())?;
        let watch = CoreWatch::begin(&bench.cores, server.pid())?;
        let result = load.run(server.address, connections, seconds(options, work))?;
        server.check_alive()?;
        let cpu = usage::cpu_time(server.pid())?.saturating_sub(cpu_before);
        let elapsed = before.elapsed();
        let elsewhere = watch.end()?;

        let percent = |part: Duration| 100.0 * part.as_secs_f64() / elapsed.as_secs_f64();
        let mib = |bytes: u64| bytes as f64 / 1024.0 / 1024.0;
        let mut sample = Sample::from([
            (CPU, cpu.as_secs_f64() * 1e6 / result.requests as f64),
            ("requests_per_s", result.requests as f64 / result.duration.as_secs_f64()),
            ("busy_pct", percent(cpu)),
            ("idle_mib", mib(idle)),
            ("memory_mib", mib(usage::anonymous_bytes(server.pid())?)),
            ("peak_mib", mib(usage::peak_resident_bytes(server.pid())?)),
        ]);
        sample.extend(elsewhere);
        let answered = result.more.get("answered");
        sample.extend(
            answered.map(|answered| ("answered_pct", 100.0 * answered / f64::from(connections))),
        );
        // wrk measures no latencies of pipelined requests.
        let is_measured = |key: &str| !(work.request.is_pipelined && key.ends_with("_us"));
        let counted = ["errors", "reconnects", "p50_us", "p99_us", "p999_us"];
        let counted = counted.into_iter().filter(|key| is_measured(key));
        sample.extend(counted.filter_map(|key| Some((key, *result.more.get(key)?))));
        Ok(sample)
    }
}

fn subject(options: &ServerOptions, work: &ServerWork, generator: Generator) -> Subject {
    let connections = options.connections.unwrap_or(work.connections);
    let (rounds, seconds) = (options.common.rounds(), seconds(options, work));
    let streams = match work.request.streams {
        Some(streams) => format!(" of {streams} requests at once"),
        None => String::new(),
    };
    let what = format!(
        "{}, {connections} connections{streams}, {rounds} rounds of {seconds} s, server on one core, {} on another",
        work.what,
        generator.name()
    );
    Subject {
        work: work.name,
        what,
        metrics: METRICS,
        compared: CPU,
        baselines: work.baselines(),
        figures: work.figures(),
        sorted_by: None,
    }
}
