//! The options of `stoop fetch` on which answers get a line.

use std::fmt::{self, Display, Formatter};
use std::ops::RangeInclusive;

use clap::Args;
use regex::bytes::{Regex, RegexBuilder};
use stoop_fetch::robots::RobotsTag;
use stoop_fetch::summary::ResultCode;
use stoop_fetch::{Fetch, Record};

use crate::units;

/// How long a pattern may be once it is compiled, in bytes.
const PATTERN_BYTES_MAX: usize = 1 << 20;

/// Which answers get a line. All conditions that are given have to hold.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Filters")]
pub(crate) struct FilterArgs {
    /// Write and save only these statuses and kinds of error, as 200,3xx,400-499,dns_nxdomain
    ///
    /// 'error' stands for all kinds of error
    #[arg(long, value_name = "CODES", value_delimiter = ',', value_parser = CodePattern::read)]
    match_code: Vec<CodePattern>,

    /// Write and save none of these. What is passed over is counted in the summary
    #[arg(long, value_name = "CODES", value_delimiter = ',', value_parser = CodePattern::read)]
    skip_code: Vec<CodePattern>,

    /// Only bodies of this length, as 1KiB-1MiB, 100- or -5000
    #[arg(long, value_name = "MIN-MAX", value_parser = lengths, conflicts_with_all = ["head", "no_content"])]
    match_length: Option<RangeInclusive<u64>>,

    /// No bodies of this length
    #[arg(long, value_name = "MIN-MAX", value_parser = lengths, conflicts_with_all = ["head", "no_content"])]
    skip_length: Option<RangeInclusive<u64>>,

    /// Only these media types, as text/html or image/*; may be several, separated by commas
    #[arg(long, value_name = "TYPES", value_delimiter = ',', value_parser = media_type)]
    match_type: Vec<String>,

    /// None of these media types
    #[arg(long, value_name = "TYPES", value_delimiter = ',', value_parser = media_type)]
    skip_type: Vec<String>,

    /// Only bodies in which this regular expression is found; '(?i)' before it ignores case
    ///
    /// With --save, it has to be found in the first 1 MiB of a body that is longer
    #[arg(long, value_name = "REGEX", value_parser = pattern, conflicts_with_all = ["head", "no_content"])]
    match_text: Option<Regex>,

    /// No bodies in which this regular expression is found
    ///
    /// With --save, the first 1 MiB of a body counts
    #[arg(long, value_name = "REGEX", value_parser = pattern, conflicts_with_all = ["head", "no_content"])]
    skip_text: Option<Regex>,

    /// No answers whose X-Robots-Tag has one of these rules, as noai,noimageai,noindex,noimageindex
    ///
    /// Rules for all agents count, and with --robots those for its agent. The elements <meta name="robots"> of a page do not:
    /// --extract robots tells them
    #[arg(long, value_name = "RULES", value_delimiter = ',', value_parser = robots_rule)]
    skip_robots_tag: Vec<String>,
}

impl FilterArgs {
    /// Tells the library. `agent` is the name that robots.txt knows the program by, if it counts.
    pub(super) fn apply(&self, fetch: Fetch, agent: Option<&str>) -> Fetch {
        if self.is_empty() {
            return fetch;
        }
        let (filter, agent) = (self.clone(), agent.unwrap_or_default().to_owned());
        let has_text = self.match_text.is_some() || self.skip_text.is_some();
        fetch.keep_content(has_text).filter(move |record| filter.keeps(record, &agent))
    }

