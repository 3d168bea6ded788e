//! The steps, in their order: those that are quick and often fail come first.

use super::ahead::BuildAhead;
use super::libtest::TestRun;
use super::step::{Context, StepOutcome, TestStep, failures};
use super::{corpora, demo, examples, interface, tools};
use crate::command::Command;
use crate::{conformance, nevers, workspace};
use std::num::NonZero;
use std::path::PathBuf;
use std::{env, fs, path, thread};

const TESTS: &str = "tests";
const PROTO: &str = "proto";
const FUZZ: &str = "fuzz";

/// The step with which the builds of later steps begin: tests often wait.
pub(crate) const BUILDS_AHEAD_FROM: &str = TESTS;

/// The builds of later steps, in the order in which they run. They run with `CI=true` alone, where the tools that some
/// need are certain to be there.
pub(crate) const BUILDS_AHEAD: &[BuildAhead] = &[
    BuildAhead { step: interface::STEP, build: interface::check },
    BuildAhead { step: FUZZ, build: || cargo_fuzz().arg("build") },
    BuildAhead { step: conformance::STEP, build: conformance::build },
    BuildAhead { step: PROTO, build: || bench("build") },
    BuildAhead { step: demo::STEP, build: demo::build },
];

pub(crate) const STEPS: &[TestStep] = &[
    TestStep {
        name: tools::INSTALL,
        summary: "the tools that are missing (CI=true only)",
        run: tools::install,
    },
    TestStep {
        name: corpora::STEP,
        summary: "other projects' bad requests, downloaded for the tests (CI=true only)",
        run: corpora::download,
    },
    TestStep { name: "fmt", summary: "formatting", run: fmt },
    TestStep { name: "clippy", summary: "lints, warnings denied", run: clippy },
    TestStep { name: "nevers", summary: "the rules of ARCHITECTURE.md", run: nevers },
    TestStep { name: TESTS, summary: "unit and integration tests", run: tests },
    TestStep { name: "doctests", summary: "the examples in the documentation", run: doctests },
    TestStep { name: "docs", summary: "the documentation, warnings denied", run: docs },
    TestStep {
        name: "features",
        summary: "each crate alone, its examples, and each feature alone",
        run: features,
    },
    TestStep {
        name: interface::STEP,
        summary: "no private dependency in the public interface",
        run: interface::run,
    },
    TestStep { name: "msrv", summary: "the oldest compiler we promise", run: msrv },
    TestStep { name: "examples", summary: "the programs in examples/, run", run: examples::run },
    TestStep {
        name: conformance::STEP,
        summary: "other projects' conformance suites: h2spec and h2specd for HTTP/2, Autobahn for WebSockets",
        run: conformance::step,
    },
    TestStep { name: PROTO, summary: "instructions of the protocol machines, printed", run: proto },
    TestStep { name: FUZZ, summary: "each fuzz target for a few seconds", run: fuzz },
    TestStep {
        name: demo::STEP,
        summary: "the README's first command, in under 30 s",
        run: demo::run,
    },
    TestStep {
        name: "deny",
        summary: "licences, sources, and which crate may depend on which",
        run: deny,
    },
];

/// The manifests of all workspaces: bench and fuzz have their own, so that their dependencies stay out
/// of ours.
const WORKSPACES: &[&str] = &["Cargo.toml", "bench/Cargo.toml", "fuzz/Cargo.toml"];

/// Seconds that each fuzz target runs: enough to see that it works and to find a shallow crash.
const FUZZ_SECONDS: u32 = 5;

/// Runs `commands` until one fails, and passes with `note`.
pub(crate) fn all(commands: &[Command], note: &str) -> StepOutcome {
    for command in commands {
        if let Err(why) = command.run() {
            return StepOutcome::Failed { why, repeat: command.to_string() };
        }
    }
    StepOutcome::Passed(note.to_owned())
}

fn fmt(_: &Context) -> StepOutcome {
    if let Some(why) = tools::missing(&[&tools::RUSTFMT]) {
        return StepOutcome::Skipped(why);
    }
    let check = |manifest: &&str| {
        Command::cargo("fmt").args(["--all", "--check", "--manifest-path", manifest])
    };
    all(&WORKSPACES.iter().map(check).collect::<Vec<_>>(), "")
}

fn clippy(_: &Context) -> StepOutcome {
    if let Some(why) = tools::missing(&[&tools::CLIPPY]) {
        return StepOutcome::Skipped(why);
    }
    let clippy = Command::cargo("clippy").args(["--workspace", "--all-targets"]);
    all(&[clippy.args(["--", "-D", "warnings"])], "")
}

