//! The output of Rust's test programs, read as it passes: counts of tests, and the failures to repeat
//! at the end of a report, where a long log is read first.

/// How many characters of failures a report repeats: those of some tests whole, and never a log.
const REPORT_CHARS_MAX: usize = 6_000;

/// The line before the output of failed tests, and again before their names.
const FAILURES: &str = "failures:";

/// The line before the frames of a panic, which are left out: they fill pages.
const BACKTRACE: &str = "stack backtrace:";

/// What a run of test programs printed so far.
#[derive(Default)]
pub(crate) struct TestRun {
    passed: usize,
    /// Tests that are marked `#[ignore]`: measurements, which mean nothing on a busy machine.
    ignored: usize,
    failed: Vec<String>,
    /// What failed tests printed.
    output: String,
    in_output: bool,
}

impl TestRun {
    /// Reads the next line of the output.
    pub(crate) fn read(&mut self, line: &str) {
        if line == FAILURES {
            self.in_output = !self.in_output;
        } else if let Some(result) = line.strip_prefix("test result: ") {
            self.in_output = false;
            self.passed += passed(result);
        } else if self.in_output {
            self.output.push_str(line);
            self.output.push('\n');
        } else if let Some((name, end)) =
            line.strip_prefix("test ").and_then(|rest| rest.split_once(" ... "))
        {
            if end.starts_with("ignored") {
                self.ignored += 1;
            } else if end == "FAILED" {
                self.failed.push(name.to_owned());
            }
        }
    }

    /// A note on a run that passed.
    pub(crate) fn note(&self) -> String {
        match self.ignored {
            0 => format!("{} tests", self.passed),
            ignored => format!("{} tests, {ignored} measurements not run", self.passed),
        }
    }

    /// Which tests failed and what they printed, after `how` the command ended.
    pub(crate) fn failures(&self, how: &str) -> String {
        if self.failed.is_empty() {
            // A test program that was killed or does not compile says so on its standard error.
            return how.to_owned();
        }
        let mut report = format!("{how}; failed: {}", self.failed.join(", "));
        let mut is_backtrace = false;
        for line in self.output.lines().filter(|line| !line.trim().is_empty()) {
            // Its lines are indented; what follows it is not.
            is_backtrace = line == BACKTRACE || is_backtrace && line.starts_with(' ');
            if !is_backtrace {
                report.push_str("\n  ");
                report.push_str(line);
            }
        }
        if let Some((end, _)) = report.char_indices().nth(REPORT_CHARS_MAX) {
            report.truncate(end);
            report.push_str(" … (the rest is above)");
        }
        report
    }
}

/// The number before `passed` in libtest's last line.
fn passed(result: &str) -> usize {
    let words: Vec<&str> = result.split([' ', ';']).collect();
    let at = words.iter().position(|word| *word == "passed");
    at.and_then(|at| words.get(at.checked_sub(1)?)?.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run_of(lines: &[&str]) -> TestRun {
        let mut run = TestRun::default();
        lines.iter().for_each(|line| run.read(line));
        run
    }

    #[test]
    fn tests_are_counted() {
        let run = run_of(&[
            "test h1::head ... ok",
            "test slow ... ignored, takes a minute",
            "test plain ... ignored",
            "test result: ok. 12 passed; 0 failed; 2 ignored; 0 measured; 0 filtered out",
            "test result: FAILED. 3 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out",
        ]);
        assert_eq!(run.note(), "15 tests, 2 measurements not run");
    }

    #[test]
    fn failures_are_repeated_with_what_they_printed() {
        let run = run_of(&[
            "test one ... FAILED",
            "test two ... ok",
            "",
            "failures:",
            "",
            "---- one stdout ----",
            "left: 1, right: 2",
            "stack backtrace:",
            "   0: rust_begin_unwind",
            "             at ./src/lib.rs:1:2",
            "the end",
            "",
            "failures:",
            "    one",
            "",
            "test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out",
            "test three ... ok",
            "printed by a test that passed",
        ]);
        assert_eq!(
            run.failures("ended with exit status: 101"),
            "ended with exit status: 101; failed: one\n  ---- one stdout ----\n  left: 1, right: 2\n  the end"
        );
    }

    #[test]
    fn a_long_failure_is_cut() {
        let mut run = run_of(&["test one ... FAILED", "failures:"]);
        (0..REPORT_CHARS_MAX).for_each(|_| run.read("ä line"));
        let report = run.failures("ended");
        assert!(report.chars().count() < REPORT_CHARS_MAX + 100, "{}", report.len());
        assert!(report.ends_with("(the rest is above)"), "{report}");
    }

    #[test]
    fn a_run_without_a_failed_test_says_how_it_ended_alone() {
        assert_eq!(run_of(&["test one ... ok"]).failures("killed"), "killed");
    }
}
