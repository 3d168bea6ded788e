//! The parts of a suite: which of them were chosen, and how each is built and run.

use crate::command::Command;
use crate::test::secure::Certificate;
use crate::test::step::StepOutcome;
use crate::workspace;
use std::path::PathBuf;

/// The folder of the Go module that pins h2spec, h2specd and all that they depend on.
const MODULE: &str = "xtask/h2spec";

/// The part of a suite to run: by default all of it.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Choice {
    /// The chosen parts.
    pub(super) options: Vec<String>,
    /// Arguments for the other project's program, unchanged.
    pub(super) arguments: Vec<String>,
}

/// Builds one of h2spec's programs and returns its path. Go does nothing if it is built already.
pub(super) fn build(name: &str) -> Result<PathBuf, StepOutcome> {
    let program = workspace::root().join("target/tools").join(name);
    let build = Command::new("go").args(["build", "-o"]).arg(&program);
    let package = format!("github.com/summerwind/h2spec/cmd/{name}");
    let build = build.arg(package).in_folder(MODULE);
    build.run().map_err(|why| StepOutcome::Failed { why, repeat: build.to_string() })?;
    Ok(program)
}

/// Runs each chosen part of a suite, with a certificate for those that need one. The outcome joins
/// what `run` returned for each, or is the first failure.
pub(super) fn each_part<P>(
    suite: &str,
    choice: &Choice,
    parts: impl Iterator<Item = (&'static str, P)>,
    run: impl Fn(P, &Certificate) -> Result<String, String>,
) -> Result<StepOutcome, StepOutcome> {
    let failed = |option: &str, why: String| {
        println!("{suite} {option}: {why}");
        let command = Command::cargo("xtask").args(["conformance", suite, option]);
        let separator = if choice.arguments.is_empty() { None } else { Some("--") };
        let repeat = command.args(separator).args(&choice.arguments).to_string();
        StepOutcome::Failed { why: format!("{option}: {why}"), repeat }
    };
    let certificate = Certificate::make().map_err(|why| failed("--tls", why))?;
    let (mut notes, mut first) = (Vec::new(), None);
    for (option, part) in parts {
        if !choice.options.is_empty() && !choice.options.iter().any(|chosen| chosen == option) {
            continue;
        }
        match run(part, &certificate) {
            Ok(note) => {
                println!("{suite} {option}: {note}");
                notes.push(format!("{option}: {note}"));
            }
            Err(why) => first = first.or(Some(failed(option, why))),
        }
    }
    Ok(first.unwrap_or_else(|| StepOutcome::Passed(notes.join("; "))))
}
