//! `slow`: what thousands of clients that are as slow as they can be do to others and to the server's memory, and how
//! the server ends them.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Result;

use crate::arguments::SlowOptions;
use crate::bench::Bench;
use crate::contender::STOOP;
use crate::core_watch::{CoreWatch, LOAD_CORE, SERVER_CORE};
use crate::figure::{Figure, Limit};
use crate::load;
use crate::participants::{self, Participants};
use crate::report::{Report, Subject};
use crate::run_server::{ServerMode, ServerProgram};
use crate::series::{Metric, Sample, Series, metric};
use crate::{rounds, table, usage, work};

const RATIO: &str = "p99_of_alone";
const LEFT: &str = "left";
const LAST: &str = "last_end_s";
const PER_CLIENT: &str = "kib_per_client";
const OTHER: &str = "other";

/// What a client may cost by the table of memory in `crates/stoop/docs/server_limits.md`: `head_bytes_max` of a head that
/// is not complete, `output_bytes_max` of a response that is not read. The content of the responses is one for all.
const KIB_PER_CLIENT_MAX: f64 = 64.0;

const METRICS: &[Metric] = &[
    metric(RATIO, "p99 beside them / alone", 2),
    metric("p99_ms", "p99 ms", 2),
    metric("alone_p99_ms", "alone p99 ms", 2),
    metric("max_ms", "max ms", 2),
    metric("samples", "samples", 0),
    metric("errors", "errors", 0),
    metric("growth_mib", "growth of memory, MiB", 1),
    metric(PER_CLIENT, "KiB/client", 2),
    // How the slow clients have ended, and how long after their first byte.
    metric("timed_out", "ended by 408", 0),
    metric("closed", "closed", 0),
    metric("reset", "reset", 0),
    metric(OTHER, "other answers", 0),
    metric(LEFT, "left at the end", 0),
    metric("first_end_s", "first end, s", 2),
    metric(LAST, "last end, s", 2),
    metric("cpu_s", "CPU s", 2),
    SERVER_CORE,
    LOAD_CORE,
];

/// How often the memory is looked at.
const LOOK_PERIOD: Duration = Duration::from_millis(50);
/// The most time that the load needs before its clients have connected.
const BEFORE_S: u32 = 25;
/// A turn takes half a minute, so there are few.
const ROUNDS: u32 = 3;

/// A way of being slow.
struct SlowWork {
    name: &'static str,
    what: &'static str,
    /// How long they are watched, unless all have ended earlier.
    seconds: u32,
    /// The time within which stoop ends all of them.
    end_max_s: f64,
}

const WORKS: [SlowWork; 2] = [
    SlowWork {
        name: "heads",
        what: "send one byte of a head in a second",
        seconds: 20,
        // `ServerTime::head`, and two seconds: for the clients' turns, and for 9,000 ends at once.
        end_max_s: 12.0,
    },
    SlowWork {
        name: "responses",
        what: "read one byte of a response of 1 MiB in a second",
        seconds: 45,
        // `ServerTime::send` is 30 s and begins once the kernel takes no more. The server looks sixteen times within it,
        // so that a client that is stuck is found within a sixteenth more, 31.9 s, at the latest.
        end_max_s: 35.0,
    },
];

/// Runs the chosen works one after the other.
pub(crate) fn run(bench: &Bench, options: &SlowOptions) -> Result<Vec<Report>> {
    let works = work::chosen(&WORKS, options.work.as_deref(), |work| work.name)?;
    // Missing programs are built before anything is measured.
    bench.build_servers(&contenders(options))?;
    let program = bench.own_load("stoop-bench-slow-clients")?;
    let run = |work| run_one(bench, options, &program, work).map(table::print);
    works.into_iter().map(run).collect()
}

/// The names of all works.
pub(crate) fn names() -> String {
    work::listed(&WORKS, |work| work.name)
}

fn contenders(options: &SlowOptions) -> Vec<String> {
    work::names(&options.common, &["hyper-limits", "nginx"])
}

