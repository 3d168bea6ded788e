//! Formats the line of one URL: CSV, JSONL or pretty.

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::Write as _;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use jiff::Timestamp;
use serde::Serialize;

use super::args::LineFormat;
use super::lane::Extent;
use super::outcome::{Details, UrlOutcome};
use crate::mask;
use crate::summary::ResultCode;
use crate::table::Printable;

/// The content of one line.
#[derive(Clone, Copy, Debug)]
pub(super) struct UrlRecord<'a> {
    /// The line of the input, trimmed; any bytes. It is shown without a password.
    pub(super) url: &'a [u8],
    /// Whether `url` is the whole line.
    pub(super) extent: Extent,
    /// When the URL took its slot, in milliseconds of Unix time.
    pub(super) start_ms: i64,
    pub(super) duration: Duration,
    pub(super) outcome: &'a UrlOutcome,
}

/// The current time, in milliseconds of Unix time.
pub(super) fn unix_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// Formats records as lines of one format. Each core has its own, which keeps its buffer and the text of
/// the last timestamp.
#[derive(Debug)]
pub(super) struct LineFormatter {
    format: LineFormat,
    is_coloured: bool,
    is_terminal: bool,
    /// The method of all requests.
    method: String,
    timestamps: TimestampFormatter,
    line: Vec<u8>,
}

impl LineFormatter {
    /// With `is_terminal`, control characters of a URL are escaped.
    pub(super) fn new(format: LineFormat, is_coloured: bool, is_terminal: bool) -> Self {
        Self {
            format,
            is_coloured,
            is_terminal,
            method: "GET".to_owned(),
            timestamps: TimestampFormatter::default(),
            line: Vec::with_capacity(256),
        }
    }

    /// The same for requests of another method.
    pub(super) fn with_method(mut self, method: &str) -> Self {
        method.clone_into(&mut self.method);
        self
    }

    /// The line of `record`, with its end.
    pub(super) fn format(&mut self, record: UrlRecord<'_>) -> &[u8] {
        self.line.clear();
        let shown = mask::line(record.url, record.extent == Extent::Whole);
        let record = UrlRecord { url: &shown, ..record };
        match self.format {
            LineFormat::Csv => self.csv(record),
            LineFormat::Jsonl => self.jsonl(record),
            LineFormat::Pretty => self.pretty(record),
        }
        self.line.push(b'\n');
        &self.line
    }

    fn csv(&mut self, record: UrlRecord<'_>) {
        let mut digits = itoa::Buffer::new();
        let line = &mut self.line;
        match self.is_terminal {
            true => {
                let url = Printable(&String::from_utf8_lossy(record.url)).to_string();
                push_quoted(line, url.as_bytes());
            }
            false => push_quoted(line, record.url),
        }
        line.push(b',');
        match record.outcome.code {
            ResultCode::Status(status) => line.extend_from_slice(digits.format(status).as_bytes()),
            ResultCode::Error(kind) => line.extend_from_slice(kind.as_bytes()),
        }
        line.push(b',');
        self.timestamps.push(record.start_ms, line);
        line.push(b',');
        line.extend_from_slice(digits.format(duration_ms(record.duration)).as_bytes());
        line.push(b',');
        line.extend_from_slice(digits.format(record.outcome.body_bytes).as_bytes());
    }

    fn jsonl(&mut self, record: UrlRecord<'_>) {
        let mut start_time = Vec::with_capacity(24);
        self.timestamps.push(record.start_ms, &mut start_time);
        let (status, error_kind) = match record.outcome.code {
            ResultCode::Status(status) => (Some(status), None),
            ResultCode::Error(kind) => (None, Some(kind)),
        };
        let url = String::from_utf8_lossy(record.url);
        let json = JsonRecord {
            v: 1,
            url: &url,
            url_bytes: matches!(url, Cow::Owned(_)).then(|| percent_encoded(record.url)),
            method: &self.method,
            status: status.or(record.outcome.details.as_ref().and_then(|details| details.status)),
            ok: matches!(status, Some(200..=299)),
            error_kind,
            start_time: std::str::from_utf8(&start_time).unwrap_or_default(),
            duration_us: record.duration.as_micros(),
            body_bytes: record.outcome.body_bytes,
            details: record.outcome.details.as_deref(),
        };
        serde_json::to_writer(&mut self.line, &json).expect("plain data, into memory");
        if self.is_terminal {
            escape_controls(&mut self.line);
        }
    }