    /// What shapes the lines, by the names of the options.
    pub(super) fn shape(&self) -> [(&'static str, String); 9] {
        let codes = |codes: &[CodePattern]| {
            codes.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
        };
        let length = |lengths: &Option<RangeInclusive<u64>>| match lengths {
            Some(lengths) => format!("{}-{}", lengths.start(), lengths.end()),
            None => String::new(),
        };
        let text = |pattern: &Option<Regex>| match pattern {
            Some(pattern) => pattern.as_str().to_owned(),
            None => String::new(),
        };
        [
            ("--match-code", codes(&self.match_code)),
            ("--skip-code", codes(&self.skip_code)),
            ("--match-length", length(&self.match_length)),
            ("--skip-length", length(&self.skip_length)),
            ("--match-type", self.match_type.join(",")),
            ("--skip-type", self.skip_type.join(",")),
            ("--match-text", text(&self.match_text)),
            ("--skip-text", text(&self.skip_text)),
            ("--skip-robots-tag", self.skip_robots_tag.join(",")),
        ]
    }

    fn is_empty(&self) -> bool {
        self.shape().iter().all(|(_, value)| value.is_empty())
    }

    fn keeps(&self, record: &Record<'_>, agent: &str) -> bool {
        let outcome = record.outcome;
        let matches = |patterns: &[CodePattern]| patterns.iter().any(|it| it.matches(outcome.code));
        let has_length = |lengths: &RangeInclusive<u64>| {
            matches!(outcome.code, ResultCode::Status(_)) && lengths.contains(&outcome.body_bytes)
        };
        let has_text = |pattern: &Regex| {
            outcome.capture.as_ref().is_some_and(|capture| pattern.is_match(&capture.content))
        };
        (self.match_code.is_empty() || matches(&self.match_code))
            && !matches(&self.skip_code)
            && self.match_length.as_ref().is_none_or(has_length)
            && !self.skip_length.as_ref().is_some_and(has_length)
            && (self.match_type.is_empty() || has_type(record, &self.match_type))
            && (self.skip_type.is_empty() || !has_type(record, &self.skip_type))
            && !self.has_robots_rule(record, agent)
            && self.match_text.as_ref().is_none_or(has_text)
            && !self.skip_text.as_ref().is_some_and(has_text)
    }

    /// Whether the X-Robots-Tag of an answer has one of the rules that are passed over.
    fn has_robots_rule(&self, record: &Record<'_>, agent: &str) -> bool {
        let Some(details) =
            record.outcome.details.as_ref().filter(|_| !self.skip_robots_tag.is_empty())
        else {
            return false;
        };
        let rules = details.robots_tag(agent).to_string();
        rules.split(", ").any(|rule| self.skip_robots_tag.iter().any(|skipped| skipped == rule))
    }
}

/// Whether an answer has one of these media types.
fn has_type(record: &Record<'_>, types: &[String]) -> bool {
    let details = record.outcome.details.as_ref();
    let of = details.and_then(|details| details.content_type.as_deref()).unwrap_or_default();
    let of = of.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    types.iter().any(|wanted| match wanted.strip_suffix('*') {
        Some("*/") => !of.is_empty(),
        Some(begin) => of.starts_with(begin),
        None => of == *wanted,
    })
}

/// Reads a rule of X-Robots-Tag that has no value.
fn robots_rule(text: &str) -> Result<String, String> {
    let rule = text.trim().to_ascii_lowercase();
    let known = RobotsTag::parse([rule.as_bytes()], "").to_string();
    match known == rule && !rule.is_empty() {
        true => Ok(rule),
        false => Err("must be noindex, nofollow, noarchive, nosnippet, noimageindex, notranslate, noai, noimageai or indexifembedded".to_owned()),
    }
}

/// Codes of answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum CodePattern {
    Statuses(RangeInclusive<u16>),
    AnyError,
    Error(String),
}

impl Display for CodePattern {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Statuses(statuses) => write!(f, "{}-{}", statuses.start(), statuses.end()),
            Self::AnyError => f.write_str("error"),
            Self::Error(kind) => f.write_str(kind),
        }
    }
}

