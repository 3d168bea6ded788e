//! Runs `stoop fetch` with options of a work's own.

use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use crate::bench::Bench;
use crate::cores::Placement;
use crate::fetch_lines::FetchLines;
use crate::process::Process;
use crate::program::Program;
use crate::usage;

/// How often the memory's high-water mark is read: growth in the last moment is missed.
const LOOK_PERIOD: Duration = Duration::from_millis(20);

/// A list to fetch, and how.
pub(crate) struct FetchTask<'a> {
    pub(crate) stoop: &'a Program,
    pub(crate) list: &'a Path,
    /// Where the lines are written.
    pub(crate) lines: &'a Path,
    /// Options beside those for input and output.
    pub(crate) options: &'a [&'a str],
    pub(crate) placement: Placement,
    /// A run that takes longer is stopped.
    pub(crate) limit: Duration,
}

/// What came of a run.
pub(crate) struct FetchRun {
    pub(crate) lines: FetchLines,
    /// From its start to its end.
    pub(crate) wall: Duration,
    pub(crate) cpu: Duration,
    pub(crate) peak_bytes: u64,
}

impl FetchTask<'_> {
    /// Runs it to its end, and calls `look` with its id every 20 ms.
    pub(crate) fn run(&self, bench: &Bench, mut look: impl FnMut(i32)) -> Result<FetchRun> {
        let mut command = Command::new(&self.stoop.path);
        command
            .args(["fetch", "--no-env", "--quiet", "--format", "csv", "-i"])
            .arg(self.list)
            .args(self.options)
            .stdin(Stdio::null())
            .stdout(File::create(self.lines).context("a file for the lines")?)
            .stderr(Stdio::inherit());
        let started = Instant::now();
        let process = Process::start(command, bench.cores.set(self.placement), "stoop fetch")?;
        let mut peak_bytes = 0;
        let exit = process.wait(self.limit, LOOK_PERIOD, |pid| {
            // A process that is just ending has no figures: those of the last look count.
            peak_bytes = usage::peak_resident_bytes(pid).unwrap_or(0).max(peak_bytes);
            look(pid);
        })?;
        let wall = started.elapsed();
        ensure!(exit.is_success, "stoop fetch failed; its message is above");
        let lines = FetchLines::read(self.lines)?;
        Ok(FetchRun { lines, wall, cpu: exit.cpu, peak_bytes })
    }
}
