//! What was skipped inside a step that otherwise passed.
//!
//! A test that lacks a program or a file cannot tell cargo that it was skipped: to libtest it
//! passed. So it appends a line `name: reason` to the file that `STOOP_SKIPS` names, and this
//! reads it. Tests that are marked `#[ignore]` are found in libtest's own output.

use crate::command::Command;
use std::path::PathBuf;
use std::{env, fs, process};

/// The variable that tells tests where to say that they skipped.
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

    /// Tells the tests that `command` runs where to say that they skipped.
    pub(crate) fn told_to(&self, command: Command) -> Command {
        command.env(VARIABLE, &self.file)
    }

    /// What was told since the last call, each line once.
    pub(crate) fn take(&self) -> Vec<String> {
        let told = fs::read_to_string(&self.file).unwrap_or_default();
        let lines = told.lines().filter(|line| !line.trim().is_empty());
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

/// The tests that a run counted, and those it ignored.
#[derive(Default)]
pub(crate) struct Tally {
    pub(crate) passed: usize,
    pub(crate) ignored: usize,
}

impl Tally {
    /// Takes note of a line of libtest's output.
    pub(crate) fn look(&mut self, line: &str) {
        if let Some(result) = line.strip_prefix("test result: ") {
            let words: Vec<&str> = result.split([' ', ';']).collect();
            let before = |at: usize| words.get(at.checked_sub(1)?)?.parse::<usize>().ok();
            self.passed +=
                words.iter().position(|word| *word == "passed").and_then(before).unwrap_or(0);
        } else if line.starts_with("test ") && line.contains(" ... ignored") {
            self.ignored += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_say_that_they_skipped() {
        let skips = Skips::new().unwrap();
        let tell = format!("echo 'peer: needs nginx' >> ${VARIABLE}; echo >> ${VARIABLE}");
        skips.told_to(Command::new("sh").args(["-c", &tell])).run().unwrap();
        assert_eq!(skips.take(), ["peer: needs nginx"]);
        assert!(skips.take().is_empty());
        skips.remove();
    }

    #[test]
    fn libtest_is_read() {
        let mut tally = Tally::default();
        for line in [
            "test h1::head ... ok",
            "test slow ... ignored, takes a minute",
            "test plain ... ignored",
            "test result: ok. 12 passed; 0 failed; 2 ignored; 0 measured; 0 filtered out",
            "test result: FAILED. 3 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out",
        ] {
            tally.look(line);
        }
        assert_eq!(tally.passed, 15);
        assert_eq!(tally.ignored, 2);
    }
}
