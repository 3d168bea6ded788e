//! `fairness`: how long a bystander waits beside connections that always have requests outstanding.

mod list;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};

use crate::arguments::FairnessOptions;
use crate::bench::Bench;
use crate::core_watch::{CoreWatch, LOAD_CORE, SERVER_CORE};
use crate::load;
use crate::participants::{self, Participants};
use crate::report::{Report, Subject};
use crate::run_server::ServerProgram;
use crate::series::{Metric, Sample, Series, metric};
use crate::work;
use crate::{rounds, table, usage};

use list::{FairnessWork, P50, P99, WORKS};

pub(crate) use list::names;

const METRICS: &[Metric] = &[
    metric(P50, "p50 ms", 2),
    metric(P99, "p99 ms", 2),
    metric("max_ms", "max ms", 2),
    metric("samples", "samples", 0),
    // The latency without the other connections: only one far above this is caused by the server.
    metric("alone_p50_ms", "alone p50 ms", 2),
    metric("alone_p99_ms", "alone p99 ms", 2),
    // Whether the others did anything at all. The server's share is of the whole turn, including the
    // second in which the bystander is alone.
    metric("greedy_per_s", "greedy/s", 0),
    metric("busy_pct", "server busy %", 0),
    metric("errors", "errors", 0),
    metric("reconnects", "reconnects", 0),
    // A request may also have to wait for other processes on the server's core.
    SERVER_CORE,
    LOAD_CORE,
];

const POLL: Duration = Duration::from_millis(10);

/// Runs the chosen works one after the other.
pub(crate) fn run(bench: &Bench, options: &FairnessOptions) -> Result<Vec<Report>> {
    let works = work::chosen(WORKS, options.work.as_deref(), |work| work.name)?;
    // Missing programs are built before anything is measured.
    for work in &works {
        bench.build_servers(&work::names(&options.common, work.default_contenders()))?;
    }
    let program = bench.own_load("stoop-bench-greedy")?;
    works
        .into_iter()
        .map(|work| run_one(bench, options, &program, work).map(table::print))
        .collect()
}

fn run_one(
    bench: &Bench,
    options: &FairnessOptions,
    program: &Path,
    work: &'static FairnessWork,
) -> Result<Report> {
    let names = work::names(&options.common, work.default_contenders());
    let mut participants = participants::servers(bench, &names, work.mode)?;
    participants.retain(|contender| contender.check_answers(&work.request, work.mode));
    let Participants { ready, mut skipped } = participants;
    bench.leave_server_core()?;
    let turn = FairnessTurn { bench, work, seconds: options.seconds, program: program.to_owned() };
    let rounds = options.common.rounds();
    let series = rounds::interleave(rounds, ready, &mut skipped, |series, contender| {
        turn.take(series, contender)
    });
    Ok(Report::new(subject(options, work), series, skipped))
}

struct FairnessTurn<'a> {
    bench: &'a Bench,
    work: &'static FairnessWork,
    seconds: u32,
    program: PathBuf,
}

impl FairnessTurn<'_> {
    fn take(&self, series: &mut Series, contender: &ServerProgram) -> Result<Sample> {
        let Self { bench, work, seconds, program } = self;
        let mut server = contender.start(bench, work.mode, series)?;
        let words = [
            server.address.to_string(),
            work.kind.to_owned(),
            work.connections.to_string(),
            seconds.to_string(),
        ];
        let (started, cpu_before) = (Instant::now(), usage::cpu_time(server.pid())?);
        let watch = CoreWatch::begin(&bench.cores, server.pid())?;
        let result = load::own::run(bench, program, &words, *seconds, POLL, || ())?;
        server.check_alive()?;
        let cpu = usage::cpu_time(server.pid())?.saturating_sub(cpu_before);
        let elapsed = started.elapsed();
        let elsewhere = watch.end()?;

        let percent = |part: Duration| 100.0 * part.as_secs_f64() / elapsed.as_secs_f64();
        // A server may end such connections, but not keep them without serving them.
        let (greedy, reconnects) = (result.count("greedy")?, result.count("reconnects")?);
        let is_served = greedy + reconnects > 0.0;
        ensure!(is_served, "the greedy side got no responses, and its connections were kept");
        let mut sample = Sample::from([
            (P50, result.count("p50_us")? / 1e3),
            (P99, result.count("p99_us")? / 1e3),
            ("max_ms", result.count("max_us")? / 1e3),
            ("samples", result.requests as f64),
            ("alone_p50_ms", result.count("alone_p50_us")? / 1e3),
            ("alone_p99_ms", result.count("alone_p99_us")? / 1e3),
            ("greedy_per_s", greedy / result.duration.as_secs_f64()),
            ("busy_pct", percent(cpu)),
            ("errors", result.count("errors")?),
            ("reconnects", reconnects),
        ]);
        sample.extend(elsewhere);
        Ok(sample)
    }
}

fn subject(options: &FairnessOptions, work: &'static FairnessWork) -> Subject {
    let what = format!(
        "latency of one GET at a time beside {}, {} rounds of {} s, server on one core, load on \
         another",
        work.what,
        options.common.rounds(),
        options.seconds
    );
    Subject {
        work: work.name,
        what,
        metrics: METRICS,
        compared: P50,
        baselines: &["hyper", "hyper-flush", "stoop"],
        figures: work.figures(),
        sorted_by: None,
    }
}
