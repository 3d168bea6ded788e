//! A step of `cargo xtask test`: what it is given, and how it ends.

use super::skips::Skips;
use crate::command::Command;

/// A named part of the test.
pub(crate) struct TestStep {
    pub(crate) name: &'static str,
    /// What it checks, for `--list`.
    pub(crate) summary: &'static str,
    pub(crate) run: fn(&Context) -> StepOutcome,
}

/// What every step is given.
pub(crate) struct Context {
    /// Whether `CI` is set: tools are installed, and a skip is a failure.
    pub(crate) ci: bool,
    pub(crate) skips: Skips,
}

/// How a step ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum StepOutcome {
    /// With a note on how much was checked, or an empty one.
    Passed(String),
    /// With what is missing and how to install it.
    Skipped(String),
    Failed {
        why: String,
        /// A command that shows the failure again.
        repeat: String,
    },
}

impl StepOutcome {
    /// Passes with `note`, or fails by these commands, each with how it ended.
    pub(crate) fn of_failures(failed: &[(String, String)], note: String) -> Self {
        if failed.is_empty() {
            return Self::Passed(note);
        }
        let (commands, reasons): (Vec<_>, Vec<_>) =
            failed.iter().map(|(command, how)| (&**command, format!("`{command}` {how}"))).unzip();
        Self::Failed { why: reasons.join("; "), repeat: commands.join("; ") }
    }

    /// The word for it in the report.
    pub(crate) fn verb(&self) -> &'static str {
        match self {
            Self::Passed(_) => "passed",
            Self::Skipped(_) => "skipped",
            Self::Failed { .. } => "FAILED",
        }
    }
}

/// Runs all of `commands`, and returns those that failed, each with how it ended.
pub(crate) fn failures(commands: &[Command]) -> Vec<(String, String)> {
    let failure = |command: &Command| Some((command.to_string(), command.run().err()?));
    commands.iter().filter_map(failure).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_command_that_failed_is_named_and_repeated() {
        let failed = |name: &str| (name.to_owned(), "ended with exit status: 1".to_owned());
        assert_eq!(StepOutcome::of_failures(&[], "2 commands".into()).verb(), "passed");
        let expected = StepOutcome::Failed {
            why: "`a` ended with exit status: 1; `b` ended with exit status: 1".into(),
            repeat: "a; b".into(),
        };
        assert_eq!(StepOutcome::of_failures(&[failed("a"), failed("b")], String::new()), expected);
    }
}
