//! `decode`: the CPU time of decoding content by a client, compared with the library of the coding alone.
//!
//! Both are in the program of `decode/`, and take turns. What the client takes for the same response without decoding, over
//! memory, is the transfer's, and is subtracted.

use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use crate::arguments::CommonOptions;
use crate::bench::Bench;
use crate::contender::STOOP;
use crate::cores::Placement;
use crate::figure::{Figure, Limit};
use crate::report::{Report, Subject};
use crate::series::{Metric, Sample, Series, metric};
use crate::{process, table};

const DECODING: &str = "decoding_cpu_ms";
const TRANSFER: &str = "transfer_cpu_ms";
const LIBRARY: &str = "library";
/// The codings of `decode/`.
const CODINGS: &[&str] = &["gzip", "br", "zstd"];

const METRICS: &[Metric] =
    &[metric(DECODING, "CPU ms for 16 MiB", 2), metric(TRANSFER, "transfer, CPU ms", 2)];

pub(crate) fn run(bench: &Bench, common: &CommonOptions) -> Result<Vec<Report>> {
    let program = bench.own_program(&bench.root().join("decode"), "stoop-bench-decode")?;
    bench.cores.set(Placement::Load).enter().context("sched_setaffinity")?;
    let rounds = common.rounds();
    let mut command = Command::new(&program.path);
    command.arg(rounds.to_string());
    let output = process::output(&mut command).context("stoop-bench-decode")?;
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "stoop-bench-decode failed: {}", errors.trim());
    let printed = String::from_utf8(output.stdout).context("its lines are not text")?;
    CODINGS.iter().map(|coding| report(coding, rounds, &printed).map(table::print)).collect()
}

/// The rounds of one coding.
fn report(coding: &'static str, rounds: u32, printed: &str) -> Result<Report> {
    let mut stoop = Series::new(STOOP, "a response of this project's client, decoded", None);
    let mut library = Series::new(LIBRARY, "the library of the coding, alone", None);
    let lines = printed.lines().filter_map(|line| line.strip_prefix(coding)?.strip_prefix(' '));
    for line in lines {
        let times = line.split(' ').map(str::parse::<f64>).collect::<Result<Vec<_>, _>>();
        let [all, transfer, alone] = times.context("a time")?[..] else {
            bail!("a line without three times: {line:?}")
        };
        let millis = |nanos: f64| nanos / 1e6;
        let decoding = (DECODING, millis(all - transfer));
        stoop.samples.push(Sample::from([decoding, (TRANSFER, millis(transfer))]));
        library.samples.push(Sample::from([(DECODING, millis(alone))]));
    }
    ensure!(stoop.samples.len() == rounds as usize, "{coding}: not every round was printed");
    Ok(Report::new(subject(coding, rounds), vec![stoop, library], Vec::new()))
}

fn subject(coding: &'static str, rounds: u32) -> Subject {
    Subject {
        work: coding,
        what: format!("16 MiB of text in {coding}, decoded and counted, {rounds} rounds"),
        metrics: METRICS,
        compared: DECODING,
        baselines: &[LIBRARY],
        figures: vec![Figure::ratio(DECODING, STOOP, LIBRARY, Limit::AtMost(1.05))],
        sorted_by: None,
    }
}
