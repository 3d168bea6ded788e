//! The outcome that the testbed plans for each URL, as the program in `plan/` prints it.

use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use crate::fetch_lines::{FetchLine, OutcomeClass, fields};
use crate::program::Program;

/// The planned outcomes, in the order of the testbed's list.
pub(crate) struct PlannedOutcomes(Vec<PlannedOutcome>);

#[derive(Debug, PartialEq)]
struct PlannedOutcome {
    /// The codes that a correct client may report: one status, or names of a failure.
    codes: Vec<String>,
    /// The length of the body, where a response is planned.
    length: Option<u64>,
    /// How long the servers wait on purpose; none where only the deadline ends the wait.
    wait: Option<Duration>,
}

impl PlannedOutcomes {
    /// Reads the plan for clients that offer HTTP/2 by ALPN, or for those that do not.
    pub(crate) fn read(program: &Program, seed: u64, urls: u32, http2: bool) -> Result<Self> {
        let version = if http2 { "2" } else { "1" };
        let output = Command::new(&program.path)
            .args([&seed.to_string(), &urls.to_string(), version])
            .output()
            .with_context(|| program.path.display().to_string())?;
        let text = String::from_utf8(output.stdout).context("the plan is not text")?;
        let plan: Option<Vec<_>> = text.lines().map(PlannedOutcome::parse).collect();
        let plan = plan.context("the plan is not what stoop-bench-plan prints; build it again")?;
        ensure!(plan.len() == urls as usize, "the plan has {} URLs and not {urls}", plan.len());
        Ok(Self(plan))
    }

    /// Whether `line` has the planned class of status, or fails as planned.
    pub(crate) fn admits_class(&self, url: usize, line: &FetchLine, deadline: Duration) -> bool {
        self.0
            .get(url)
            .is_some_and(|planned| planned.is_close_to(deadline) || planned.class() == line.class())
    }

    /// Whether `line` has exactly the planned code and length.
    pub(crate) fn admits(&self, url: usize, line: &FetchLine, deadline: Duration) -> bool {
        self.0.get(url).is_some_and(|planned| {
            let length_fits = planned.length.is_none_or(|length| length == line.length);
            planned.is_close_to(deadline) || planned.codes.contains(&line.code) && length_fits
        })
    }
}

impl PlannedOutcome {
    fn parse(line: &str) -> Option<Self> {
        let fields = fields(line);
        let [codes, length, wait] = fields.as_slice() else { return None };
        let number = |text: &str| match text {
            "" => Some(None),
            digits => digits.parse::<u64>().ok().map(Some),
        };
        Some(Self {
            codes: codes.split('|').map(str::to_owned).collect(),
            length: number(length)?,
            wait: number(wait)?.map(Duration::from_millis),
        })
    }

    fn class(&self) -> OutcomeClass {
        OutcomeClass::of(self.codes.first().map_or("", String::as_str))
    }

    /// Whether the response may come before or after the deadline.
    fn is_close_to(&self, deadline: Duration) -> bool {
        self.wait.is_some_and(|wait| wait >= deadline.mul_f64(0.8))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEADLINE: Duration = Duration::from_secs(5);

    fn line(code: &str, length: u64) -> FetchLine {
        let (url, code) = (String::from("http://a/"), code.to_owned());
        FetchLine { url, code, started: DEADLINE, duration: Duration::ZERO, length }
    }

    #[test]
    fn a_line_has_the_planned_status_and_length_or_a_planned_failure() {
        let lines = ["200,13,40", "dns_timeout|total_timeout,,", "404,7,4500"];
        let plan = PlannedOutcomes(
            lines.iter().map(|line| PlannedOutcome::parse(line).unwrap()).collect(),
        );
        assert!(plan.admits(0, &line("200", 13), DEADLINE));
        assert!(!plan.admits(0, &line("200", 12), DEADLINE));
        assert!(plan.admits_class(0, &line("204", 0), DEADLINE));
        assert!(plan.admits(1, &line("total_timeout", 0), DEADLINE));
        assert!(!plan.admits(1, &line("reset", 0), DEADLINE));
        assert!(plan.admits_class(1, &line("reset", 0), DEADLINE));
        assert!(plan.admits(2, &line("total_timeout", 0), DEADLINE), "too close to the deadline");
        assert!(!plan.admits(3, &line("200", 13), DEADLINE), "not planned at all");
    }

    #[test]
    fn a_malformed_plan_is_refused() {
        assert_eq!(PlannedOutcome::parse("200,13"), None);
        assert_eq!(PlannedOutcome::parse("200,many,1"), None);
    }
}
