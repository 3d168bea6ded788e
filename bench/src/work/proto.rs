//! `proto`: the cost of the protocol machines, in instructions.
//!
//! The cases are in `proto/`; valgrind counts. The cost of starting the program cancels out between two
//! counts, so that the result for one repetition of a case is exact, also on a busy machine.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use crate::bench::Bench;
use crate::figure::{Figure, Limit};
use crate::instructions;
use crate::program::{self, Program};
use crate::report::{Report, Subject};
use crate::series::{Metric, Sample, Series, metric};

const INSTRUCTIONS: &str = "instructions";
const SINCE_BASELINE: &str = "since_baseline_pct";

/// The most that a case may need more than the baseline.
const PERCENT_MAX: f64 = 1.0;

const METRICS: &[Metric] = &[
    metric(INSTRUCTIONS, "instructions", 0),
    metric("bytes", "bytes", 0),
    metric("per_byte", "instructions/byte", 2),
    metric("released", "in the changelog", 0),
    metric("change_pct", "change %", 1),
    metric("baseline", "at the baseline", 0),
    metric(SINCE_BASELINE, "since the baseline %", 2),
];

/// How often a case is repeated in the two runs whose difference counts.
const FEW_REPETITIONS: u64 = 100;
const MANY_REPETITIONS: u64 = 1_100;

pub(crate) fn run(bench: &Bench) -> Result<Report> {
    let valgrind = program::tool("valgrind", "valgrind")?;
    let program = proto_program(bench, bench.root())?;
    let baseline = bench.baseline().map(|tree| proto_program(bench, tree.bench())).transpose()?;
    let known = baseline.as_ref().map(cases).transpose()?.unwrap_or_default();
    let changelog = bench.root().join("../CHANGELOG.md");
    let released = released(&std::fs::read_to_string(changelog).unwrap_or_default());
    let (mut series, mut figures) = (Vec::new(), Vec::new());
    for (name, bytes) in cases(&program)? {
        eprintln!("counting {name}");
        let count = |program: &Program| -> Result<f64> {
            let count = |times: u64| {
                let arguments = [name.as_str(), &times.to_string()];
                instructions::count(&valgrind, &program.path, &arguments, bench.directory())
            };
            Ok((count(MANY_REPETITIONS)? - count(FEW_REPETITIONS)?) as f64
                / (MANY_REPETITIONS - FEW_REPETITIONS) as f64)
        };
        let instructions = count(&program)?;
        let mut sample = Sample::from([
            (INSTRUCTIONS, instructions),
            ("bytes", bytes),
            ("per_byte", instructions / bytes),
        ]);
        if let Some(&released) = released.get(&name) {
            sample.insert("released", released);
            sample.insert("change_pct", 100.0 * (instructions / released - 1.0));
        }
        if let Some(baseline) = &baseline
            && known.iter().any(|(known, _)| *known == name)
        {
            let before = count(baseline)?;
            sample.insert("baseline", before);
            sample.insert(SINCE_BASELINE, 100.0 * (instructions / before - 1.0));
            let limit = Limit::AtMost(PERCENT_MAX);
            figures.push(Figure::worst("% more than the baseline", SINCE_BASELINE, &name, limit));
        }
        let mut one = Series::new(&name, "", None);
        one.samples.push(sample);
        series.push(one);
    }
    Ok(Report::new(subject(figures), series, Vec::new()))
}

/// The names of the cases, and how many bytes one repetition of each reads or writes.
fn cases(program: &Program) -> Result<Vec<(String, f64)>> {
    let output = Command::new(&program.path).output().context("stoop-bench-proto")?;
    let text = String::from_utf8(output.stdout).context("the list of cases is not text")?;
    let case = |line: &str| {
        let (name, bytes) = line.split_once(' ')?;
        Some((name.to_owned(), bytes.parse().ok()?))
    };
    let cases: Option<Vec<_>> = text.lines().map(case).collect();
    cases.filter(|cases| !cases.is_empty()).context("stoop-bench-proto lists no cases")
}

/// The newest counts in the changelog: rows `| name | N |` below the heading of a release, or of the
/// unreleased changes.
fn released(changelog: &str) -> BTreeMap<String, f64> {
    let row = |line: &str| {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        match cells.as_slice() {
            ["", name, number, ""] => {
                Some(((*name).to_owned(), number.replace(',', "").parse().ok()?))
            }
            _ => None,
        }
    };
    let tables = changelog.split("\n## ").skip(1).find_map(|release| {
        let table: BTreeMap<String, f64> = release.lines().filter_map(row).collect();
        (!table.is_empty()).then_some(table)
    });
    tables.unwrap_or_default()
}

fn subject(figures: Vec<Figure>) -> Subject {
    Subject {
        work: "proto",
        what: "instructions of one repetition of each case of bench/proto, by valgrind".to_owned(),
        metrics: METRICS,
        compared: INSTRUCTIONS,
        baselines: &[],
        figures,
        sorted_by: None,
    }
}

/// The program with the cases, of the tree whose folder `bench/` is `folder`.
fn proto_program(bench: &Bench, folder: &Path) -> Result<Program> {
    bench.own_program(&folder.join("proto"), "stoop-bench-proto")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_counts_of_the_changelog_are_taken() {
        let changelog = "# Changelog\n\n## Unreleased\n\nNothing yet.\n\n## 0.2.0\n\nNone.\n\n\
                         ## 0.1.0\n\n| case | instructions |\n|---|---|\n| a | 1,234 |\n| b | 5 |\n\
                         \n## 0.0.1\n\n| a | 7 |\n";
        let released = released(changelog);
        assert_eq!((released["a"], released["b"], released.len()), (1234.0, 5.0, 2));
    }
}
