//! `requests`: the CPU time and the total time of a library's client, without the command.

mod list;

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use crate::arguments::RequestsOptions;
use crate::bench::Bench;
use crate::contender::{self, Placeholders};
use crate::core_watch::{CoreWatch, LOAD_CORE, SERVER_CORE};
use crate::cores::Placement;
use crate::participants::{self, Participants};
use crate::process::Process;
use crate::program::Program;
use crate::report::{Report, Subject};
use crate::run_server::RunningServer;
use crate::series::{Metric, Sample, metric};
use crate::work;
use crate::{rounds, table, usage};

use list::{CPU, RequestsWork, WALL, WORKS};

pub(crate) use list::names;

const METRICS: &[Metric] = &[
    metric(CPU, "CPU µs/request", 2),
    metric(WALL, "wall s", 3),
    metric("connections", "most connections", 0),
    metric("peak_mib", "peak memory, MiB", 1),
    metric("requests_per_s", "requests/s", 0),
    SERVER_CORE,
    LOAD_CORE,
];

/// How often it is checked whether the program has ended.
const POLL_PERIOD: Duration = Duration::from_millis(1);
/// Looking at memory and connections takes time on the client's core, so it is done less and less often:
/// the first time early, for short runs, and then each time after half of the time so far.
const FIRST_LOOK: Duration = Duration::from_millis(4);
const LOOK_PERIOD_MAX: Duration = Duration::from_millis(100);

/// A program that takes longer is stopped. With one connection, the requests that wait take 20 s.
const TIME_LIMIT: Duration = Duration::from_secs(60);

/// The program of a contender that sends requests, ready to start.
pub(crate) struct RequestsProgram {
    pub(crate) requests: contender::RequestsSection,
    pub(crate) program: Program,
}

/// Runs the chosen works one after the other.
pub(crate) fn run(bench: &Bench, options: &RequestsOptions) -> Result<Vec<Report>> {
    let works = work::chosen(WORKS, options.work.as_deref(), |work| work.name)?;
    let names = work::names(&options.common, &["reqwest", "go"]);
    // Missing programs are built before anything is measured.
    obtain(bench, &names)?;
    for work in &works {
        bench.build_servers(&[work.server.to_owned()])?;
    }
    works.into_iter().map(|work| run_one(bench, options, &names, work).map(table::print)).collect()
}

fn run_one(
    bench: &Bench,
    options: &RequestsOptions,
    names: &[String],
    work: &'static RequestsWork,
) -> Result<Report> {
    let Participants { ready, mut skipped } = obtain(bench, names)?;
    let (mut server_series, server) = participants::server(bench, work.server, work.mode())?;
    bench.leave_server_core()?;
    let rounds = options.common.rounds();
    let series = rounds::interleave(rounds, ready, &mut skipped, |series, contender| {
        let server = server.start(bench, work.mode(), &mut server_series)?;
        contender.run(bench, work, &series.name, &server)
    });
    Ok(Report::new(subject(work, rounds), series, skipped))
}

/// The contenders `names` as programs that send requests.
fn obtain(bench: &Bench, names: &[String]) -> Result<Participants<RequestsProgram>> {
    let mut participants = Participants::obtain(bench, names, |contender| {
        let missing = "it has no program that sends requests; leave it out of this work";
        let requests = contender.requests.clone().ok_or(missing)?;
        let program = bench.obtain(&requests.program)?;
        let version = program.version.clone();
        Ok((version, RequestsProgram { requests, program }))
    })?;
    for (series, contender) in &mut participants.ready {
        series.about.clone_from(&contender.requests.about);
    }
    Ok(participants)
}

impl RequestsProgram {
    fn run(
        &self,
        bench: &Bench,
        work: &RequestsWork,
        name: &str,
        server: &RunningServer,
    ) -> Result<Sample> {
        let command = self.command(work, server)?;
        let watch = CoreWatch::begin(&bench.cores, server.pid())?;
        let started = Instant::now();
        let process = Process::start(command, bench.cores.set(Placement::Load), name)?;
        let (mut peak_bytes, mut peak_connections, mut next_look) = (0, 0, FIRST_LOOK);
        let exit = process.wait(TIME_LIMIT, POLL_PERIOD, |pid| {
            if started.elapsed() >= next_look {
                // A process that is just ending has no figures: those of the last look count.
                peak_bytes = usage::peak_resident_bytes(pid).unwrap_or(0).max(peak_bytes);
                peak_connections = usage::sockets(pid).max(peak_connections);
                next_look += (started.elapsed() / 2).min(LOOK_PERIOD_MAX);
            }
        })?;
        let wall = started.elapsed().as_secs_f64();
        let elsewhere = watch.end()?;
        ensure!(exit.is_success, "{name} failed; its message is above");
        let most = work.connections;
        let is_allowed = most == 0 || peak_connections <= most as usize;
        ensure!(is_allowed, "it opened {peak_connections} connections where {most} are allowed");
        let count = f64::from(work.count);
        let mut sample = Sample::from([
            (CPU, exit.cpu.as_secs_f64() * 1e6 / count),
            (WALL, wall),
            ("peak_mib", peak_bytes as f64 / 1024.0 / 1024.0),
            ("requests_per_s", count / wall),
        ]);
        sample.extend(elsewhere);
        // There are none if the program ended before the second look.
        if peak_connections > 0 {
            sample.insert("connections", peak_connections as f64);
        }
        Ok(sample)
    }

    fn command(&self, work: &RequestsWork, server: &RunningServer) -> Result<Command> {
        let placeholders = Placeholders::of(&self.program)
            .with("{url}", format_args!("http://{}{}", server.address, work.path))
            .with("{count}", work.count)
            .with("{concurrency}", work.concurrency)
            .with("{body_bytes}", work.body_bytes)
            .with("{connections}", work.connections)
            .with("{http}", work.http)
            .with("{runtime}", work.runtime)
            .with("{failures}", "fatal");
        let mut filled = self.requests.start.iter().map(|word| placeholders.fill(word));
        let program = filled.next().context("`start` is empty; correct the file in contenders/")?;
        let mut command = Command::new(program);
        command.args(filled).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::inherit());
        Ok(command)
    }
}

fn subject(work: &'static RequestsWork, rounds: u32) -> Subject {
    let connections = match work.connections {
        0 => "any number of connections".to_owned(),
        1 => "one connection".to_owned(),
        most => format!("at most {most} connections"),
    };
    let what = format!(
        "{} times {} over {}, {} in flight, {connections}, {}-thread runtime, {rounds} rounds; client on one core, {} on another",
        work.count,
        work.what,
        work.mode().protocol(),
        work.concurrency,
        work.runtime,
        work.server
    );
    Subject {
        work: work.name,
        what,
        metrics: METRICS,
        compared: work.compared,
        baselines: &["reqwest", "stoop"],
        figures: work.figures(),
        sorted_by: None,
    }
}
