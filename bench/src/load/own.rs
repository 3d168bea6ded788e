//! Our own loads, in `floor/`: `stoop-bench-load`, and those whose purpose is not the number of answers.

use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};

use super::{DEPTH, Load, Seen, run_to_end, summary};
use crate::cores::Placement;
use crate::work::Bench;

/// What opening connections and ending them may take beside the measurement.
const PATIENCE: Duration = Duration::from_secs(30);

pub(super) fn arguments(
    load: &Load,
    address: SocketAddr,
    connections: u32,
    seconds: u32,
) -> Vec<String> {
    let mut words = vec![address.to_string(), connections.to_string(), seconds.to_string()];
    if load.asked.pipelined {
        words.extend([DEPTH.to_string(), load.file.display().to_string()]);
    }
    words
}

/// Runs another load than that to its end, which is to come after `seconds`, and calls `look` every
/// `period`.
pub(crate) fn run(
    bench: &Bench,
    program: &Path,
    words: &[String],
    seconds: u32,
    period: Duration,
    look: impl FnMut(),
) -> Result<Seen> {
    let mut command = Command::new(program);
    command.args(words);
    let limit = Duration::from_secs(seconds.into()) + PATIENCE;
    let (success, text) =
        run_to_end(command, bench.cores.set(Placement::Load), limit, period, look)?;
    summary(&text)
        .filter(|seen| success && seen.requests > 0)
        .context("the load had no answers; what it says is above")
}
