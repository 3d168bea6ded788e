//! `handover`: what becomes of the requests of a busy `stoop serve` whose place a new process takes, again and again.
//!
//! SIGUSR2 has it start its successor, hand the listening sockets over, and drain. A line of the access log stands for each
//! request that was executed, so that one that was executed and not answered is found.

use std::fs::File;
use std::io::{self, BufRead, BufReader, PipeReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, ensure};

use crate::arguments::HandoverOptions;
use crate::bench::Bench;
use crate::contender::STOOP;
use crate::cores::Placement;
use crate::exchange::BODY;
use crate::figure::{Figure, Limit};
use crate::load::ending::{CONNECTIONS, EndingLoad, LoadEnd};
use crate::process::{self, Process};
use crate::program::Program;
use crate::report::{Report, Subject};
use crate::run_server;
use crate::series::{Metric, Sample, Series, metric};
use crate::{table, work};

const LOST: &str = "lost";
const REFUSED: &str = "refused";
const RESET: &str = "reset";
const RESET_AFTER: &str = "reset_after";
const CLOSED: &str = "closed";

/// Each is the sum over the hand-overs.
const METRICS: &[Metric] = &[
    metric(REFUSED, "connections refused", 0),
    metric(RESET, "reset before a response", 0),
    metric(RESET_AFTER, "reset behind a response", 0),
    metric("answered", "answered", 0),
    metric(LOST, "executed, not answered", 0),
    metric("broken", "broken responses", 0),
    metric("promised", "promised, not answered", 0),
    metric("hung", "hung", 0),
    // Not executed, so that a client may send them again.
    metric("declined", "declined", 0),
    metric(CLOSED, "closed before a response", 0),
    metric("executed", "executed", 0),
    // If there are any, the log has lost lines, and `lost` may be too few.
    metric("unlogged", "answered, not in the log", 0),
    metric("sent", "sent", 0),
    metric("connections", "connections", 0),
    metric("mean_s", "mean hand-over, s", 3),
    metric("longest_s", "longest hand-over, s", 3),
];

/// How long a process is busy before the next takes its place: this, and up to 200 ms more.
const BUSY_TIME: Duration = Duration::from_millis(100);
/// How long a new process may take to serve, and the old one to end.
const HAND_OVER_TIMEOUT: Duration = Duration::from_secs(20);
const POLL_PERIOD: Duration = Duration::from_millis(1);

/// What `stoop serve` prints once its successor serves.
const TOOK_OVER: &str = " took over";

/// The works, by the words of the load.
const WORKS: [(&str, &str); 3] = [
    ("fresh", "HTTP/1.1, each on a new connection"),
    ("http1", "HTTP/1.1, one at a time on each connection"),
    ("http2", "HTTP/2, ten at a time on each connection"),
];

/// Runs the chosen works one after the other.
pub(crate) fn run(bench: &Bench, options: &HandoverOptions) -> Result<Vec<Report>> {
    let works = work::chosen(&WORKS, options.work.as_deref(), |work| work.0)?;
    let (stoop, load) = (bench.stoop_command()?, EndingLoad::program(bench)?);
    bench.leave_server_core()?;
    let content = bench.directory().join("handover");
    std::fs::create_dir(&content)
        .and_then(|()| std::fs::write(content.join("index.html"), BODY))
        .context("the directory to serve")?;
    let errors = bench.directory().join("handover-errors");
    let hand_overs = HandOvers { bench, options, stoop, load, content, errors };
    let report = |(name, what): &(&'static str, &str)| hand_overs.report(name, what);
    works.into_iter().map(|work| report(work).map(table::print)).collect()
}

/// The names of all works.
pub(crate) fn names() -> String {
    work::listed(&WORKS, |work| work.0)
}

struct HandOvers<'a> {
    bench: &'a Bench,
    options: &'a HandoverOptions,
    stoop: Program,
    load: PathBuf,
    /// The directory that is served.
    content: PathBuf,
    /// The standard error of all processes of a work.
    errors: PathBuf,
}

