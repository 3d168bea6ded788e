//! The loads of this project, in `floor/`: `stoop-bench-load`, and others that measure something else than
//! the number of responses.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};

use super::request::{DEPTH, LoadRun};
use super::result::LoadResult;
use crate::bench::Bench;
use crate::cores::Placement;
use crate::process;

/// How long a load may take to open and close its connections, besides the measurement.
const OVERHEAD_TIMEOUT: Duration = Duration::from_secs(30);

/// The arguments of `stoop-bench-load`.
pub(super) fn arguments(run: &LoadRun<'_>) -> Vec<String> {
    let mut words =
        vec![run.address.to_string(), run.connections.to_string(), run.seconds.to_string()];
    if run.request.is_pipelined {
        words.extend([DEPTH.to_string(), run.file.display().to_string()]);
    }
    words
}

/// The arguments of `stoop-bench-websocket`.
pub(super) fn websocket_arguments(run: &LoadRun<'_>) -> Vec<String> {
    let bytes = run.request.message.unwrap_or(0);
    let numbers = [run.connections.to_string(), run.seconds.to_string(), bytes.to_string()];
    std::iter::once(run.address.to_string()).chain(numbers).collect()
}

/// Runs one of the other loads to its end, for `seconds`, and calls `look` every `period`.
pub(crate) fn run(
    bench: &Bench,
    program: &Path,
    words: &[String],
    seconds: u32,
    period: Duration,
    look: impl FnMut(),
) -> Result<LoadResult> {
    let mut command = Command::new(program);
    command.args(words);
    let limit = Duration::from_secs(seconds.into()) + OVERHEAD_TIMEOUT;
    let (is_success, text) =
        process::run_to_end(command, bench.cores.set(Placement::Load), limit, period, look)?;
    LoadResult::from_summary(&text)
        .filter(|result| is_success && result.requests > 0)
        .context("the load got no responses; its message is above")
}
