//! The first command of the README, `cargo run --release -- demo`, by the program that the tests build: optimizing takes minutes,
//! and changes only how fast it is.

use super::programs;
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

pub(crate) fn run(_: &Context) -> StepOutcome {
    let fail = |why| StepOutcome::Failed { why, repeat: "cargo run --release -- demo".to_owned() };
    let program = match programs::of_workspace("stoop") {
        Ok(program) => program,
        Err(failed) => return failed,
    };
    let began = Instant::now();
    let ran = RunningProgram::start(&Command::new(program).arg("demo"))
        .and_then(|mut running| running.finish(LIMIT));
    match ran.and_then(|printed| check(&printed)) {
        Ok(()) => {
            StepOutcome::Passed(format!("2,000 URLs in {:.1} s", began.elapsed().as_secs_f64()))
        }
        Err(why) => fail(why),
    }
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
