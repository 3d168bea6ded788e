//! Tests that were skipped inside a step that otherwise passed.
//!
//! A test that lacks a program or a file cannot report to cargo that it was skipped: to libtest it
//! passed. So it appends a line `name: reason` to the file that `STOOP_SKIPS` names, and this
//! reads it.

use crate::command::Command;
use std::path::PathBuf;
use std::{env, fs, process};

/// The variable that names the file in which tests report that they skipped.
pub(crate) const VARIABLE: &str = "STOOP_SKIPS";

pub(crate) struct Skips {
    file: PathBuf,
}

impl Skips {
    pub(crate) fn new() -> Result<Self, String> {
        let file = env::temp_dir().join(format!("stoop-skips-{}", process::id()));
        fs::write(&file, "")
            .map_err(|error| format!("cannot write {}: {error}; is it full?", file.display()))?;
        Ok(Self { file })
    }

    /// Sets the variable for the tests that `command` runs.
    pub(crate) fn with_file(&self, command: Command) -> Command {
        command.env(VARIABLE, &self.file)
    }

    /// The skips reported since the last call, each line once.
    pub(crate) fn take(&self) -> Vec<String> {
        let reported = fs::read_to_string(&self.file).unwrap_or_default();
        let lines = reported.lines().filter(|line| !line.trim().is_empty());
        let mut skips: Vec<String> = lines.map(str::to_owned).collect();
        let _ = fs::write(&self.file, "");
        skips.sort();
        skips.dedup();
        skips
    }

    pub(crate) fn remove(&self) {
        let _ = fs::remove_file(&self.file);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_skips_that_tests_report_are_taken_once() {
        let skips = Skips::new().unwrap();
        let report = format!("echo 'peer: needs nginx' >> ${VARIABLE}; echo >> ${VARIABLE}");
        skips.with_file(Command::new("sh").args(["-c", &report])).run().unwrap();
        assert_eq!(skips.take(), ["peer: needs nginx"]);
        assert!(skips.take().is_empty());
        skips.remove();
    }
}
