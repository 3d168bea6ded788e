//! A server of this project's own, which prints one line once it listens.

use std::fs::File;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::bench::Bench;
use crate::cores::Placement;
use crate::process::Process;
use crate::program::Program;

/// How long a server may take until it listens.
const READY_TIMEOUT: Duration = Duration::from_secs(30);
const POLL_PERIOD: Duration = Duration::from_millis(5);

/// A server, which is stopped when this is dropped.
pub(crate) struct OwnServer {
    _process: Process,
    /// What it printed, without the end of the line.
    pub(crate) line: String,
}

impl OwnServer {
    /// Starts `program` with `arguments`, of which the first is its name, on the server's core, and waits for its line.
    pub(crate) fn start(bench: &Bench, program: &Program, arguments: &[&str]) -> Result<Self> {
        let name = arguments.first().copied().unwrap_or_default();
        let output = bench.directory().join(format!("{name}-output"));
        let mut command = Command::new(&program.path);
        command.args(arguments).stdin(Stdio::null()).stderr(Stdio::inherit());
        command.stdout(File::create(&output).context("a file for the server's output")?);
        let mut process = Process::start(command, bench.cores.set(Placement::Server), name)?;
        let started = Instant::now();
        loop {
            let printed = std::fs::read_to_string(&output).unwrap_or_default();
            if let Some(line) = printed.strip_suffix('\n') {
                return Ok(Self { _process: process, line: line.to_owned() });
            }
            process.check_alive()?;
            if started.elapsed() > READY_TIMEOUT {
                bail!("{name} does not listen");
            }
            std::thread::sleep(POLL_PERIOD);
        }
    }
}
