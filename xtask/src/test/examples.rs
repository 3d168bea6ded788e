//! Runs the programs in `examples/`, because they are what a new user tries first.
//!
//! To add an example, add a line to `EXAMPLES`. One that is not on the list fails the step.

use super::programs::BuiltPrograms;
use super::secure;
use super::serve::{HttpRequest, RunningProgram, send};
use super::step::{Context, StepOutcome};
use crate::command::Command;
use crate::workspace;
use std::collections::BTreeSet;
use std::fs;
use std::time::Duration;

struct Example {
    package: &'static str,
    name: &'static str,
    args: &'static [&'static str],
    expect: Expectation,
}

enum Expectation {
    /// It ends by itself, with success, and prints the text among other things.
    Prints(&'static str),
    /// It prints `127.0.0.1:PORT`, serves until it is killed, and answers each request with a
    /// response that contains the text.
    Serves(&'static [(HttpRequest, &'static str)]),
}

const EXAMPLES: &[Example] = &[
    Example {
        package: "stoop",
        name: "hello",
        args: &["--listen", "127.0.0.1:0", "--workers", "1"],
        expect: Expectation::Serves(&[
            (HttpRequest { path: "/", content: None }, "\r\n\r\nHello, world!"),
            (HttpRequest { path: "/echo", content: Some("to and fro") }, "\r\n\r\nto and fro"),
            (HttpRequest { path: "/body", content: Some("to and fro") }, "\r\n\r\n10\n"),
        ]),
    },
    Example {
        package: "stoop",
        name: "together",
        args: &[],
        expect: Expectation::Prints("Hello from /here"),
    },
    Example {
        package: "stoop",
        name: "upload",
        args: &[],
        expect: Expectation::Prints("67108864 bytes"),
    },
    Example {
        package: "stoop",
        name: "without_socket",
        args: &[],
        expect: Expectation::Prints("greet greets"),
    },
    Example {
        package: "stoop-axum",
        name: "app",
        args: &["127.0.0.1:0"],
        expect: Expectation::Serves(&[
            (HttpRequest { path: "/", content: None }, "<h1>axum on stoop</h1>"),
            (HttpRequest { path: "/events", content: None }, "data: event 3"),
            (HttpRequest { path: "/media/tone.wav", content: None }, "content-length: 16044"),
        ]),
    },
    Example {
        package: "stoop-fetch",
        name: "archive",
        args: &[],
        expect: Expectation::Prints("40 pages are archived; the host had at most 2 requests"),
    },
    Example {
        package: "stoop-fetch",
        name: "resume",
        args: &[],
        expect: Expectation::Prints("300 records of 300 URLs"),
    },
    Example {
        package: "stoop-fetch",
        name: "titles",
        args: &[],
        expect: Expectation::Prints("cod.test: 3 titles, such as \"Page /"),
    },
    Example {
        package: "stoop-web",
        name: "files",
        args: &["127.0.0.1:0", "crates/stoop-web", "--workers", "1"],
        expect: Expectation::Serves(&[
            (HttpRequest { path: "/Cargo.toml", content: None }, "name = \"stoop-web\"\n"),
            (HttpRequest { path: "/", content: None }, "<a href=\"./src/\">src/</a>"),
        ]),
    },
    Example {
        package: "stoop-web",
        name: "logged",
        args: &["127.0.0.1:0", "--workers", "1", "--log", "/dev/null"],
        expect: Expectation::Serves(&[(
            HttpRequest { path: "/", content: None },
            "\r\n\r\nHello, world!",
        )]),
    },
    Example {
        package: "stoop-web",
        name: "router_cost",
        args: &["parameter", "100"],
        expect: Expectation::Prints("100 requests were answered"),
    },
    Example {
        package: "stoop-websocket",
        name: "echo",
        args: &["127.0.0.1:0", "--workers", "1"],
        expect: Expectation::Serves(&[(
            HttpRequest { path: "/", content: None },
            "\r\n\r\nUpgrade does not list websocket (RFC 6455 §4.1)\n",
        )]),
    },
];

