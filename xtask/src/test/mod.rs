//! `cargo xtask test`: everything a change must pass, in one command.
//!
//! It runs named steps one after the other, goes on after a failure, and ends with a report: what was
//! skipped and why, a command that repeats each failure, and one line of counts. On a machine with a
//! Rust toolchain and a C compiler it passes, and skips, by name, each step that needs more. With
//! `CI=true` it installs what it needs first, and a skip is a failure: otherwise a missing tool would
//! turn a check off unnoticed.

mod ahead;
mod corpora;
mod demo;
mod examples;
mod interface;
mod libtest;
pub(crate) mod programs;
pub(crate) mod secure;
pub(crate) mod serve;
mod skips;
pub(crate) mod step;
mod steps;
pub(crate) mod tools;

use ahead::BuildsAhead;
use skips::Skips;
use std::env;
use std::process::ExitCode;
use std::time::{Duration, Instant};
use step::{Context, StepOutcome, TestStep};
use steps::{BUILDS_AHEAD, BUILDS_AHEAD_FROM, STEPS};

/// The text of `cargo xtask test --help`.
pub(crate) fn help() -> String {
    format!(
        "Everything a change must pass, in one command.\n\n\
         Usage: cargo xtask test [--only NAME,…] [--list]\n\n\
         \x20 --only NAME,…   Run these steps alone\n\
         \x20 --list          List the steps, and run none\n\n\
         Steps, in this order:\n{}\n\
         It goes on after a failure, and ends with what was skipped and why, the commands that\n\
         repeat the failures, and a line `N passed, N failed, N skipped`. It exits with 1 if a step\n\
         failed.\n\n\
         Environment:\n\
         \x20 CI=true           install the tools that are missing (as root, or with sudo), download\n\
         \x20                   the collections of requests that tests use, and let a skip be a\n\
         \x20                   failure\n\
         \x20 STOOP_TEST_DATA   the folder with the public test vectors; tests that need them are\n\
         \x20                   skipped without\n",
        list()
    )
}

fn list() -> String {
    STEPS.iter().map(|step| format!("  {:11} {}\n", step.name, step.summary)).collect()
}

/// Runs the steps that `args` choose. An error means that none ran.
pub(crate) fn run(args: &[String]) -> Result<ExitCode, String> {
    let mut only: Option<Vec<&str>> = None;
    let mut args = args.iter().map(String::as_str);
    while let Some(arg) = args.next() {
        match arg.split_once('=').unwrap_or((arg, "")) {
            ("--list", _) => {
                print!("{}", list());
                return Ok(ExitCode::SUCCESS);
            }
            ("--only", "") => {
                let names = args.next().ok_or("--only takes names of steps; see --list")?;
                only.get_or_insert_default().extend(names.split(','));
            }
            ("--only", names) => only.get_or_insert_default().extend(names.split(',')),
            _ => return Err(format!("no option `{arg}`; see `cargo xtask test --help`")),
        }
    }
    if let Some(name) = only.iter().flatten().find(|name| !STEPS.iter().any(|s| s.name == **name)) {
        return Err(format!("no step `{name}`; there are:\n{}", list()));
    }
    let ci = env::var("CI").is_ok_and(|value| !matches!(value.as_str(), "" | "0" | "false"));
    let context = Context { ci, skips: Skips::new()? };
    let chosen = STEPS.iter().filter(|step| match &only {
        Some(names) => names.contains(&step.name),
        None => ci || ![tools::INSTALL, corpora::STEP].contains(&step.name),
    });
    let records = run_steps(chosen, &context);
    context.skips.remove();
    Ok(print_report(&records))
}

struct StepRecord {
    name: &'static str,
    outcome: StepOutcome,
    took: Duration,
    /// Parts of the step that were skipped, each with its reason.
    skipped_inside: Vec<String>,
}

