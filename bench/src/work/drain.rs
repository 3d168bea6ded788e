//! `drain`: what becomes of the requests of a busy server that drains.
//!
//! The server in `peers/drain` counts the requests that it executes, and the load in `floor/` those that are answered,
//! so that a request that was executed and not answered is found, whatever its connection's end looked like.

use std::fs::File;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use crate::arguments::DrainOptions;
use crate::bench::Bench;
use crate::contender::STOOP;
use crate::cores::Placement;
use crate::figure::{Figure, Limit};
use crate::load::ending::{CONNECTIONS, EndingLoad, LoadEnd};
use crate::process::Process;
use crate::program::Program;
use crate::program_source::{Built, ProgramSource};
use crate::report::{Report, Subject};
use crate::run_server;
use crate::series::{Metric, Sample, Series, metric};
use crate::{table, work};

const LOST: &str = "lost";
const LONGEST: &str = "longest_s";

/// Each is the sum over the drains.
const METRICS: &[Metric] = &[
    metric("answered", "answered", 0),
    metric(LOST, "executed, not answered", 0),
    metric("broken", "broken responses", 0),
    metric("promised", "promised, not answered", 0),
    metric("hung", "hung", 0),
    metric("aborted", "connections cut off", 0),
    // Not executed, so that a client may send them again.
    metric("declined", "declined", 0),
    metric("closed", "closed before a response", 0),
    metric("reset", "reset before a response", 0),
    metric("executed", "executed", 0),
    metric("sent", "sent", 0),
    metric("connections", "connections", 0),
    metric(LONGEST, "longest drain, s", 3),
];

/// How long the server is busy before it drains: this, and up to 200 ms more.
const BUSY_TIME: Duration = Duration::from_millis(100);
/// How long a drain may take.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(20);
const POLL_PERIOD: Duration = Duration::from_millis(1);

/// The works, by the names of the versions.
const WORKS: [(&str, &str); 2] = [
    ("http1", "HTTP/1.1, one request at a time on each connection"),
    ("http2", "HTTP/2, ten requests at a time on each connection"),
];

/// Runs the chosen works one after the other.
pub(crate) fn run(bench: &Bench, options: &DrainOptions) -> Result<Vec<Report>> {
    let works = work::chosen(&WORKS, options.work.as_deref(), |work| work.0)?;
    let built = Built {
        command: ["cargo", "build", "--release", "-p", "stoop-bench-drain"]
            .map(str::to_owned)
            .to_vec(),
        program: PathBuf::from("target/release/stoop-bench-drain"),
        package: Some(STOOP.to_owned()),
        ..Built::default()
    };
    let server = bench.obtain(&ProgramSource::Built(built)).map_err(anyhow::Error::msg)?;
    let load = EndingLoad::program(bench)?;
    bench.leave_server_core()?;
    let drains = Drains { bench, options, server, load };
    let report = |(version, what): &(&'static str, &str)| drains.report(version, what);
    works.into_iter().map(|work| report(work).map(table::print)).collect()
}

/// The names of all works.
pub(crate) fn names() -> String {
    work::listed(&WORKS, |work| work.0)
}

struct Drains<'a> {
    bench: &'a Bench,
    options: &'a DrainOptions,
    server: Program,
    load: PathBuf,
}

impl Drains<'_> {
    fn report(&self, version: &'static str, what: &str) -> Result<Report> {
        let about = "this project: `ServerHandle::drain` on SIGTERM, default limits, one worker";
        let mut series = Series::new(STOOP, about, self.server.version.clone());
        let mut sum = Sample::new();
        for number in 0..self.options.drains {
            if number % 10 == 0 {
                eprintln!("{version}: drain {} of {}", number + 1, self.options.drains);
            }
            let one = self.drain(version, number).with_context(|| format!("drain {number}"))?;
            for (key, value) in one {
                let total = sum.entry(key).or_default();
                *total = if key == LONGEST { value.max(*total) } else { *total + value };
            }
        }
        series.samples.push(sum);
        Ok(Report::new(self.subject(version, what), vec![series], Vec::new()))
    }

    /// Starts the server and the load, drains it, and counts.
    fn drain(&self, version: &str, number: u32) -> Result<Sample> {
        let server_output = self.bench.directory().join("drain-server");
        let address = run_server::free_address()?;
        let mut server = self.start_server(address, &server_output)?;
        let load = EndingLoad::start(self.bench, &self.load, address, version, LoadEnd::Refused)?;

        std::thread::sleep(BUSY_TIME + Duration::from_millis(u64::from(number * 37 % 200)));
        server.check_alive()?;
        let began = Instant::now();
        server.signal(libc::SIGTERM);
        let exit = server.wait(DRAIN_TIMEOUT, POLL_PERIOD, |_| {})?;
        let longest = began.elapsed().as_secs_f64();
        ensure!(exit.is_success, "the server failed");
        let mut sample = load.counts()?;
        let printed = std::fs::read_to_string(&server_output).context("the server's output")?;
        let value = |name| number_after(&printed, name).context("the server's counts");
        let (executed, aborted) = (value("executed=")?, value("aborted=")?);
        let answered = sample["answered"];
        sample.extend([
            ("executed", executed),
            ("aborted", aborted),
            (LOST, (executed - answered).max(0.0)),
            (LONGEST, longest),
        ]);
        Ok(sample)
    }

    fn start_server(&self, address: SocketAddr, output: &Path) -> Result<Process> {
        let mut command = Command::new(&self.server.path);
        command.args(["--listen", &address.to_string()]);
        let output = File::create(output).context("a file for its output")?;
        command.stdin(Stdio::null()).stdout(output).stderr(Stdio::inherit());
        let cores = self.bench.cores.set(Placement::Server);
        let mut server = Process::start(command, cores, "the server that drains")?;
        run_server::wait_until_listening(&mut server, address)?;
        Ok(server)
    }

    fn subject(&self, work: &'static str, what: &str) -> Subject {
        let what = format!(
            "requests of {CONNECTIONS} connections at {} drains, over {what}; server on one core, load on another",
            self.options.drains
        );
        let none = |what, metric| Figure::worst(what, metric, STOOP, Limit::Exactly(0.0));
        let figures = vec![
            none("executed, not answered", LOST),
            none("broken responses", "broken"),
            none("promised, not answered", "promised"),
            none("hung", "hung"),
            none("connections cut off", "aborted"),
        ];
        Subject {
            work,
            what,
            metrics: METRICS,
            compared: LOST,
            baselines: &[],
            figures,
            sorted_by: None,
        }
    }
}

/// The number after `name`.
fn number_after(printed: &str, name: &str) -> Option<f64> {
    let word = printed.split_ascii_whitespace().find_map(|word| word.strip_prefix(name))?;
    word.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_counts_of_the_server_are_found() {
        assert_eq!(number_after("executed=12 aborted=0\n", "aborted="), Some(0.0));
        assert_eq!(number_after("executed=12", "aborted="), None);
    }
}
