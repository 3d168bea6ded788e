//! The parts of a suite: which of them were chosen, and how each is built and run.

use crate::command::Command;
use crate::test::secure::Certificate;
use crate::test::step::StepOutcome;
use crate::workspace;
use std::path::PathBuf;
use std::thread;

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

/// How the parts of a suite are run.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum PartOrder {
    /// One after the other: they use the same files or ports.
    InTurn,
    /// All at once: each takes minutes, and a core of its own.
    AtOnce,
}

/// Runs each chosen part of a suite, with a certificate for those that need one. The outcome joins
/// what `run` returned for each, or is the first failure.
pub(super) fn each_part<P: Send>(
    suite: &str,
    choice: &Choice,
    order: PartOrder,
    parts: impl Iterator<Item = (&'static str, P)>,
    run: impl Fn(P, &Certificate) -> Result<String, String> + Sync,
) -> Result<StepOutcome, StepOutcome> {
    let failed = |option: &str, why: String| {
        println!("{suite} {option}: {why}");
        let command = Command::cargo("xtask").args(["conformance", suite, option]);
        let separator = if choice.arguments.is_empty() { None } else { Some("--") };
        let repeat = command.args(separator).args(&choice.arguments).to_string();
        StepOutcome::Failed { why: format!("{option}: {why}"), repeat }
    };
    let certificate = Certificate::make().map_err(|why| failed("--tls", why))?;
    let run = |option: &'static str, part| match run(part, &certificate) {
        Ok(note) => {
            println!("{suite} {option}: {note}");
            Ok(format!("{option}: {note}"))
        }
        Err(why) => Err((option, why)),
    };
    let is_chosen = |option: &&str| {
        choice.options.is_empty() || choice.options.iter().any(|chosen| chosen == option)
    };
    let chosen = parts.filter(|(option, _)| is_chosen(option));
    let ran: Vec<_> = match order {
        PartOrder::InTurn => chosen.map(|(option, part)| run(option, part)).collect(),
        PartOrder::AtOnce => thread::scope(|scope| {
            let started: Vec<_> =
                chosen.map(|(option, part)| scope.spawn(move || run(option, part))).collect();
            started.into_iter().map(|part| part.join().expect("a part panicked")).collect()
        }),
    };
    let (mut notes, mut first) = (Vec::new(), None);
    for part in ran {
        match part {
            Ok(note) => notes.push(note),
            Err((option, why)) => first = first.or(Some(failed(option, why))),
        }
    }
    Ok(first.unwrap_or_else(|| StepOutcome::Passed(notes.join("; "))))
}
