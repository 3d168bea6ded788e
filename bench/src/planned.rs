//! The outcome that the testbed plans for each URL, as `stoop testbed --expected` writes it.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};

use crate::fetch_lines::{FetchLine, OutcomeClass, fields};

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
    pub(crate) fn read(path: &Path, http2: bool) -> Result<Self> {
        let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
        Self::parse(&text, http2)
            .context("the plan is not what the testbed writes; adapt planned.rs")
    }

    /// Parses CSV whose first line names the columns, of which these are read: `codes`, `length` and `wait_ms`, and
    /// for clients without HTTP/2 `http1_codes` and `http1_length`, which are empty where they are the same.
    fn parse(text: &str, http2: bool) -> Option<Self> {
        let mut lines = text.lines();
        let head = fields(lines.next()?);
        let column = |name: &str| head.iter().position(|column| column == name);
        let [codes, length, wait] = [column("codes")?, column("length")?, column("wait_ms")?];
        let http1 = [column("http1_codes")?, column("http1_length")?];
        let outcome = |line| {
            let row = fields(line);
            let is_other = !http2 && !row.get(http1[0])?.is_empty();
            let [codes, length] = if is_other { http1 } else { [codes, length] };
            PlannedOutcome::parse(row.get(codes)?, row.get(length)?, row.get(wait)?)
        };
        lines.map(outcome).collect::<Option<_>>().map(Self)
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
    fn parse(codes: &str, length: &str, wait: &str) -> Option<Self> {
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
    const PLAN: &str = "url,codes,length,wait_ms,http1_codes,http1_length\n\
                        http://a/,200,13,40,,\n\
                        http://b/,dns_timeout|total_timeout,,,,\n\
                        http://c/,404,7,4500,,\n\
                        https://d/,h2_protocol,,1,200,5\n";

    fn line(code: &str, length: u64) -> FetchLine {
        let (url, code) = (String::from("http://a/"), code.to_owned());
        FetchLine { url, code, started: DEADLINE, duration: Duration::ZERO, length }
    }

    #[test]
    fn a_line_has_the_planned_status_and_length_or_a_planned_failure() {
        let plan = PlannedOutcomes::parse(PLAN, true).unwrap();
        assert!(plan.admits(0, &line("200", 13), DEADLINE));
        assert!(!plan.admits(0, &line("200", 12), DEADLINE));
        assert!(plan.admits_class(0, &line("204", 0), DEADLINE));
        assert!(plan.admits(1, &line("total_timeout", 0), DEADLINE));
        assert!(!plan.admits(1, &line("reset", 0), DEADLINE));
        assert!(plan.admits_class(1, &line("reset", 0), DEADLINE));
        assert!(plan.admits(2, &line("total_timeout", 0), DEADLINE), "too close to the deadline");
        assert!(!plan.admits(4, &line("200", 13), DEADLINE), "not planned at all");
    }

    #[test]
    fn a_client_without_http2_has_outcomes_of_its_own_where_they_differ() {
        let plan = PlannedOutcomes::parse(PLAN, false).unwrap();
        assert!(plan.admits(0, &line("200", 13), DEADLINE));
        assert!(plan.admits(3, &line("200", 5), DEADLINE));
        assert!(!plan.admits(3, &line("h2_protocol", 0), DEADLINE));
        let plan = PlannedOutcomes::parse(PLAN, true).unwrap();
        assert!(plan.admits(3, &line("h2_protocol", 0), DEADLINE));
    }

    #[test]
    fn a_malformed_plan_is_refused() {
        let head = "codes,length,wait_ms,http1_codes,http1_length";
        assert!(PlannedOutcomes::parse(&format!("{head}\n200,13,1,,"), true).is_some());
        for wrong in ["200,13", "200,many,1,,"] {
            assert!(PlannedOutcomes::parse(&format!("{head}\n{wrong}"), true).is_none(), "{wrong}");
        }
        assert!(PlannedOutcomes::parse("codes,length\n200,13", true).is_none());
    }
}
