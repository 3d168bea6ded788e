//! The first command of the README, `cargo run --release -- demo`.
//!
//! With `CI=true` its program is built as a user builds it, with the features of the package `stoop-cli` alone, but without
//! optimization across crates, which takes minutes more. Otherwise it is the program that the tests build.

use super::programs::BuiltPrograms;
use super::serve::RunningProgram;
use super::step::{Context, StepOutcome};
use crate::command::Command;
use std::time::{Duration, Instant};

/// The name of the step.
pub(crate) const STEP: &str = "demo";

/// The limit that the README promises. It takes some 10 s, nearly all of it planned waiting.
const LIMIT: Duration = Duration::from_secs(30);

/// The parts that its output must have, each with a text that shows it.
const SHOWN: &[(&str, &str)] = &[
    ("how many URLs there are", "A synthetic internet of 2000 URLs"),
    ("the table's columns", " totalUrls "),
    ("a row for all of them", "      2000 "),
    ("failures by kind", "  dns_nxdomain  "),
    ("what the servers saw", "The servers saw "),
    ("what to run next", "stoop fetch https://example.com/"),
];

/// What is built with `CI=true`: what `cargo run` chooses, in a profile that is quick to build.
const AS_USERS: &[&str] = &["--profile", "fast", "--bin", "stoop"];

/// The command that builds it with `CI=true`.
pub(crate) fn build() -> Command {
    Command::cargo("build").args(AS_USERS)
}

pub(crate) fn run(context: &Context) -> StepOutcome {
    run_built(context).unwrap_or_else(|failed| failed)
}

fn run_built(context: &Context) -> Result<StepOutcome, StepOutcome> {
    let built = match context.ci {
        true => BuiltPrograms::select(AS_USERS)?,
        false => BuiltPrograms::of_workspace()?,
    };
    let demo = Command::new(built.binary("stoop")?).arg("demo");
    let began = Instant::now();
    let ran = RunningProgram::start(&demo).and_then(|mut running| running.finish(LIMIT));
    Ok(match ran.and_then(|printed| check(&printed)) {
        Ok(()) => {
            StepOutcome::Passed(format!("2,000 URLs in {:.1} s", began.elapsed().as_secs_f64()))
        }
        Err(why) => StepOutcome::Failed { why, repeat: built.repeat(&demo) },
    })
}

fn check(printed: &str) -> Result<(), String> {
    match SHOWN.iter().find(|(_, text)| !printed.contains(text)) {
        None => Ok(()),
        Some((part, text)) => {
            Err(format!("it does not show {part}: no `{text}` anywhere in\n{printed}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_that_is_not_shown_is_named() {
        let whole: Vec<&str> = SHOWN.iter().map(|(_, text)| *text).collect();
        assert_eq!(check(&whole.join("\n")), Ok(()));
        for (at, (part, _)) in SHOWN.iter().enumerate() {
            let mut rest = whole.clone();
            rest.remove(at);
            assert!(check(&rest.join("\n")).unwrap_err().contains(part));
        }
    }
}