impl CodePattern {
    pub(super) fn read(text: &str) -> Result<Self, String> {
        let status = |text: &str| {
            let digits = text.len() == 3 && text.bytes().all(|byte| byte.is_ascii_digit());
            text.parse::<u16>().ok().filter(|_| digits)
        };
        if let Some(&[class @ b'1'..=b'9']) = text.strip_suffix("xx").map(str::as_bytes) {
            let class = u16::from(class - b'0');
            return Ok(Self::Statuses(class * 100..=class * 100 + 99));
        }
        if let Some(one) = status(text) {
            return Ok(Self::Statuses(one..=one));
        }
        if let Some((first, last)) = text.split_once('-')
            && let (Some(first), Some(last)) = (status(first), status(last))
            && first <= last
        {
            return Ok(Self::Statuses(first..=last));
        }
        if text == "error" {
            return Ok(Self::AnyError);
        }
        match crate::hints::hint(text) {
            Some(_) => Ok(Self::Error(text.to_owned())),
            None => Err(
                "must be a status, as 200, 2xx or 400-499, a kind of error of 'stoop fetch --help', \
                 or 'error'"
                    .to_owned(),
            ),
        }
    }

    pub(super) fn matches(&self, code: ResultCode<'_>) -> bool {
        match (self, code) {
            (Self::Statuses(range), ResultCode::Status(status)) => range.contains(&status),
            (Self::AnyError, ResultCode::Error(_)) => true,
            (Self::Error(kind), ResultCode::Error(of)) => kind == of,
            _ => false,
        }
    }
}

/// `MIN-MAX`, where each may be missing.
fn lengths(text: &str) -> Result<RangeInclusive<u64>, String> {
    let fault = || "must be MIN-MAX, MIN- or -MAX, as 1KiB-1MiB".to_owned();
    let (min, max) = text.split_once('-').ok_or_else(fault)?;
    let size = |text: &str, missing: u64| match text {
        "" => Ok(missing),
        text => units::size(text).and_then(|size| size.ok_or_else(fault)),
    };
    let (min, max) = (size(min, 0)?, size(max, u64::MAX)?);
    if text == "-" || min > max { Err(fault()) } else { Ok(min..=max) }
}

fn media_type(text: &str) -> Result<String, String> {
    let text = text.trim().to_ascii_lowercase();
    match text.split_once('/') {
        Some((main, sub)) if !main.is_empty() && !sub.is_empty() => Ok(text),
        _ => Err("must be a media type, as text/html or image/*".to_owned()),
    }
}

fn pattern(text: &str) -> Result<Regex, String> {
    if text.is_empty() {
        return Err("must not be empty: it is found everywhere".to_owned());
    }
    let pattern = RegexBuilder::new(text).size_limit(PATTERN_BYTES_MAX).build();
    pattern.map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_statuses_and_kinds_of_error() {
        let statuses = |first, last| Ok(CodePattern::Statuses(first..=last));
        assert_eq!(CodePattern::read("200"), statuses(200, 200));
        assert_eq!(CodePattern::read("4xx"), statuses(400, 499));
        assert_eq!(CodePattern::read("300-399"), statuses(300, 399));
        assert_eq!(CodePattern::read("error"), Ok(CodePattern::AnyError));
        let kind = CodePattern::read("dns_nxdomain").expect("a kind");
        assert!(kind.matches(ResultCode::Error("dns_nxdomain")));
        assert!(!kind.matches(ResultCode::Error("dns_timeout")));
        for text in ["", "20", "2000", "0xx", "xx", "500-400", "+20", "+2xx", "dns"] {
            assert!(CodePattern::read(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn lengths_have_two_ends() {
        assert_eq!(lengths("1KiB-1MiB"), Ok(1024..=1 << 20));
        assert_eq!(lengths("100-"), Ok(100..=u64::MAX));
        assert_eq!(lengths("-5"), Ok(0..=5));
        for text in ["", "-", "5", "9-5", "a-b", "none-5"] {
            assert!(lengths(text).is_err(), "{text:?}");
        }
    }
}
