//! `cargo xtask bench`: passes its arguments on to the runner in `bench/`.
//!
//! `bench/` is a workspace of its own, so that the programs we compare with stay out of our lock file.

use crate::command::Command;
use crate::workspace;

pub(crate) const HELP: &str = "\
Measures, side by side with other programs; a figure in a commit message comes from here.

Usage: cargo xtask bench [ARGS]

ARGS go to the runner in bench/ as they are; without any it explains itself, and bench/README.md
says how to repeat each figure. (This help: `cargo xtask bench --help`; the runner's own:
`cargo xtask bench help`.)
";

pub(crate) fn run(args: &[String]) -> Result<(), String> {
    let manifest = workspace::root().join("bench/Cargo.toml");
    if !manifest.is_file() {
        return Err("bench/Cargo.toml is not there; run this in a complete checkout".to_owned());
    }
    let runner = Command::cargo("run").args(["--release", "--manifest-path"]).arg(manifest);
    // The runner stops what it started when a signal stops it, so it must get the signals itself.
    Err(runner.arg("--").args(args).exec())
}
