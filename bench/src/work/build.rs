//! `build`: how many crates a program needs that depends on a client library, and how long they take to compile.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use crate::arguments::CommonOptions;
use crate::bench::Bench;
use crate::contender::STOOP;
use crate::figure::{Figure, Limit};
use crate::process;
use crate::report::{Report, Subject};
use crate::rounds;
use crate::series::{Metric, Sample, Series, metric};

const CRATES: &str = "crates";
const SECONDS: &str = "seconds";
const REQWEST: &str = "reqwest";
const STOOP_LESS: &str = "stoop-without-dns";
const REQWEST_LESS: &str = "reqwest-without-dns";

const METRICS: &[Metric] = &[
    metric(CRATES, "crates", 0),
    metric(SECONDS, "seconds of a debug build", 1),
    metric("release_seconds", "seconds of a release build", 1),
];

/// A line of `cargo build --message-format=json`.
#[derive(Deserialize)]
struct Message {
    reason: String,
    package_id: Option<String>,
}

pub(crate) fn run(bench: &Bench, common: &CommonOptions) -> Result<Report> {
    let stoop = bench.root().join("../crates/stoop").canonicalize().context("the library")?;
    let ours = |features: &str| format!("stoop = {{ path = {stoop:?}{features} }}");
    let contenders = [
        (STOOP, "with its default features", ours("")),
        (REQWEST, "with the same features, a DNS client among them", theirs("\"hickory-dns\", ")),
        (STOOP_LESS, "without its DNS client", ours(WITHOUT_DNS)),
        (REQWEST_LESS, "with the same features", theirs("")),
    ];
    let contenders = contenders.map(|(name, about, line)| (Series::new(name, about, None), line));
    let rounds = common.rounds();
    let mut skipped = Vec::new();
    let series = rounds::interleave(rounds, contenders.into(), &mut skipped, |series, line| {
        let folder = bench.directory().join(format!("build-{}", series.name));
        let (crates, seconds) = build(&folder, line, false)?;
        let (_, release_seconds) = build(&folder, line, true)?;
        Ok(Sample::from([
            (CRATES, crates as f64),
            (SECONDS, seconds),
            ("release_seconds", release_seconds),
        ]))
    });
    Ok(Report::new(subject(rounds), series, skipped))
}

/// Stoop's default features but one.
const WITHOUT_DNS: &str = ", default-features = false, features = [\"charset\", \"compression\", \"json\", \"proxy\", \
    \"stream\", \"tls\"]";

/// The features that are stoop's defaults but that one, and `more`.
fn theirs(more: &str) -> String {
    format!(
        "reqwest = {{ version = \"0.13.5\", default-features = false, features = [{more}\"brotli\", \"charset\", \
         \"deflate\", \"form\", \"gzip\", \"http2\", \"json\", \"query\", \"rustls\", \"socks\", \"stream\", \"zstd\"] }}"
    )
}

/// Builds a program with that dependency anew, and returns the number of crates and the seconds.
fn build(folder: &Path, dependency: &str, is_release: bool) -> Result<(usize, f64)> {
    let target = folder.join("target");
    if target.is_dir() {
        std::fs::remove_dir_all(&target).context("the last build")?;
    }
    std::fs::create_dir_all(folder.join("src")).context("a folder")?;
    let manifest = format!(
        "[workspace]\n[package]\nname = \"program\"\nedition = \"2024\"\n[dependencies]\n{dependency}\n"
    );
    std::fs::write(folder.join("Cargo.toml"), manifest).context("a manifest")?;
    std::fs::write(folder.join("src/main.rs"), "fn main() {}\n").context("a program")?;
    let cargo = |arguments: &[&str]| {
        let mut command = Command::new("cargo");
        command.args(arguments).current_dir(folder).env("CARGO_TARGET_DIR", &target);
        process::output(&mut command).context("cargo")
    };
    // What has to be downloaded is no part of a build.
    let fetched = cargo(&["fetch"])?;
    ensure!(fetched.status.success(), "{}", process::first_error(&fetched.stderr));
    let mut arguments = vec!["build", "--offline", "--message-format=json"];
    arguments.extend(is_release.then_some("--release"));
    let begun = Instant::now();
    let output = cargo(&arguments)?;
    let seconds = begun.elapsed().as_secs_f64();
    ensure!(output.status.success(), "{}", process::first_error(&output.stderr));
    let printed = String::from_utf8_lossy(&output.stdout);
    let messages = printed.lines().filter_map(|line| serde_json::from_str::<Message>(line).ok());
    let crates: BTreeSet<String> = messages
        .filter(|message| message.reason == "compiler-artifact")
        .filter_map(|message| message.package_id)
        .collect();
    // The program itself is one.
    Ok((crates.len() - 1, seconds))
}

fn subject(rounds: u32) -> Subject {
    let ratio = |metric, ours, theirs, what| {
        Figure::ratio(metric, ours, theirs, Limit::AtMost(1.0)).called(what)
    };
    Subject {
        work: "build",
        what: format!("a program that depends on the library, built from nothing, {rounds} rounds"),
        metrics: METRICS,
        compared: SECONDS,
        baselines: &[REQWEST],
        figures: vec![
            ratio(CRATES, STOOP, REQWEST, "crates, stoop / reqwest"),
            ratio(SECONDS, STOOP, REQWEST, "seconds, stoop / reqwest"),
            ratio(CRATES, STOOP_LESS, REQWEST_LESS, "crates, without DNS clients"),
            ratio(SECONDS, STOOP_LESS, REQWEST_LESS, "seconds, without DNS clients"),
        ],
        sorted_by: None,
    }
}
