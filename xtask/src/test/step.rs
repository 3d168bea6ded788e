//! A step of `cargo xtask test`: what it is given, and how it ends.

use super::skips::Skips;

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
    /// The word for it in the report.
    pub(crate) fn verb(&self) -> &'static str {
        match self {
            Self::Passed(_) => "passed",
            Self::Skipped(_) => "skipped",
            Self::Failed { .. } => "FAILED",
        }
    }
}