fn nevers(_: &Context) -> StepOutcome {
    match nevers::run() {
        Ok(()) => StepOutcome::Passed(String::new()),
        Err(why) => StepOutcome::Failed { why, repeat: "cargo xtask nevers".to_owned() },
    }
}

fn tests(context: &Context) -> StepOutcome {
    let mut tests = Command::cargo("test").args(["--workspace", "--no-fail-fast"]);
    // Examples have no tests: a step of their own builds and runs them.
    tests = tests.args(["--lib", "--bins", "--tests"]);
    if let Some(folder) = test_data() {
        tests = tests.env("STOOP_TEST_DATA", folder);
    }
    libtest(corpora::with_folders(tests), context)
}

fn doctests(context: &Context) -> StepOutcome {
    libtest(Command::cargo("test").args(["--workspace", "--no-fail-fast", "--doc"]), context)
}

/// Runs tests, counts them, and names those that failed. An ignored test is a measurement, which means
/// nothing on a busy machine: it is counted here, and run by its name.
fn libtest(command: Command, context: &Context) -> StepOutcome {
    let mut run = TestRun::default();
    match context.skips.with_file(command.clone()).run_with(|line| run.read(line)) {
        Ok(()) => StepOutcome::Passed(run.note()),
        Err(how) => StepOutcome::Failed { why: run.failures(&how), repeat: command.to_string() },
    }
}

/// `STOOP_TEST_DATA` as a path that means the same in the folder of each package, where cargo
/// runs its tests.
fn test_data() -> Option<PathBuf> {
    let folder = env::var_os("STOOP_TEST_DATA")?;
    Some(path::absolute(&folder).unwrap_or_else(|_| folder.into()))
}

fn docs(_: &Context) -> StepOutcome {
    let docs = Command::cargo("doc").env("RUSTDOCFLAGS", "-D warnings");
    // Libraries alone: the command is named like the library, and its pages would replace them.
    all(&[docs.args(["--workspace", "--lib", "--no-deps", "--all-features"])], "")
}

/// Each crate by itself, and its examples: in the workspace the features of all of them are united, and so a crate may
/// compile there that does not compile for a user who depends on it alone.
fn features(_: &Context) -> StepOutcome {
    if let Some(why) = tools::missing(&[&tools::CLIPPY]) {
        return StepOutcome::Skipped(why);
    }
    match feature_commands() {
        Ok(commands) => all(&commands, &format!("{} combinations", commands.len())),
        Err(why) => {
            StepOutcome::Failed { why, repeat: "cargo xtask test --only features".to_owned() }
        }
    }
}

fn feature_commands() -> Result<Vec<Command>, String> {
    let mut commands = Vec::new();
    for package in workspace::packages()? {
        let features = workspace::features(&package)?;
        let mut combinations: Vec<Vec<&str>> = vec![vec![]];
        if !features.is_empty() {
            combinations.push(vec!["--no-default-features"]);
            let alone = features.iter().map(|one| vec!["--no-default-features", "--features", one]);
            combinations.extend(alone);
            combinations.push(vec!["--all-features"]);
        }
        if workspace::root().join("crates").join(&package).join("examples").is_dir() {
            combinations.push(vec!["--examples"]);
        }
        for combination in combinations {
            let clippy = Command::cargo("clippy").args(["--package", &package]);
            commands.push(clippy.args(combination).args(["--", "-D", "warnings"]));
        }
    }
    Ok(commands)
}

/// Checks that the oldest compiler that `rust-version` promises compiles the workspace. rustup
/// installs that toolchain by its number.
fn msrv(context: &Context) -> StepOutcome {
    let failed = |why: String| StepOutcome::Failed {
        why,
        repeat: "cargo xtask test --only msrv".to_owned(),
    };
    let promised = match fs::read_to_string(workspace::root().join("Cargo.toml")) {
        Ok(manifest) => rust_version(&manifest).to_owned(),
        Err(error) => return failed(format!("cannot read Cargo.toml: {error}")),
    };
    let in_use = match Command::new("rustc").arg("--version").output() {
        Ok(version) => version,
        Err(why) => return failed(why),
    };
    if in_use.starts_with(&format!("rustc {promised}.")) {
        return StepOutcome::Passed(format!("{promised} is the compiler of the other steps"));
    }
    let install = Command::new("rustup").args(["toolchain", "install", &promised]);
    let install = install.arg("--profile=minimal");
    let is_there = Command::new("rustup").args(["run", &promised, "rustc", "--version"]).succeeds();
    let check = Command::new("rustup").args(["run", &promised, "cargo", "check", "--workspace"]);
    // A folder of its own: two compilers in one would each discard what the other built.
    let check = check.args(["--all-targets", "--target-dir", "target/msrv"]);
    match (is_there, context.ci) {
        (true, _) => all(&[check], &promised),
        (false, true) => all(&[install, check], &promised),
        (false, false) => StepOutcome::Skipped(format!("needs Rust {promised} ({install})")),
    }
}

