//! How one URL ended, and the line that says so.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::Write as _;
use std::net::IpAddr;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use jiff::Timestamp;
use serde::Serialize;
use stoop::{Phase, Timings};

use super::args::Format;
use super::lane::Extent;
use crate::masked;
use crate::summary::Code;
use crate::table::Printable;

/// How the fetching of one URL ended.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) code: Code<'static>,
    /// Bytes of the body after transfer-coding; 0 for an error.
    pub(super) body_bytes: u64,
    /// Whether it is an answer that came over HTTP/2.
    pub(super) http2: bool,
    /// What only the longer formats tell; not gathered for the others.
    pub(super) details: Option<Box<Details>>,
}

/// What JSONL tells besides. A field is absent where it is not known.
#[derive(Debug, Default, Serialize)]
pub(super) struct Details {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) final_url: Option<String>,
    /// How many were followed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) redirects: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) http_version: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) content_type: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) error_phase: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) error: Option<String>,
    /// Where the answer came from, or where it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) remote_ip: Option<IpAddr>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) remote_port: Option<u16>,
    #[serde(flatten)]
    pub(super) phases: Phases,
}

/// How long what took, in microseconds; absent if it did not take place.
#[derive(Debug, Default, Serialize)]
pub(super) struct Phases {
    #[serde(skip_serializing_if = "Option::is_none")]
    t_queue_us: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    t_dns_us: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    t_connect_us: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    t_tls_us: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    t_wait_us: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) t_recv_us: Option<u64>,
}

impl Phases {
    /// Those up to the head of a response.
    pub(super) fn until_head(timings: &Timings) -> Self {
        Self {
            t_queue_us: timings.queue().map(micros),
            t_dns_us: timings.dns().map(micros),
            t_connect_us: timings.connect().map(micros),
            t_tls_us: timings.tls().map(micros),
            t_wait_us: timings.wait().map(micros),
            t_recv_us: None,
        }
    }
}

pub(super) fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

impl Outcome {
    /// An error by its kind alone.
    pub(super) fn error(kind: &'static str) -> Self {
        Self { code: Code::Error(kind), body_bytes: 0, http2: false, details: None }
    }

    /// An error that the client had no part in: when it was, and why, in words.
    pub(super) fn without_client(kind: &'static str, phase: Phase, words: &str) -> Self {
        let details = Details {
            error_phase: Some(phase.as_str()),
            error: Some(words.to_owned()),
            ..Details::default()
        };
        Self { details: Some(Box::new(details)), ..Self::error(kind) }
    }
}

/// Everything a line tells of one URL.
#[derive(Clone, Copy, Debug)]
pub(super) struct Record<'a> {
    /// The line of the input, trimmed; any bytes. It is shown without a password.
    pub(super) url: &'a [u8],
    /// Whether that is the whole line.
    pub(super) extent: Extent,
    /// When it took its slot, in milliseconds of Unix time.
    pub(super) start_ms: i64,
    pub(super) duration: Duration,
    pub(super) outcome: &'a Outcome,
}

/// Milliseconds of Unix time, now.
pub(super) fn unix_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// Writes records as lines of one format. One for each core: it keeps what lines have in common.
#[derive(Debug)]
pub(super) struct Recorder {
    format: Format,
    colour: bool,
    stamp: Stamp,
    line: Vec<u8>,
}

impl Recorder {
    pub(super) fn new(format: Format, colour: bool) -> Self {
        Self { format, colour, stamp: Stamp::default(), line: Vec::with_capacity(256) }
    }

    /// The line for `record`, its end included; valid until the next.
    pub(super) fn line(&mut self, record: Record<'_>) -> &[u8] {
        self.line.clear();
        let shown = masked::line(record.url, record.extent == Extent::Whole);
        let record = Record { url: &shown, ..record };
        match self.format {
            Format::Csv => self.csv(record),
            Format::Jsonl => self.jsonl(record),
            Format::Pretty => self.pretty(record),
        }
        self.line.push(b'\n');
        &self.line
    }