fn run_one(
    bench: &Bench,
    options: &SlowOptions,
    program: &Path,
    work: &'static SlowWork,
) -> Result<Report> {
    let names = contenders(options);
    let Participants { ready, mut skipped } =
        participants::servers(bench, &names, ServerMode::Plain)?;
    bench.leave_server_core()?;
    let turn = SlowTurn { bench, work, options, program: program.to_owned() };
    let rounds = options.common.with_default_rounds(ROUNDS).rounds();
    let series = rounds::interleave(rounds, ready, &mut skipped, |series, contender| {
        turn.take(series, contender)
    });
    Ok(Report::new(subject(options, work), series, skipped))
}

struct SlowTurn<'a> {
    bench: &'a Bench,
    work: &'static SlowWork,
    options: &'a SlowOptions,
    program: PathBuf,
}

impl SlowTurn<'_> {
    fn take(&self, series: &mut Series, contender: &ServerProgram) -> Result<Sample> {
        let Self { bench, work, options, program } = self;
        let seconds = options.seconds.unwrap_or(work.seconds);
        let mut server = contender.start(bench, ServerMode::Plain, series)?;
        let pid = server.pid();
        let words = [
            server.address.to_string(),
            work.name.to_owned(),
            options.clients.to_string(),
            seconds.to_string(),
        ];
        let before = usage::anonymous_bytes(pid)?;
        let cpu_before = usage::cpu_time(pid)?;
        let watch = CoreWatch::begin(&bench.cores, pid)?;
        let mut most = before;
        let result =
            load::own::run(bench, program, &words, seconds + BEFORE_S, LOOK_PERIOD, || {
                // A server that has ended is an error below.
                most = most.max(usage::anonymous_bytes(pid).unwrap_or(0));
            })?;
        server.check_alive()?;
        let cpu = usage::cpu_time(pid)?.saturating_sub(cpu_before);
        let elsewhere = watch.end()?;

        let growth = (most - before) as f64;
        let mut sample = Sample::from([
            (RATIO, result.count("p99_us")? / result.count("alone_p99_us")?.max(1.0)),
            ("p99_ms", result.count("p99_us")? / 1e3),
            ("alone_p99_ms", result.count("alone_p99_us")? / 1e3),
            ("max_ms", result.count("max_us")? / 1e3),
            ("samples", result.requests as f64),
            ("growth_mib", growth / 1024.0 / 1024.0),
            (PER_CLIENT, growth / 1024.0 / f64::from(options.clients)),
            ("first_end_s", result.count("first_end_us")? / 1e6),
            (LAST, result.count("last_end_us")? / 1e6),
            ("cpu_s", cpu.as_secs_f64()),
        ]);
        for key in ["errors", "timed_out", "closed", "reset", OTHER, LEFT] {
            sample.insert(key, result.count(key)?);
        }
        sample.extend(elsewhere);
        Ok(sample)
    }
}

fn subject(options: &SlowOptions, work: &'static SlowWork) -> Subject {
    let what = format!(
        "latency of one GET at a time beside {} clients that {}, until the server has ended them or {} s are over, {} \
         rounds, server on one core, clients on another",
        options.clients,
        work.what,
        options.seconds.unwrap_or(work.seconds),
        options.common.with_default_rounds(ROUNDS).rounds(),
    );
    let figures = vec![
        Figure::median("p99 beside them / alone", RATIO, STOOP, Limit::AtMost(2.0)),
        Figure::worst("left at the end", LEFT, STOOP, Limit::Exactly(0.0)),
        Figure::worst("last end, s", LAST, STOOP, Limit::AtMost(work.end_max_s)),
        Figure::worst("answers other than 408", OTHER, STOOP, Limit::Exactly(0.0)),
        Figure::worst("KiB/client", PER_CLIENT, STOOP, Limit::AtMost(KIB_PER_CLIENT_MAX)),
    ];
    Subject {
        work: work.name,
        what,
        metrics: METRICS,
        compared: RATIO,
        baselines: &[STOOP],
        figures,
        sorted_by: None,
    }
}
