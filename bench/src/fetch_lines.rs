//! The lines that a client prints, `url,code,start_time,duration,body_length`, and figures of them.

use std::collections::HashMap;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};
use jiff::Timestamp;

/// The outcome of a URL, coarse enough to be the same for every client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum OutcomeClass {
    /// A status, by its first digit: 2 for 200 to 299.
    Status(u8),
    Failed,
}

impl OutcomeClass {
    /// The class of a status, of a text such as `2xx`, or of the name of a failure.
    pub(crate) fn of(code: &str) -> Self {
        match code.as_bytes() {
            [first @ b'1'..=b'5', b'0'..=b'9' | b'x', b'0'..=b'9' | b'x'] => {
                Self::Status(first - b'0')
            }
            _ => Self::Failed,
        }
    }
}

/// One line of a client.
#[derive(Debug, PartialEq)]
pub(crate) struct FetchLine {
    pub(crate) url: String,
    pub(crate) code: String,
    /// The start time, since the epoch.
    pub(crate) started: Duration,
    pub(crate) duration: Duration,
    pub(crate) length: u64,
}

impl FetchLine {
    pub(crate) fn class(&self) -> OutcomeClass {
        OutcomeClass::of(&self.code)
    }

    fn end(&self) -> Duration {
        self.started + self.duration
    }

    fn parse(text: &str) -> Option<Self> {
        let fields = fields(text);
        let [url, code, started, duration, length] = fields.as_slice() else { return None };
        let started: Timestamp = started.parse().ok()?;
        Some(Self {
            url: url.clone(),
            code: code.clone(),
            started: Duration::try_from(started.as_duration()).ok()?,
            duration: Duration::from_millis(duration.parse().ok()?),
            length: length.parse().ok()?,
        })
    }
}

/// The fields of one line of CSV, unquoted by RFC 4180.
pub(crate) fn fields(line: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut quoted = false;
    let mut characters = line.chars().peekable();
    while let Some(character) = characters.next() {
        let field = fields.len() - 1;
        match character {
            '"' if quoted && characters.peek() == Some(&'"') => {
                characters.next();
                fields[field].push('"');
            }
            '"' => quoted = !quoted,
            ',' if !quoted => fields.push(String::new()),
            other => fields[field].push(other),
        }
    }
    fields
}

/// All lines of a client.
pub(crate) struct FetchLines {
    pub(crate) lines: Vec<FetchLine>,
    /// The number of lines that do not keep the contract.
    pub(crate) malformed: usize,
}

impl FetchLines {
    pub(crate) fn read(path: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
        Ok(Self::parse(&text))
    }

    pub(crate) fn parse(text: &str) -> Self {
        let parsed: Vec<_> = text.lines().map(FetchLine::parse).collect();
        let malformed = parsed.iter().filter(|line| line.is_none()).count();
        Self { lines: parsed.into_iter().flatten().collect(), malformed }
    }

    pub(crate) fn count(&self, class: OutcomeClass) -> usize {
        self.lines.iter().filter(|line| line.class() == class).count()
    }

    /// The number of `urls` that have no line, several, or one that does not fit, and of the lines that belong
    /// to no URL.
    pub(crate) fn misfits(
        &self,
        urls: &[String],
        fits: impl Fn(usize, &FetchLine) -> bool,
    ) -> usize {
        let mut by_url: HashMap<&str, Vec<&FetchLine>> = HashMap::new();
        for line in &self.lines {
            by_url.entry(line.url.as_str()).or_default().push(line);
        }
        let misfit = |(index, url): (usize, &String)| {
            let lines = by_url.remove(url.as_str()).unwrap_or_default();
            !matches!(lines.as_slice(), [line] if fits(index, line))
        };
        let misfits = urls.iter().enumerate().map(misfit).filter(|misfit| *misfit).count();
        misfits + by_url.values().map(Vec::len).sum::<usize>() + self.malformed
    }

    /// The mean number in flight from the first start to the last.
    pub(crate) fn mean_in_flight(&self) -> Option<f64> {
        let first = self.lines.iter().map(|line| line.started).min()?;
        let last = self.last_start()?;
        let busy: Duration =
            self.lines.iter().map(|line| line.end().min(last) - line.started).sum();
        let window = (last - first).as_secs_f64();
        (window > 0.0).then(|| busy.as_secs_f64() / window)
    }

    /// The time from the first start to the last end.
    pub(crate) fn time(&self) -> Option<Duration> {
        let first = self.lines.iter().map(|line| line.started).min()?;
        Some(self.lines.iter().map(FetchLine::end).max()? - first)
    }

    /// The time from the last start to the last end.
    pub(crate) fn tail(&self) -> Option<Duration> {
        Some(self.lines.iter().map(FetchLine::end).max()? - self.last_start()?)
    }

    fn last_start(&self) -> Option<Duration> {
        self.lines.iter().map(|line| line.started).max()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(rows: &[(&str, u64, u64)]) -> FetchLines {
        let text = rows.iter().map(|(code, second, ms)| {
            format!("http://a/,{code},2026-11-21T00:00:{second:02}Z,{ms},7\n")
        });
        FetchLines::parse(&text.collect::<String>())
    }

    #[test]
    fn a_quoted_url_is_one_field() {
        let line = "\"http://a/1,2\"\"3\",200,2026-11-21T00:00:00.250Z,12,13";
        let line = FetchLine::parse(line).unwrap();
        assert_eq!(line.url, "http://a/1,2\"3");
        assert_eq!((line.code.as_str(), line.duration.as_millis(), line.length), ("200", 12, 13));
        assert_eq!(FetchLines::parse("http://a/,200,now,1,2\n").malformed, 1);
    }

    #[test]
    fn a_class_is_a_status_or_a_failure() {
        assert_eq!(OutcomeClass::of("204"), OutcomeClass::Status(2));
        assert_eq!(OutcomeClass::of("5xx"), OutcomeClass::Status(5));
        assert_eq!(OutcomeClass::of("dns_nxdomain"), OutcomeClass::Failed);
        assert_eq!(OutcomeClass::of("2000"), OutcomeClass::Failed);
    }

    #[test]
    fn the_mean_in_flight_ends_with_the_last_start() {
        let lines = lines(&[("200", 0, 4_000), ("200", 0, 2_000), ("200", 2, 60_000)]);
        assert_eq!(lines.mean_in_flight(), Some(2.0));
        assert_eq!(lines.tail(), Some(Duration::from_secs(60)));
    }

    #[test]
    fn a_missing_a_repeated_an_unknown_and_a_wrong_line_each_count() {
        let url = [String::from("http://a/")];
        let ok = |_, line: &FetchLine| line.code == "200";
        assert_eq!(lines(&[("200", 0, 1)]).misfits(&url, ok), 0);
        assert_eq!(lines(&[]).misfits(&url, ok), 1);
        assert_eq!(lines(&[("200", 0, 1), ("200", 0, 1)]).misfits(&url, ok), 1);
        assert_eq!(lines(&[("timeout", 0, 1)]).misfits(&url, ok), 1);
        assert_eq!(lines(&[("200", 0, 1)]).misfits(&[], ok), 1);
    }
}
