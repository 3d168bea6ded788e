//! `server` and `pipelined`: how much CPU time a server spends on a request.

use std::time::{Duration, Instant};

use anyhow::Result;

use crate::arguments::ServerOptions;
use crate::figure::{Figure, Limit};
use crate::load::{Generator, Load};
use crate::report::{Metric, Report, Sample, Series, Subject, metric};
use crate::rounds;
use crate::run_server::{Mode, Startable};
use crate::usage;
use crate::work::{self, Bench, Field};

const CPU: &str = "cpu_us_per_request";

const METRICS: &[Metric] = &[
    metric(CPU, "CPU µs/request", 3),
    metric("requests_per_s", "requests/s", 0),
    // Below about 95 the load was too slow for the server, and what it spends on falling asleep
    // and waking up is part of its CPU time.
    metric("busy_pct", "server busy %", 0),
    metric("errors", "errors", 0),
    // Other processes take turns on the server's core and its caches. A figure from a round in
    // which this is high deserves no trust.
    metric("core_elsewhere_pct", "core busy elsewhere %", 1),
    metric("reconnects", "reconnects", 0),
    metric("p50_us", "p50 µs", 0),
    metric("p99_us", "p99 µs", 0),
];

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Kind {
    Plain,
    Pipelined,
}

pub(crate) fn run(bench: &Bench, options: &ServerOptions, kind: Kind) -> Result<Report> {
    let mode = if kind == Kind::Pipelined { Mode::Pipelined } else { Mode::Plain };
    let load = Load::prepare(bench, options.load, kind == Kind::Pipelined)?;
    let names = work::names(&options.common, &["floor", "hyper", "nginx"]);
    let Field { ready, mut skipped } = bench.servers(&names, mode)?;
    bench.step_aside()?;
    let series =
        rounds::interleave(options.common.rounds, ready, &mut skipped, |series, startable| {
            turn(bench, &load, options, mode, series, startable)
        });
    Ok(Report::new(subject(options, kind), series, skipped))
}

fn turn(
    bench: &Bench,
    load: &Load,
    options: &ServerOptions,
    mode: Mode,
    series: &mut Series,
    startable: &Startable,
) -> Result<Sample> {
    let server = startable.start(bench, mode, series)?;
    load.run(server.address, options.connections, startable.server.warm_up_s)?;

    let before = Instant::now();
    let cpu_before = usage::cpu_time(server.pid())?;
    let busy_before = usage::core_busy(bench.cores.server())?;
    let seen = load.run(server.address, options.connections, options.seconds)?;
    let cpu = usage::cpu_time(server.pid())?.saturating_sub(cpu_before);
    let busy = usage::core_busy(bench.cores.server())?.saturating_sub(busy_before);
    let elapsed = before.elapsed();

    let percent = |part: Duration| 100.0 * part.as_secs_f64() / elapsed.as_secs_f64();
    let mut sample = Sample::from([
        (CPU, cpu.as_secs_f64() * 1e6 / seen.requests as f64),
        ("requests_per_s", seen.requests as f64 / seen.duration.as_secs_f64()),
        ("busy_pct", percent(cpu)),
        ("core_elsewhere_pct", percent(busy.saturating_sub(cpu))),
    ]);
    let counted = ["errors", "reconnects", "p50_us", "p99_us"];
    let counted = counted.into_iter().filter_map(|key| Some((key, *seen.more.get(key)? as f64)));
    // wrk's clock does not understand bursts.
    sample.extend(counted.filter(|(key, _)| mode == Mode::Plain || !key.ends_with("_us")));
    Ok(sample)
}

fn subject(options: &ServerOptions, kind: Kind) -> Subject {
    let ServerOptions { connections, seconds, common, load } = options;
    let rounds = common.rounds;
    let load = match load {
        Generator::Wrk => "wrk",
        Generator::Own => "our own load",
    };
    let how = format!(
        "{connections} connections, {rounds} rounds of {seconds} s, server on one core, {load} on another"
    );
    // What makes the floor a floor. In pipelined bursts it counts heads, which is work of its own,
    // and nobody else is measured against it there.
    let floor = Figure::ratio(CPU, "floor", "nginx", Limit::AtMost(0.85));
    let (work, what, figures) = match kind {
        Kind::Plain => (
            "server",
            format!("keep-alive GET of 13 bytes, {how}"),
            vec![
                Figure::ratio(CPU, "stoop", "floor", Limit::AtMost(1.12)),
                Figure::ratio(CPU, "stoop", "hyper", Limit::Below(1.0)),
                floor.called("floor / nginx, a check of the floor itself"),
            ],
        ),
        Kind::Pipelined => (
            "pipelined",
            format!("GET of 13 bytes, 16 deep, five fields each, {how}"),
            vec![Figure::ratio(CPU, "stoop", "hyper", Limit::AtMost(0.6))],
        ),
    };
    Subject {
        work,
        what,
        metrics: METRICS,
        compared: CPU,
        baselines: &["floor", "hyper", "stoop"],
        figures,
    }
}
