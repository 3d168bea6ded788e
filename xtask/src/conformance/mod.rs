//! `cargo xtask conformance`: other projects' conformance suites, run against our programs.
//!
//! To add a suite: a module, and a row in `SUITES`. The step `conformance` of `cargo xtask test`
//! runs all of them.

mod autobahn;
mod h2spec;
mod h2specd;
mod on_demand;
mod parts;
mod report;
mod verdict;

use crate::command::Command;
use crate::test::step::{Context, StepOutcome};
use parts::Choice;
use std::process::ExitCode;

/// The name of the step.
pub(crate) const STEP: &str = "conformance";

/// Another project's checks of one of our programs.
struct Suite {
    name: &'static str,
    /// What it checks, for `--help`.
    summary: &'static str,
    /// The parts of it that can be run alone, each with its summary for `--help`.
    options: &'static [(&'static str, &'static str)],
    run: fn(&Choice) -> StepOutcome,
}

const SUITES: &[Suite] = &[
    Suite {
        name: "h2spec",
        summary: "the server over HTTP/2: 146 cases, the strict ones too, in each of the parts",
        options: h2spec::OPTIONS,
        run: h2spec::run,
    },
    Suite {
        name: "h2specd",
        summary: "the client over HTTP/2, with servers that misbehave: 57 cases in each of the parts",
        options: h2specd::OPTIONS,
        run: h2specd::run,
    },
    Suite {
        name: "autobahn",
        summary: "WebSockets, both roles, with compression: 517 cases in each of the parts",
        options: autobahn::OPTIONS,
        run: autobahn::run,
    },
];

/// The text of `cargo xtask conformance --help`.
pub(crate) fn help() -> String {
    let suites: String = SUITES.iter().map(Suite::help).collect();
    format!(
        "Other projects' conformance suites, against our programs.\n\n\
         Usage: cargo xtask conformance [SUITE [OPTIONS] [-- ARGS]]\n\n\
         \x20 cargo xtask conformance                          all of them\n\
         \x20 cargo xtask conformance h2spec                   one of them\n\
         \x20 cargo xtask conformance h2spec --tls             a part of it\n\
         \x20 cargo xtask conformance h2spec -- -v http2/6.9   some cases, with every frame\n\n\
         Suites, each with the parts that can be run alone:\n{suites}\n\
         ARGS go to the suite's own program (`-- --help` lists them), and what it prints is shown.\n\
         Their programs are built into target/tools. It exits with 1 if a case fails, if fewer\n\
         cases ran than there are, or if something is missing; it says what.\n"
    )
}

impl Suite {
    fn help(&self) -> String {
        let options = self.options.iter().map(|(name, text)| format!("      {name:9} {text}\n"));
        format!("  {:11} {}\n{}", self.name, self.summary, options.collect::<String>())
    }
}

/// Runs what `args` choose. An error means that nothing ran.
pub(crate) fn run(args: &[String]) -> Result<ExitCode, String> {
    let (suites, choice) = chosen(args)?;
    let mut all_passed = true;
    for suite in suites {
        let outcome = (suite.run)(&choice);
        all_passed &= matches!(outcome, StepOutcome::Passed(_));
        match outcome {
            StepOutcome::Passed(note) => println!("{}: {note}", suite.name),
            StepOutcome::Skipped(why) => println!("{}: not run: {why}", suite.name),
            StepOutcome::Failed { why, repeat } => {
                println!("{}: FAILED: {why}\nrepeat:  {repeat}", suite.name);
            }
        }
    }
    Ok(if all_passed { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn chosen(args: &[String]) -> Result<(&[Suite], Choice), String> {
    let Some((name, rest)) = args.split_first() else { return Ok((SUITES, Choice::default())) };
    let Some(at) = SUITES.iter().position(|suite| suite.name == name) else {
        let names: Vec<_> = SUITES.iter().map(|suite| suite.name).collect();
        let names = names.join(", ");
        return Err(format!("no suite `{name}`; there are: {names}. What follows is the suite's"));
    };
    let end = rest.iter().position(|arg| arg == "--").unwrap_or(rest.len());
    let options = &rest[..end];
    let is_known = |option: &&String| SUITES[at].options.iter().any(|(known, _)| known == option);
    if let Some(option) = options.iter().find(|option| !is_known(option)) {
        return Err(format!(
            "{name} has no option `{option}`; see `cargo xtask conformance --help`, or write it \
             after `--` if it is for {name} itself"
        ));
    }
    let arguments = rest.get(end + 1..).unwrap_or_default().to_vec();
    Ok((&SUITES[at..=at], Choice { options: options.to_vec(), arguments }))
}

/// The longest of the builds of the step.
pub(crate) fn build() -> Command {
    autobahn::build()
}

/// Runs the step: all suites, with all their parts.
pub(crate) fn step(_: &Context) -> StepOutcome {
    let mut notes = Vec::new();
    for suite in SUITES {
        match (suite.run)(&Choice::default()) {
            StepOutcome::Passed(note) => notes.push(format!("{}: {note}", suite.name)),
            other => return other,
        }
    }
    StepOutcome::Passed(notes.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choose(line: &str) -> Result<(Vec<&'static str>, Choice), String> {
        let args: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        let (suites, choice) = chosen(&args)?;
        Ok((suites.iter().map(|suite| suite.name).collect(), choice))
    }

    #[test]
    fn without_a_choice_all_suites_are_run() {
        let (suites, choice) = choose("").unwrap();
        assert_eq!((suites.len(), choice), (SUITES.len(), Choice::default()));
    }

    #[test]
    fn a_suite_has_options_and_its_program_arguments() {
        let (suites, choice) = choose("h2spec --tls -- -v --tls http2/3.5").unwrap();
        assert_eq!(suites, ["h2spec"]);
        assert_eq!(choice.options, ["--tls"]);
        assert_eq!(choice.arguments, ["-v", "--tls", "http2/3.5"]);
    }

    #[test]
    fn unknown_suites_and_options_are_refused() {
        assert!(choose("h3spec").unwrap_err().contains("there are: h2spec, h2specd"));
        assert!(choose("--tls").unwrap_err().contains("no suite `--tls`"));
        assert!(choose("h2spec -v").unwrap_err().contains("after `--`"));
    }

    #[test]
    fn the_help_names_every_suite_and_option() {
        let help = help();
        for suite in SUITES {
            assert!(help.contains(suite.name) && help.contains(suite.summary), "{help}");
            assert!(suite.options.iter().all(|(name, _)| help.contains(name)), "{help}");
        }
    }
}