    fn csv(&mut self, record: Record<'_>) {
        let mut digits = itoa::Buffer::new();
        let line = &mut self.line;
        push_quoted(line, record.url);
        line.push(b',');
        match record.outcome.code {
            Code::Status(status) => line.extend_from_slice(digits.format(status).as_bytes()),
            Code::Error(kind) => line.extend_from_slice(kind.as_bytes()),
        }
        line.push(b',');
        self.stamp.push(record.start_ms, line);
        line.push(b',');
        line.extend_from_slice(digits.format(duration_ms(record.duration)).as_bytes());
        line.push(b',');
        line.extend_from_slice(digits.format(record.outcome.body_bytes).as_bytes());
    }

    fn jsonl(&mut self, record: Record<'_>) {
        let mut start_time = Vec::with_capacity(24);
        self.stamp.push(record.start_ms, &mut start_time);
        let (status, error_kind) = match record.outcome.code {
            Code::Status(status) => (Some(status), None),
            Code::Error(kind) => (None, Some(kind)),
        };
        let url = String::from_utf8_lossy(record.url);
        let json = Json {
            v: 1,
            url: &url,
            url_bytes: matches!(url, Cow::Owned(_)).then(|| escaped(record.url)),
            method: "GET",
            status,
            ok: matches!(status, Some(200..=299)),
            error_kind,
            start_time: std::str::from_utf8(&start_time).unwrap_or_default(),
            duration_us: record.duration.as_micros(),
            body_bytes: record.outcome.body_bytes,
            details: record.outcome.details.as_deref(),
        };
        serde_json::to_writer(&mut self.line, &json).expect("plain data, into memory");
    }

    /// In the comparison's form and colours: 2xx green, any other status yellow, errors red.
    fn pretty(&mut self, record: Record<'_>) {
        let (colour, code) = match &record.outcome.code {
            Code::Status(status @ 200..=299) => ("\x1b[32m", status.to_string()),
            Code::Status(status) => ("\x1b[33m", status.to_string()),
            Code::Error(kind) => ("\x1b[31m", (*kind).to_owned()),
        };
        let (colour, plain) = if self.colour { (colour, "\x1b[0m") } else { ("", "") };
        let url = String::from_utf8_lossy(record.url);
        let ms = duration_ms(record.duration);
        write!(self.line, "{colour}[{code}] {}: {ms}ms{plain}", Printable(&url))
            .expect("memory takes all");
    }
}

/// The fields of a line in JSON, by the names of the longer record that later formats share.
#[derive(Serialize)]
struct Json<'a> {
    v: u8,
    url: &'a str,
    /// The same where it is not text, so that different lines stay different.
    #[serde(skip_serializing_if = "Option::is_none")]
    url_bytes: Option<String>,
    method: &'static str,
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

/// `bytes` in ASCII: what is no graphic character, and the percent sign, as RFC 3986 §2.1 has it.
fn escaped(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len()), |mut text, &byte| {
        match byte {
            b'!'..=b'~' if byte != b'%' => text.push(char::from(byte)),
            _ => write!(text, "%{byte:02X}").expect("memory takes all"),
        }
        text
    })
}

