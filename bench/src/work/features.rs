//! `features`: the instructions of a request, with each feature of the library built in and not used.
//!
//! The program is in `features/`; valgrind counts. The cost of starting it cancels out between two counts.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use crate::bench::Bench;
use crate::figure::{Figure, Limit};
use crate::instructions;
use crate::process;
use crate::program;
use crate::report::{Report, Subject};
use crate::series::{Metric, Sample, Series, metric};

const INSTRUCTIONS: &str = "instructions";
const MORE: &str = "more_pct";
/// The most that a feature may add, in per cent.
const PERCENT_MAX: f64 = 1.0;
/// Requests in the two runs whose difference counts.
const FEW_REQUESTS: u64 = 200;
const MANY_REQUESTS: u64 = 2_200;
/// The series without any feature, and with all.
const NONE: &str = "none";
const ALL: &str = "all";

const METRICS: &[Metric] = &[
    metric(INSTRUCTIONS, "instructions/request", 0),
    metric(MORE, "more than without features, %", 2),
];

#[derive(Deserialize)]
struct Manifest {
    features: std::collections::BTreeMap<String, Vec<String>>,
}

pub(crate) fn run(bench: &Bench) -> Result<Report> {
    let valgrind = program::tool("valgrind", "valgrind")?;
    let manifest = std::fs::read_to_string(bench.root().join("../crates/stoop/Cargo.toml"));
    let manifest: Manifest = toml::from_str(&manifest.context("the manifest of stoop")?)?;
    let features: Vec<String> =
        manifest.features.into_keys().filter(|feature| feature != "default").collect();
    // Two providers of TLS at once are an error of their own.
    let all: Vec<String> = features.iter().filter(|name| *name != "tls-ring").cloned().collect();
    let mut chosen = vec![(NONE.to_owned(), Vec::new())];
    chosen.extend(features.into_iter().map(|feature| (feature.clone(), vec![feature])));
    chosen.push((ALL.to_owned(), all));

    let (mut series, mut figures, mut without) = (Vec::new(), Vec::new(), f64::NAN);
    for (name, features) in chosen {
        eprintln!("counting {name}");
        let program = build(bench, &features).with_context(|| format!("with {name}"))?;
        let count = |requests: u64| {
            instructions::count(&valgrind, &program, &[&requests.to_string()], bench.directory())
        };
        let difference = count(MANY_REQUESTS)?.saturating_sub(count(FEW_REQUESTS)?);
        let instructions = difference as f64 / (MANY_REQUESTS - FEW_REQUESTS) as f64;
        if name == NONE {
            without = instructions;
        }
        let more = 100.0 * (instructions / without - 1.0);
        if name != NONE && name != ALL {
            let limit = Limit::AtMost(PERCENT_MAX);
            figures.push(Figure::worst("% more than without it", MORE, &name, limit));
        }
        let mut one = Series::new(&name, "", None);
        one.samples.push(Sample::from([(INSTRUCTIONS, instructions), (MORE, more)]));
        series.push(one);
    }
    Ok(Report::new(subject(figures), series, Vec::new()))
}

/// Builds the program with these features of the library, in place of the last one.
fn build(bench: &Bench, features: &[String]) -> Result<PathBuf> {
    let folder = bench.root().join("features");
    let mut listed: Vec<String> = features.iter().map(|name| format!("stoop/{name}")).collect();
    listed.extend(features.iter().filter(|name| *name == "compression").cloned());
    let mut command = Command::new("cargo");
    command
        .args(["build", "--release", "--features", &listed.join(",")])
        .current_dir(&folder)
        .env("CARGO_TARGET_DIR", folder.join("target"));
    let output = process::output(&mut command).context("cargo")?;
    ensure!(output.status.success(), "{}", process::first_error(&output.stderr));
    Ok(folder.join("target/release/stoop-bench-features"))
}

fn subject(figures: Vec<Figure>) -> Subject {
    Subject {
        work: "features",
        what: "instructions of a request to a handler in the process, by valgrind: each feature alone, built in \
               and not used"
            .to_owned(),
        metrics: METRICS,
        compared: INSTRUCTIONS,
        baselines: &[],
        figures,
        sorted_by: None,
    }
}
