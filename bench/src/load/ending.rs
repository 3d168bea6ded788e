//! `stoop-bench-drain-load`, a load on a server that ends: it says what has become of each request.

use std::fs::File;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use super::result::LoadResult;
use crate::bench::Bench;
use crate::cores::Placement;
use crate::process::Process;
use crate::series::Sample;

/// How many connections it keeps busy.
pub(crate) const CONNECTIONS: u32 = 32;

/// What it counts besides the requests that are answered.
const COUNTS: [&str; 10] = [
    "broken",
    "promised",
    "hung",
    "declined",
    "closed",
    "reset",
    "reset_after",
    "refused",
    "sent",
    "connections",
];

/// How long it may take to end.
const END_TIMEOUT: Duration = Duration::from_secs(20);
const POLL_PERIOD: Duration = Duration::from_millis(1);

/// When it ends.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum LoadEnd {
    /// When a connection is refused.
    Refused,
    /// When it is stopped; connections that are refused are counted.
    Stopped,
}

/// A load that runs.
pub(crate) struct EndingLoad {
    process: Process,
    output: PathBuf,
}

impl EndingLoad {
    /// Its program, built where it is missing.
    pub(crate) fn program(bench: &Bench) -> Result<PathBuf> {
        bench.own_load("stoop-bench-drain-load")
    }

    /// Starts `program`, with that version of HTTP.
    pub(crate) fn start(
        bench: &Bench,
        program: &Path,
        address: SocketAddr,
        version: &str,
        end: LoadEnd,
    ) -> Result<Self> {
        let output = bench.directory().join("ending-load");
        let mut command = Command::new(program);
        command.args([&address.to_string(), version, &CONNECTIONS.to_string()]);
        command.args((end == LoadEnd::Stopped).then_some("until-sigterm"));
        let file = File::create(&output).context("a file for the load's output")?;
        command.stdin(Stdio::null()).stdout(file).stderr(Stdio::inherit());
        let process = Process::start(command, bench.cores.set(Placement::Load), "the load")?;
        Ok(Self { process, output })
    }

    /// Has it end after the requests that are on their way.
    pub(crate) fn stop(&self) {
        self.process.signal(libc::SIGTERM);
    }

    /// Its counts, once it has ended; an error if no request was answered.
    pub(crate) fn counts(self) -> Result<Sample> {
        let exit = self.process.wait(END_TIMEOUT, POLL_PERIOD, |_| {})?;
        ensure!(exit.is_success, "the load failed");
        let printed = std::fs::read_to_string(&self.output).context("the load's output")?;
        let result = LoadResult::from_summary(&printed).context("the load's counts")?;
        ensure!(result.requests > 0, "no request was answered");
        let mut sample = Sample::from([("answered", result.requests as f64)]);
        for key in COUNTS {
            sample.insert(key, result.count(key)?);
        }
        Ok(sample)
    }
}
