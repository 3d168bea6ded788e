//! `cargo xtask goldens --bless`: rewrites the golden files from what the code does now.

use crate::command::Command;

pub(crate) const HELP: &str = "\
Rewrites the golden files (state tables, message goldens) from what the code does now, and shows
which of them changed. Read `git diff` before committing: each changed line is a change of
behaviour, and the commit message says why it is right.

Usage: cargo xtask goldens --bless [CARGO TEST ARGS]

  cargo xtask goldens --bless                            all of them
  cargo xtask goldens --bless -p stoop-test              those of one crate
  cargo xtask goldens --bless -p stoop-test rfc9113::    those of some tests

It runs the tests with STOOP_BLESS=1 in the environment, which nothing but the golden files' tests
reads. stoop-test and stoop-testbed have golden files, in folders named goldens.
";

pub(crate) fn run(args: &[String]) -> Result<(), String> {
    let [bless, args @ ..] = args else { return Err(ask_for_bless()) };
    if bless != "--bless" {
        return Err(ask_for_bless());
    }
    let mut tests = Command::cargo("test").env("STOOP_BLESS", "1").arg("--no-fail-fast");
    let chooses_package =
        args.iter().any(|arg| arg == "--package" || arg.starts_with("-p") || arg == "--workspace");
    if !chooses_package {
        tests = tests.arg("--workspace");
    }
    let tests = tests.args(args);
    let tested = tests.run();
    println!("\nchanged files of the repository (read `git diff`; new files are listed below):");
    Command::new("git").args(["--no-pager", "diff", "--stat"]).run()?;
    Command::new("git").args(["ls-files", "--others", "--exclude-standard"]).run()?;
    tested.map_err(|how| format!("some tests fail even so; `{tests}` {how}"))
}

fn ask_for_bless() -> String {
    "goldens rewrites files: run `cargo xtask goldens --bless`, or `--help` to read more".to_owned()
}
