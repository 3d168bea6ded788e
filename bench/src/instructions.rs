//! Counts the instructions of a program, by valgrind, which a busy machine does not change.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::process;

/// The instructions of `program` with these arguments, from start to end.
pub(crate) fn count(
    valgrind: &Path,
    program: &Path,
    arguments: &[&str],
    directory: &Path,
) -> Result<u64> {
    let mut command = Command::new(valgrind);
    command
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(program)
        .args(arguments)
        .current_dir(directory);
    let output = process::output(&mut command).context("valgrind")?;
    let printed = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "valgrind of {} failed: {printed}", program.display());
    collected(&printed).with_context(|| format!("valgrind does not say what it counted: {printed}"))
}

/// The count in `==PID== Collected : N`.
fn collected(printed: &str) -> Option<u64> {
    let line = printed.lines().find_map(|line| line.split_once("Collected :"))?;
    line.1.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_count_of_valgrind_is_found() {
        assert_eq!(collected("==1== Events    : Ir\n==1== Collected : 123\n==1== \n"), Some(123));
        assert_eq!(collected("nothing"), None);
    }
}