fn rust_version(manifest: &str) -> &str {
    let line = manifest.lines().find_map(|line| line.strip_prefix("rust-version = \""));
    line.map_or("", |rest| rest.trim_end_matches('"'))
}

/// Prints what the protocol machines cost beside what the changelog says. A count is no test: the
/// reader decides what it may be.
fn proto(_: &Context) -> StepOutcome {
    if let Some(why) = tools::absent(&[tools::VALGRIND]) {
        return StepOutcome::Skipped(why);
    }
    all(&[bench("run").args(["--", "proto"])], "")
}

/// The runner of the benchmarks, which measures no time here: an optimized build of it takes a minute more.
fn bench(subcommand: &str) -> Command {
    Command::cargo(subcommand).args(["--manifest-path", "bench/Cargo.toml"])
}

fn fuzz(_: &Context) -> StepOutcome {
    if let Some(why) = tools::missing(&[&tools::CARGO_FUZZ, &tools::NIGHTLY_TOOLCHAIN]) {
        return StepOutcome::Skipped(why);
    }
    let list = cargo_fuzz().arg("list");
    let targets = match list.output() {
        Ok(targets) => targets,
        Err(why) => return StepOutcome::Failed { why, repeat: list.to_string() },
    };
    let build = cargo_fuzz().arg("build");
    if let Err(why) = build.run() {
        return StepOutcome::Failed { why, repeat: build.to_string() };
    }
    let mut commands = Vec::new();
    for target in targets.lines() {
        // What it finds goes to the first folder, outside the repository; the seeds are read.
        let found = workspace::root().join("target/fuzz-smoke").join(target);
        if let Err(error) = fs::create_dir_all(&found) {
            let why = format!("cannot create {}: {error}", found.display());
            return StepOutcome::Failed { why, repeat: list.to_string() };
        }
        let seeds = format!("fuzz/seeds/{target}");
        let mut run = cargo_fuzz().args(["run", target]).arg(&found);
        if workspace::root().join(&seeds).is_dir() {
            run = run.arg(seeds);
        }
        commands.push(run.arg("--").arg(format!("-max_total_time={FUZZ_SECONDS}")));
    }
    let note = format!("{} targets, {FUZZ_SECONDS} s each", commands.len());
    // As many at once as there are cores: each target takes one.
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    let share_len = commands.len().div_ceil(cores).max(1);
    let failed: Vec<(String, String)> = thread::scope(|scope| {
        let shares = commands.chunks(share_len).map(|share| scope.spawn(|| failures(share)));
        let running: Vec<_> = shares.collect();
        running.into_iter().flat_map(|share| share.join().expect("a share panicked")).collect()
    });
    StepOutcome::of_failures(&failed, note)
}

/// cargo-fuzz, which optimizes little: in a few seconds more of that gains less than the minutes that it takes to build.
fn cargo_fuzz() -> Command {
    let fuzz = Command::new("rustup").args(["run", tools::NIGHTLY, "cargo", "fuzz"]);
    fuzz.env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "1")
}

/// Checks the dependencies, but for advisories: those need a database from the network and change
/// without a commit of ours, so they are asked for by hand, or by a schedule, with
/// `cargo deny check advisories`.
fn deny(_: &Context) -> StepOutcome {
    if let Some(why) = tools::missing(&[&tools::CARGO_DENY]) {
        return StepOutcome::Skipped(why);
    }
    all(&[Command::cargo("deny").args(["check", "bans", "licenses", "sources"])], "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_promised_compiler_is_read() {
        let manifest = "[workspace.package]\nedition = \"2024\"\nrust-version = \"1.95\"\n";
        assert_eq!(rust_version(manifest), "1.95");
    }

    #[test]
    fn every_feature_is_tried_alone() {
        let commands: Vec<String> =
            feature_commands().unwrap().iter().map(ToString::to_string).collect();
        for expected in [
            "stoop-io --no-default-features --features tls --",
            "stoop-proto --",
            "stoop --examples --",
        ] {
            assert!(commands.iter().any(|command| command.contains(expected)), "{commands:#?}");
        }
    }
}