/// A duration as lines and summaries count it.
pub(super) fn duration_ms(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// RFC 4180 §2: a field with a comma, a quote or a line break is quoted, and its quotes doubled.
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

/// RFC 3339 in UTC with milliseconds. Most lines start in the second of the one before, so only
/// the milliseconds are new.
#[derive(Debug, Default)]
struct Stamp {
    second: i64,
    /// `2026-11-21T20:54:55`, or empty.
    text: String,
}

impl Stamp {
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

#[cfg(test)]
mod tests {
    use super::*;

    const OK: Outcome =
        Outcome { code: Code::Status(200), body_bytes: 1234, http2: false, details: None };

    fn record<'a>(url: &'a [u8], outcome: &'a Outcome) -> Record<'a> {
        Record {
            url,
            extent: Extent::Whole,
            start_ms: 1_795_294_495_007,
            duration: Duration::from_micros(49_999),
            outcome,
        }
    }

    fn line(format: Format, colour: bool, record: Record<'_>) -> String {
        let mut recorder = Recorder::new(format, colour);
        String::from_utf8(recorder.line(record).to_vec()).expect("text")
    }

    #[test]
    fn a_csv_line_has_the_contracts_five_columns() {
        let ok = line(Format::Csv, false, record(b"https://a/", &OK));
        assert_eq!(ok, "https://a/,200,2026-11-21T20:54:55.007Z,49,1234\n");
        let error = Outcome::error("dns_nxdomain");
        let error = line(Format::Csv, false, record(b"b", &error));
        assert_eq!(error, "b,dns_nxdomain,2026-11-21T20:54:55.007Z,49,0\n");
    }

    /// Read back by a program that is not ours.
    #[test]
    fn any_url_survives_quoting() {
        for url in [
            &b"http://a/?q=1,2"[..],
            b"say \"hi\"",
            b"\"",
            b"a\rb",
            b"\"quoted, whole\"",
            b"\xff\xfe not text",
            b"plain",
        ] {
            let mut recorder = Recorder::new(Format::Csv, false);
            let line = recorder.line(record(url, &OK)).to_vec();
            let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(&line[..]);
            let rows: Vec<_> = reader.byte_records().collect::<Result<_, _>>().expect("csv");
            assert_eq!(rows.len(), 1, "{url:?}");
            assert_eq!(rows[0].iter().next(), Some(url));
            assert_eq!(rows[0].len(), 5);
        }
    }

    #[test]
    fn json_tells_what_is_known_and_leaves_out_what_is_not() {
        let ok = line(Format::Jsonl, false, record(b"https://a/", &OK));
        assert_eq!(
            ok,
            "{\"v\":1,\"url\":\"https://a/\",\"method\":\"GET\",\"status\":200,\"ok\":true,\
             \"start_time\":\"2026-11-21T20:54:55.007Z\",\"duration_us\":49999,\
             \"body_bytes\":1234}\n"
        );
        let details = Details {
            error_phase: Some("dns"),
            error: Some("no such \"name\"".to_owned()),
            ..Details::default()
        };
        let error = Outcome { details: Some(Box::new(details)), ..Outcome::error("dns_nxdomain") };
        let error = line(Format::Jsonl, false, record(b"\xff", &error));
        let json: serde_json::Value = serde_json::from_str(&error).expect("json");
        assert_eq!((&json["url"], &json["url_bytes"]), (&"\u{fffd}".into(), &"%FF".into()));
        assert_eq!(json["ok"], false);
        assert_eq!(json["status"], serde_json::Value::Null);
        assert_eq!(json["error_kind"], "dns_nxdomain");
        assert_eq!(json["error_phase"], "dns");
        assert_eq!(json["error"], "no such \"name\"");
    }

    #[test]
    fn bytes_that_are_no_text_can_be_told_apart_and_restored() {
        assert_eq!(escaped(b"http://a/%20 \xff\0~!"), "http://a/%2520%20%FF%00~!");
        assert_eq!(escaped("ü".as_bytes()), "%C3%BC");
    }

    #[test]
    fn pretty_lines_are_the_comparisons_and_cannot_drive_the_terminal() {
        assert_eq!(line(Format::Pretty, false, record(b"a", &OK)), "[200] a: 49ms\n");
        let green = line(Format::Pretty, true, record(b"a", &OK));
        assert_eq!(green, "\x1b[32m[200] a: 49ms\x1b[0m\n");
        let moved = Outcome { code: Code::Status(301), ..OK };
        assert!(line(Format::Pretty, true, record(b"a", &moved)).starts_with("\x1b[33m[301]"));
        let error = Outcome::error("reset");
        assert!(line(Format::Pretty, true, record(b"a", &error)).starts_with("\x1b[31m[reset]"));
        let evil = line(Format::Pretty, false, record(b"\x1b[2J", &OK));
        assert_eq!(evil, "[200] \\u{1b}[2J: 49ms\n");
    }

    #[test]
    fn stamps_are_right_across_seconds_and_before_1970() {
        let mut stamp = Stamp::default();
        let mut text = |ms| {
            let mut line = Vec::new();
            stamp.push(ms, &mut line);
            String::from_utf8(line).expect("text")
        };
        assert_eq!(text(0), "1970-01-01T00:00:00.000Z");
        assert_eq!(text(999), "1970-01-01T00:00:00.999Z");
        assert_eq!(text(1000), "1970-01-01T00:00:01.000Z");
        assert_eq!(text(1_795_294_495_120), "2026-11-21T20:54:55.120Z");
        assert_eq!(text(999), "1970-01-01T00:00:00.999Z");
        assert_eq!(text(-1), "1969-12-31T23:59:59.999Z");
    }
}