    /// `[code] url: Nms`, coloured as the comparison does: 2xx green, any other status yellow, errors red.
    fn pretty(&mut self, record: UrlRecord<'_>) {
        let (colour, code) = match &record.outcome.code {
            ResultCode::Status(status @ 200..=299) => ("\x1b[32m", status.to_string()),
            ResultCode::Status(status) => ("\x1b[33m", status.to_string()),
            ResultCode::Error(kind) => ("\x1b[31m", (*kind).to_owned()),
        };
        let (colour, plain) = if self.is_coloured { (colour, "\x1b[0m") } else { ("", "") };
        let url = String::from_utf8_lossy(record.url);
        let ms = duration_ms(record.duration);
        write!(self.line, "{colour}[{code}] {}: {ms}ms{plain}", Printable(&url))
            .expect("memory takes all");
    }
}

/// The fields of a line of JSONL.
#[derive(Serialize)]
struct JsonRecord<'a> {
    v: u8,
    url: &'a str,
    /// The URL where it is not text, so that different lines stay different.
    #[serde(skip_serializing_if = "Option::is_none")]
    url_bytes: Option<String>,
    method: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<u16>,
    ok: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    error_kind: Option<&'static str>,
    start_time: &'a str,
    duration_us: u128,
    body_bytes: u64,
    #[serde(flatten)]
    details: Option<&'a Details>,
}

/// Escapes the control characters that JSON allows unescaped: DEL, and U+0080 to U+009F.
fn escape_controls(line: &mut Vec<u8>) {
    let text = String::from_utf8_lossy(line);
    if text.contains(char::is_control) {
        let escaped = text.chars().fold(String::new(), |mut escaped, c| {
            match c.is_control() {
                true => write!(escaped, "\\u{:04x}", u32::from(c)).expect("memory takes all"),
                false => escaped.push(c),
            }
            escaped
        });
        *line = escaped.into_bytes();
    }
}

/// `bytes` in ASCII, with the percent sign and all but printable characters encoded (RFC 3986 §2.1).
fn percent_encoded(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len()), |mut text, &byte| {
        match byte {
            b'!'..=b'~' if byte != b'%' => text.push(char::from(byte)),
            _ => write!(text, "%{byte:02X}").expect("memory takes all"),
        }
        text
    })
}

/// A duration in the unit of lines and summaries.
pub(super) fn duration_ms(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// Appends a field; one with a comma, a quote or a line break is quoted, and its quotes are doubled
/// (RFC 4180 §2).
fn push_quoted(line: &mut Vec<u8>, field: &[u8]) {
    if !field.iter().any(|b| matches!(b, b',' | b'"' | b'\r' | b'\n')) {
        line.extend_from_slice(field);
        return;
    }
    line.push(b'"');
    for &byte in field {
        if byte == b'"' {
            line.push(b'"');
        }
        line.push(byte);
    }
    line.push(b'"');
}

/// Formats timestamps by RFC 3339, in UTC with milliseconds. Most lines start in the same second as the
/// one before, so only the milliseconds are new.
#[derive(Debug, Default)]
struct TimestampFormatter {
    second: i64,
    /// `2026-11-21T20:54:55`, or empty.
    text: String,
}

impl TimestampFormatter {
    fn push(&mut self, unix_ms: i64, line: &mut Vec<u8>) {
        let second = unix_ms.div_euclid(1000);
        if second != self.second || self.text.is_empty() {
            let stamp = Timestamp::from_second(second).unwrap_or(Timestamp::UNIX_EPOCH);
            self.text = stamp.to_string();
            self.text.truncate("2026-11-21T20:54:55".len());
            self.second = second;
        }
        line.extend_from_slice(self.text.as_bytes());
        let ms = unix_ms.rem_euclid(1000) as u16;
        let digit = |n: u16| b'0' + (n % 10) as u8;
        line.extend_from_slice(&[b'.', digit(ms / 100), digit(ms / 10), digit(ms), b'Z']);
    }
}