fn run_steps<'a>(steps: impl Iterator<Item = &'a TestStep>, context: &Context) -> Vec<StepRecord> {
    let mut records = Vec::new();
    let steps: Vec<_> = steps.collect();
    let ahead = BuildsAhead::default();
    for step in &steps {
        println!("\n── {} ── {}", step.name, step.summary);
        let started = Instant::now();
        if context.ci && step.name == BUILDS_AHEAD_FROM {
            let is_chosen = |name| steps.iter().any(|step| step.name == name);
            ahead.start(BUILDS_AHEAD.iter().filter(|build| is_chosen(build.step)));
        }
        ahead.leave_to(step.name);
        let outcome = (step.run)(context);
        let took = started.elapsed();
        let skipped_inside = context.skips.take();
        let outcome = deny_skips(context.ci, step.name, outcome, &skipped_inside);
        println!("── {}: {} after {:.1} s", step.name, outcome.verb(), took.as_secs_f64());
        records.push(StepRecord { name: step.name, outcome, took, skipped_inside });
    }
    records
}

/// With `CI=true` a skip is a failure, also one inside a step that passed.
fn deny_skips(
    ci: bool,
    name: &str,
    outcome: StepOutcome,
    skipped_inside: &[String],
) -> StepOutcome {
    let repeat = format!("CI=true cargo xtask test --only {name}");
    match outcome {
        StepOutcome::Skipped(why) if ci => {
            StepOutcome::Failed { why: format!("skipped: {why}"), repeat }
        }
        StepOutcome::Passed(_) if ci && !skipped_inside.is_empty() => {
            let why = format!("skipped inside: {}", skipped_inside.join("; "));
            StepOutcome::Failed { why, repeat }
        }
        other => other,
    }
}

/// Prints the end of the report, whose last line is the counts.
fn print_report(records: &[StepRecord]) -> ExitCode {
    println!("\n── summary ──");
    for StepRecord { name, outcome, took, .. } in records {
        let note = match outcome {
            StepOutcome::Passed(note) => note,
            StepOutcome::Skipped(why) | StepOutcome::Failed { why, .. } => why,
        };
        let line = format!("{name:11} {:7} {:7.1} s  {note}", outcome.verb(), took.as_secs_f64());
        println!("{}", line.trim_end());
    }
    let mut skipped = Vec::new();
    let mut repeat = Vec::new();
    for StepRecord { name, outcome, skipped_inside, .. } in records {
        match outcome {
            StepOutcome::Skipped(why) => skipped.push(format!("{name}: {why}")),
            StepOutcome::Failed { repeat: command, .. } => repeat.push(command),
            StepOutcome::Passed(_) => {}
        }
        skipped.extend(skipped_inside.iter().map(|why| format!("{name}: {why}")));
    }
    for why in &skipped {
        println!("skipped: {why}");
    }
    for command in &repeat {
        println!("repeat:  {command}");
    }
    let count = |verb| records.iter().filter(|record| record.outcome.verb() == verb).count();
    let failed = count("FAILED");
    println!("{} passed, {failed} failed, {} skipped", count("passed"), count("skipped"));
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_skip_is_a_failure_in_ci_alone() {
        let skipped = || StepOutcome::Skipped("needs x".into());
        assert_eq!(deny_skips(false, "a", skipped(), &[]).verb(), "skipped");
        assert_eq!(deny_skips(true, "a", skipped(), &[]).verb(), "FAILED");
        let inside = ["a test: needs y".to_owned()];
        assert_eq!(
            deny_skips(false, "a", StepOutcome::Passed(String::new()), &inside).verb(),
            "passed"
        );
        assert_eq!(
            deny_skips(true, "a", StepOutcome::Passed(String::new()), &inside).verb(),
            "FAILED"
        );
    }

    #[test]
    fn steps_have_names_of_their_own() {
        let mut names: Vec<_> = STEPS.iter().map(|step| step.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), STEPS.len());
    }

    #[test]
    fn what_is_built_ahead_is_for_a_later_step() {
        let at = |name: &str| STEPS.iter().position(|step| step.name == name);
        assert!(BUILDS_AHEAD.iter().all(|build| at(BUILDS_AHEAD_FROM) < at(build.step)));
        assert!(at(BUILDS_AHEAD_FROM).is_some());
    }

    #[test]
    fn unknown_names_are_refused_before_anything_runs() {
        let error = run(&["--only".into(), "fmt,nonsense".into()]).unwrap_err();
        assert!(error.contains("nonsense") && error.contains("clippy"), "{error}");
        assert!(run(&["--olny".into()]).is_err());
    }
}
