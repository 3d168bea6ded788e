//! `cargo xtask`: the project's own commands, which `cargo xtask --help` lists.
//!
//! It depends on std alone, so that it starts within seconds on a fresh checkout. Nothing can be done
//! only with it: each step prints the command that it runs, and that command works on its own.

#![forbid(unsafe_code)]

mod bench;
mod command;
mod conformance;
mod goldens;
mod nevers;
mod test;
mod workspace;

use std::process::ExitCode;

const HELP: &str = "\
The project's own commands.

Usage: cargo xtask <COMMAND> [ARGS]

Commands:
  test         Everything a change must pass, in one command; start here
  nevers       The rules of ARCHITECTURE.md that no other program checks
  goldens      Rewrite the golden files of the tests, and show what changed
  conformance  Other projects' conformance suites, against our programs
  bench        Measure, side by side with other programs

Before a commit:    cargo xtask test
While working:      cargo xtask test --only clippy,tests
After a change of   cargo xtask goldens --bless
a state table:

`cargo xtask <COMMAND> --help` says more about each. CONTRIBUTING.md says how to write a test.
";

const NEVERS_HELP: &str = "\
Checks the rules of ARCHITECTURE.md that no other program checks: each dependency is listed there,
certain modules never import each other, and files import each other in a circle only where that
is explained there. rustc, clippy and cargo-deny check the others; ARCHITECTURE.md says which.

Usage: cargo xtask nevers

Prints each rule, and each place that breaks it as `file:line: what to do instead`. Comments and
tests are not looked at. Exits with 1 if a rule is broken.
The rules are the table in xtask/src/nevers/mod.rs.
";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let (command, args) = match args.split_first() {
        Some((command, args)) => (command.as_str(), args),
        None => ("--help", args.as_slice()),
    };
    let asks_help = args.first().is_some_and(|arg| arg == "--help" || arg == "-h");
    let done = match command {
        "--help" | "-h" | "help" => Ok(help(HELP)),
        "test" if asks_help => Ok(help(&test::help())),
        "nevers" if asks_help => Ok(help(NEVERS_HELP)),
        "goldens" if asks_help => Ok(help(goldens::HELP)),
        "conformance" if asks_help => Ok(help(&conformance::help())),
        "bench" if asks_help => Ok(help(bench::HELP)),
        "test" => test::run(args),
        "nevers" => match args {
            [] => nevers::run().map(succeed),
            [arg, ..] => Err(format!("nevers takes no arguments, and got `{arg}`")),
        },
        "goldens" => goldens::run(args).map(succeed),
        "conformance" => conformance::run(args),
        "bench" => bench::run(args).map(succeed),
        _ => Err(format!("no command `{command}`; `cargo xtask --help` lists them")),
    };
    done.unwrap_or_else(|message| {
        eprintln!("xtask: {message}");
        ExitCode::FAILURE
    })
}

fn help(text: &str) -> ExitCode {
    print!("{text}");
    ExitCode::SUCCESS
}

fn succeed((): ()) -> ExitCode {
    ExitCode::SUCCESS
}
