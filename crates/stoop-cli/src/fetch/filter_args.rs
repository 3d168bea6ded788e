//! The options of `stoop fetch` on which answers get a line.

use std::fmt::{self, Display, Formatter};
use std::ops::RangeInclusive;

use clap::Args;
use regex::bytes::{Regex, RegexBuilder};
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

    /// Only these media types, as text/html or image/*; may be several, separated by commas
    #[arg(long, value_name = "TYPES", value_delimiter = ',', value_parser = media_type)]
    match_type: Vec<String>,

    /// Only bodies in which this regular expression is found; '(?i)' before it ignores case
    ///
    /// With --save, it has to be found in the first 1 MiB of a body that is longer
    #[arg(long, value_name = "REGEX", value_parser = pattern, conflicts_with_all = ["head", "no_content"])]
    match_text: Option<Regex>,
}

impl FilterArgs {
    /// Tells the library.
    pub(super) fn apply(&self, fetch: Fetch) -> Fetch {
        if self.is_empty() {
            return fetch;
        }
        let filter = self.clone();
        fetch.keep_content(self.match_text.is_some()).filter(move |record| filter.keeps(record))
    }

    /// What shapes the lines, by the names of the options.
    pub(super) fn shape(&self) -> [(&'static str, String); 5] {
        let codes = |codes: &[CodePattern]| {
            codes.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
        };
        let lengths = self.match_length.as_ref();
        let lengths = lengths.map(|lengths| format!("{}-{}", lengths.start(), lengths.end()));
        let text = self.match_text.as_ref().map(|pattern| pattern.as_str().to_owned());
        [
            ("--match-code", codes(&self.match_code)),
            ("--skip-code", codes(&self.skip_code)),
            ("--match-length", lengths.unwrap_or_default()),
            ("--match-type", self.match_type.join(",")),
            ("--match-text", text.unwrap_or_default()),
        ]
    }

    fn is_empty(&self) -> bool {
        let Self { match_code, skip_code, match_length, match_type, match_text } = self;
        match_code.is_empty()
            && skip_code.is_empty()
            && match_length.is_none()
            && match_type.is_empty()
            && match_text.is_none()
    }

    fn keeps(&self, record: &Record<'_>) -> bool {
        let outcome = record.outcome;
        let matches = |patterns: &[CodePattern]| patterns.iter().any(|it| it.matches(outcome.code));
        (self.match_code.is_empty() || matches(&self.match_code))
            && !matches(&self.skip_code)
            && self.match_length.as_ref().is_none_or(|lengths| {
                matches!(outcome.code, ResultCode::Status(_))
                    && lengths.contains(&outcome.body_bytes)
            })
            && (self.match_type.is_empty() || self.has_type(record))
            && self.match_text.as_ref().is_none_or(|pattern| {
                outcome.capture.as_ref().is_some_and(|capture| pattern.is_match(&capture.content))
            })
    }

    fn has_type(&self, record: &Record<'_>) -> bool {
        let details = record.outcome.details.as_ref();
        let of = details.and_then(|details| details.content_type.as_deref()).unwrap_or_default();
        let of = of.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        self.match_type.iter().any(|wanted| match wanted.strip_suffix('*') {
            Some("*/") => !of.is_empty(),
            Some(begin) => of.starts_with(begin),
            None => of == *wanted,
        })
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