/// Far more than any of them needs: a hanging example must not hang the test.
const LIMIT: Duration = Duration::from_secs(60);

pub(crate) fn run(_: &Context) -> StepOutcome {
    if let Err(why) = check_list() {
        return StepOutcome::Failed { why, repeat: "cargo xtask test --only examples".to_owned() };
    }
    run_all().unwrap_or_else(|failed| failed)
}

fn run_all() -> Result<StepOutcome, StepOutcome> {
    let built = BuiltPrograms::of_workspace()?;
    let mut skipped = None;
    for Example { name, args, expect, .. } in EXAMPLES {
        let program = built.example(name)?;
        let command = Command::new(&program).args(*args);
        if let Err(why) = run_one(&command, expect) {
            let why = format!("{name}: {why}");
            return Err(StepOutcome::Failed { why, repeat: built.repeat(&command) });
        }
        if *name == "hello" {
            match secure::hello(&program, LIMIT) {
                StepOutcome::Passed(_) => {}
                StepOutcome::Skipped(why) => skipped = Some(why),
                failed @ StepOutcome::Failed { .. } => return Err(failed),
            }
        }
    }
    Ok(match skipped {
        Some(why) => StepOutcome::Skipped(format!("{why}; the others passed")),
        None => StepOutcome::Passed(format!("{} examples", EXAMPLES.len())),
    })
}

fn run_one(command: &Command, expect: &Expectation) -> Result<(), String> {
    let mut running = RunningProgram::start(command)?;
    match expect {
        Expectation::Prints(text) => {
            let printed = running.finish(LIMIT)?;
            expect_in(text, &printed, "it printed")
        }
        Expectation::Serves(exchanges) => {
            let address = running.address(LIMIT)?;
            for (request, text) in *exchanges {
                expect_in(text, &send(address, *request, LIMIT)?, "it answered")?;
            }
            Ok(())
        }
    }
}

fn expect_in(text: &str, whole: &str, action: &str) -> Result<(), String> {
    if whole.contains(text) {
        return Ok(());
    }
    Err(format!("{action}, without `{text}` anywhere:\n{whole}"))
}

/// Every example of the workspace is on the list, and nothing else is.
fn check_list() -> Result<(), String> {
    let listed: BTreeSet<(String, String)> = EXAMPLES
        .iter()
        .map(|example| (example.package.to_owned(), example.name.to_owned()))
        .collect();
    let mut found = BTreeSet::new();
    for package in workspace::packages()? {
        let folder = workspace::root().join("crates").join(&package).join("examples");
        let Ok(entries) = fs::read_dir(folder) else { continue };
        for path in entries.filter_map(Result::ok).map(|entry| entry.path()) {
            let is_example = path.extension().is_some_and(|extension| extension == "rs")
                || path.join("main.rs").is_file();
            if let (true, Some(name)) = (is_example, path.file_stem()) {
                found.insert((package.clone(), name.to_string_lossy().into_owned()));
            }
        }
    }
    match found.symmetric_difference(&listed).next() {
        None => Ok(()),
        Some((package, name)) => Err(format!(
            "example `{name}` of {package} is not both in its examples/ and in EXAMPLES of \
             xtask/src/test/examples.rs; add the line, or remove it"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn examples_are_found_by_their_names() {
        let names: BTreeSet<_> = EXAMPLES.iter().map(|example| example.name).collect();
        assert_eq!(names.len(), EXAMPLES.len(), "cargo puts all of them into one folder");
    }

    #[test]
    fn output_without_the_text_is_shown_whole() {
        assert!(expect_in("b", "abc", "it printed").is_ok());
        assert!(expect_in("x", "abc", "it printed").unwrap_err().ends_with("abc"));
    }
}
