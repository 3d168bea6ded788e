//! `resume`: runs of `stoop fetch` that are killed at random moments, and what other programs' readers find in their output.

use std::collections::BTreeMap;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use crate::arguments::ResumeOptions;
use crate::bench::Bench;
use crate::figure::{Figure, Limit};
use crate::process;
use crate::report::{Report, Subject};
use crate::series::{Metric, Sample, Series, metric};

const METRICS: &[Metric] = &[
    metric("kills", "kills", 0),
    metric("missing", "URLs without a record", 0),
    metric("twice", "records beyond one a URL", 0),
    metric("again", "done and asked for again", 0),
    metric("repeated_per_kill", "requests repeated a kill", 1),
    metric("readers", "readers", 0),
    metric("foreign", "of other projects", 0),
];

const FORMATS: [&str; 5] = ["csv", "jsonl", "warc", "tar", "parquet"];

/// Requests in flight, and as many that came back in the 10 ms before they are in the journal.
const REPEATED_MAX: f64 = 100.0;

/// What the program says of one format.
#[derive(Deserialize)]
struct Found {
    format: String,
    kills: f64,
    readers: Vec<String>,
    foreign: f64,
    missing: f64,
    twice: f64,
    again: f64,
    repeated: f64,
}

/// Runs each format once.
pub(crate) fn run(bench: &Bench, options: &ResumeOptions) -> Result<Report> {
    let stoop = bench.stoop_command()?;
    let mut command = Command::new("python3");
    command
        .arg(bench.root().join("resume/resume.py"))
        .arg(&stoop.path)
        .arg(bench.directory().join("resume"))
        .arg(bench.root().join("../target/tools"))
        .args([options.kills.to_string(), options.urls.to_string()]);
    let ran = process::output(&mut command).context("python3")?;
    let told = String::from_utf8_lossy(&ran.stderr).into_owned();
    eprint!("{told}");
    ensure!(ran.status.success(), "it ended with {}", ran.status);
    let found: Result<Vec<Found>, _> =
        String::from_utf8_lossy(&ran.stdout).lines().map(serde_json::from_str).collect();
    let found: BTreeMap<String, Found> = found
        .context("its output")?
        .into_iter()
        .map(|found| (found.format.clone(), found))
        .collect();
    let series = FORMATS.iter().filter_map(|format| {
        let found = found.get(*format)?;
        let mut series = Series::new(format, "this project", None);
        series.samples.push(Sample::from([
            ("kills", found.kills),
            ("missing", found.missing),
            ("twice", found.twice),
            ("again", found.again),
            ("repeated_per_kill", found.repeated / found.kills.max(1.0)),
            ("readers", found.readers.len() as f64),
            ("foreign", found.foreign),
        ]));
        Some(series)
    });
    let limits = [
        ("kills", Limit::AtLeast(f64::from(options.kills))),
        ("missing", Limit::Exactly(0.0)),
        ("twice", Limit::Exactly(0.0)),
        ("again", Limit::Exactly(0.0)),
        ("repeated_per_kill", Limit::AtMost(REPEATED_MAX)),
        ("foreign", Limit::AtLeast(1.0)),
    ];
    let figures = FORMATS.iter().flat_map(|format| {
        limits.iter().map(move |(metric, limit)| Figure::worst(metric, metric, format, *limit))
    });
    let subject = Subject {
        work: "resume",
        what: format!(
            "{} URLs, 50 at once, of a server that takes up to 20 ms; killed {} times, 5 to 400 ms after each start",
            options.urls, options.kills
        ),
        metrics: METRICS,
        compared: "repeated_per_kill",
        baselines: &[],
        figures: figures.collect(),
        sorted_by: None,
    };
    Ok(Report::new(subject, series.collect(), Vec::new()))
}