impl HandOvers<'_> {
    fn report(&self, work: &'static str, what: &str) -> Result<Report> {
        let about = "this project: `stoop serve` on one worker, with an access log; SIGUSR2";
        let mut series = Series::new(STOOP, about, self.stoop.version.clone());
        let sample = self.run(work).with_context(|| {
            format!("{work}; the servers printed: {:?}", run_server::tail(&self.errors))
        })?;
        series.samples.push(sample);
        Ok(Report::new(self.subject(work, what), vec![series], Vec::new()))
    }

    /// Starts a server and a load on it, has the server replaced, and counts.
    fn run(&self, work: &str) -> Result<Sample> {
        let address = run_server::free_address()?;
        let (mut server, log) = self.start_server(address)?;
        let load = EndingLoad::start(self.bench, &self.load, address, work, LoadEnd::Stopped)?;
        let mut took = Vec::new();
        for number in 0..self.options.hand_overs {
            if number % 10 == 0 {
                eprintln!("{work}: hand-over {} of {}", number + 1, self.options.hand_overs);
            }
            std::thread::sleep(BUSY_TIME + Duration::from_millis(u64::from(number * 37 % 200)));
            server.check_alive()?;
            let began = Instant::now();
            server =
                self.hand_over(server, number).with_context(|| format!("hand-over {number}"))?;
            took.push(began.elapsed().as_secs_f64());
        }
        std::thread::sleep(BUSY_TIME);
        load.stop();
        let mut sample = load.counts()?;
        server.signal(libc::SIGTERM);
        let exit = server.wait(HAND_OVER_TIMEOUT, POLL_PERIOD, |_| {})?;
        ensure!(exit.is_success, "the last server failed");
        let executed = log.join().map_err(|_| anyhow!("the reader of the log panicked"))??;
        let (executed, answered) = (executed as f64, sample["answered"]);
        sample.extend([
            ("executed", executed),
            (LOST, (executed - answered).max(0.0)),
            ("unlogged", (answered - executed).max(0.0)),
            ("mean_s", took.iter().sum::<f64>() / took.len() as f64),
            ("longest_s", took.iter().copied().fold(0.0, f64::max)),
        ]);
        Ok(sample)
    }

    /// Starts the first server, and counts the lines of the log of all of them.
    fn start_server(&self, address: SocketAddr) -> Result<(Process, JoinHandle<io::Result<u64>>)> {
        let (reader, writer) = io::pipe().context("a pipe for the log")?;
        let errors = File::create(&self.errors).context("a file for standard error")?;
        let mut command = Command::new(&self.stoop.path);
        command
            .args(["serve", "--workers", "1", "--access-log", "common", "--listen"])
            .arg(address.to_string())
            .arg(&self.content)
            .stdin(Stdio::null())
            .stdout(writer)
            .stderr(errors);
        let cores = self.bench.cores.set(Placement::Server);
        let mut server = Process::start(command, cores, "stoop serve")?;
        let log = std::thread::spawn(move || count_logged(reader));
        run_server::wait_until_listening(&mut server, address)?;
        Ok((server, log))
    }

    /// Has `old` replaced, and waits for its end. Returns the process that serves now. If it fails, neither is left.
    fn hand_over(&self, old: Process, number: u32) -> Result<Process> {
        let replaced = self.replace(old, number);
        if replaced.is_err() {
            // A new process that is not known yet. That of a process that was stopped was stopped with it.
            process::stop_adopted();
        }
        replaced
    }

    fn replace(&self, old: Process, number: u32) -> Result<Process> {
        old.signal(libc::SIGUSR2);
        let began = Instant::now();
        let new = loop {
            if let Some(pid) = successor(&self.errors, number as usize)? {
                break Process::of_child(&old, pid, "the new stoop serve")?;
            }
            ensure!(began.elapsed() < HAND_OVER_TIMEOUT, "no new process serves");
            std::thread::sleep(POLL_PERIOD);
        };
        let exit = old.wait(HAND_OVER_TIMEOUT, POLL_PERIOD, |_| {})?;
        ensure!(exit.is_success, "the old server failed");
        Ok(new)
    }

    fn subject(&self, work: &'static str, what: &str) -> Subject {
        let what = format!(
            "requests of {CONNECTIONS} connections at {} hand-overs, over {what}; servers on one core, load on another",
            self.options.hand_overs
        );
        let none = |what, metric| Figure::worst(what, metric, STOOP, Limit::Exactly(0.0));
        let mut figures = vec![
            none("connections refused", REFUSED),
            none("reset before a response", RESET),
            none("executed, not answered", LOST),
            none("broken responses", "broken"),
            none("promised, not answered", "promised"),
            none("hung", "hung"),
        ];
        if work == "fresh" {
            // A new connection was never idle, so that nothing excuses that it is closed.
            figures.push(none("reset behind a response", RESET_AFTER));
            figures.push(none("closed before a response", CLOSED));
        }
        Subject {
            work,
            what,
            metrics: METRICS,
            compared: REFUSED,
            baselines: &[],
            figures,
            sorted_by: None,
        }
    }
}

/// The process that took over at the hand-over of that number, if one has.
fn successor(errors: &Path, number: usize) -> Result<Option<i32>> {
    let printed = std::fs::read_to_string(errors).context("the standard error of the servers")?;
    // A line is whole once its end is there.
    let lines = printed.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n'));
    let line = lines.filter_map(|line| line.strip_suffix(TOOK_OVER)).nth(number);
    let pid = line.and_then(|line| line.rsplit(' ').next());
    pid.map(|pid| pid.parse().context("the id of the new process")).transpose()
}

/// How many lines of the access log, which begin with the client's address, come until all writers have ended. What a
/// server prints when it starts is between them.
fn count_logged(reader: PipeReader) -> io::Result<u64> {
    let lines = BufReader::new(reader).split(b'\n');
    lines.map(|line| Ok(u64::from(line?.starts_with(b"127.")))).sum()
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn the_successors_are_found_in_their_order() {
        let errors = tempfile::NamedTempFile::new().unwrap();
        let printed = "stoop: process 12 took over\nstoop: other\nstoop: process 345 took over\nstoop: process 6";
        std::fs::write(errors.path(), printed).unwrap();
        let found = [0, 1, 2].map(|number| successor(errors.path(), number).unwrap());
        assert_eq!(found, [Some(12), Some(345), None]);
    }

    #[test]
    fn lines_of_the_log_are_counted_until_the_last_writer_has_ended() {
        let (reader, mut writer) = io::pipe().unwrap();
        let mut other = writer.try_clone().unwrap();
        let counted = std::thread::spawn(move || count_logged(reader));
        writer.write_all(b"serving a at\n  http://b\n127.0.0.1 - a\n127.0.0.1 - b\n").unwrap();
        drop(writer);
        other.write_all(b"127.0.0.1 - c\n").unwrap();
        drop(other);
        assert_eq!(counted.join().unwrap().unwrap(), 3);
    }
}
