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
    let printed =
        run(valgrind, &["--callgrind-out-file=/dev/null"], program, arguments, directory)?;
    collected(&printed).with_context(|| format!("valgrind does not say what it counted: {printed}"))
}

/// The same of the second thread of it.
pub(crate) fn count_of_second_thread(
    valgrind: &Path,
    program: &Path,
    arguments: &[&str],
    directory: &Path,
) -> Result<u64> {
    const FILE: &str = "callgrind";
    let option = format!("--callgrind-out-file={}", directory.join(FILE).display());
    let options = ["--separate-threads=yes", &option];
    run(valgrind, &options, program, arguments, directory)?;
    let counts = std::fs::read_to_string(directory.join(format!("{FILE}-02")))
        .context("the counts of the second thread")?;
    total(&counts).context("valgrind does not say what it counted")
}

/// Runs `program` under valgrind. Returns what that prints.
fn run(
    valgrind: &Path,
    options: &[&str],
    program: &Path,
    arguments: &[&str],
    directory: &Path,
) -> Result<String> {
    let mut command = Command::new(valgrind);
    command.arg("--tool=callgrind").args(options);
    command.arg(program).args(arguments).current_dir(directory);
    let output = process::output(&mut command).context("valgrind")?;
    let printed = String::from_utf8_lossy(&output.stderr).into_owned();
    ensure!(output.status.success(), "valgrind of {} failed: {printed}", program.display());
    Ok(printed)
}

/// The count in `==PID== Collected : N`.
fn collected(printed: &str) -> Option<u64> {
    let line = printed.lines().find_map(|line| line.split_once("Collected :"))?;
    line.1.trim().parse().ok()
}

/// The count in `totals: N`.
fn total(counts: &str) -> Option<u64> {
    counts.lines().find_map(|line| line.strip_prefix("totals: "))?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_count_of_valgrind_is_found() {
        assert_eq!(collected("==1== Events    : Ir\n==1== Collected : 123\n==1== \n"), Some(123));
        assert_eq!(collected("nothing"), None);
        assert_eq!(total("+1 2\n\ntotals: 6766580\n"), Some(6_766_580));
        assert_eq!(total("summary: 1"), None);
    }
}
