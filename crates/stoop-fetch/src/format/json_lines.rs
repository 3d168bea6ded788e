//! Records as JSON, one object a line.

use std::borrow::Cow;
use std::fmt::Write as _;

use serde::Serialize;
use serde_json::value::RawValue;

use super::RecordFormat;
use super::timestamp::TimestampFormatter;
use crate::record::{Details, Record};
use crate::summary::ResultCode;

/// Lines of JSON, in version 1 of their fields; `v` says so.
///
/// Always there: `v`, `url`, `method`, `ok` (a status of 2xx), `start_time`, `duration_us`, `body_bytes`.
/// `id` and `meta` are the job's, if it has them. `status` or `error_kind` says what came of it. The fields of [`Details`] and
/// [`Phases`](crate::Phases) follow where they are known. A URL that is no text has `url_bytes` too: its
/// bytes with `%` and all but printable ASCII percent-encoded.
#[derive(Clone, Debug, Default)]
pub struct JsonLines {
    escapes_controls: bool,
    timestamps: TimestampFormatter,
}

impl JsonLines {
    /// The format as programs read it.
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether the control characters that JSON allows are escaped too, as a terminal needs it. Off by
    /// default.
    #[must_use]
    pub fn escape_controls(self, escapes_controls: bool) -> Self {
        Self { escapes_controls, ..self }
    }
}

impl RecordFormat for JsonLines {
    fn format(&mut self, record: &Record<'_>, line: &mut Vec<u8>) {
        let mut start_time = Vec::with_capacity(24);
        self.timestamps.push(record.start_ms, &mut start_time);
        let (status, error_kind) = match record.outcome.code {
            ResultCode::Status(status) => (Some(status), None),
            ResultCode::Error(kind) => (None, Some(kind)),
        };
        let shown = record.shown_url();
        let url = String::from_utf8_lossy(&shown);
        let json = JsonRecord {
            v: 1,
            id: record.id,
            url: &url,
            url_bytes: matches!(url, Cow::Owned(_)).then(|| percent_encoded(&shown)),
            method: record.method,
            status: status.or(record.outcome.details.as_ref().and_then(|details| details.status)),
            ok: matches!(status, Some(200..=299)),
            error_kind,
            start_time: std::str::from_utf8(&start_time).unwrap_or_default(),
            duration_us: record.duration.as_micros(),
            body_bytes: record.outcome.body_bytes,
            details: record.outcome.details.as_deref(),
            meta: record.metadata,
        };
        let start = line.len();
        serde_json::to_writer(&mut *line, &json).expect("plain data, into memory");
        if self.escapes_controls {
            escape_controls(line, start);
        }
        line.push(b'\n');
    }
}

/// The fields of a line of JSONL.
#[derive(Serialize)]
struct JsonRecord<'a> {
    v: u8,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
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
    #[serde(skip_serializing_if = "Option::is_none")]
    meta: Option<&'a RawValue>,
}

/// Escapes the control characters that JSON allows unescaped, from `start` on: DEL, and U+0080 to U+009F.
fn escape_controls(line: &mut Vec<u8>, start: usize) {
    let text = String::from_utf8_lossy(&line[start..]);
    if text.contains(char::is_control) {
        let escaped = text.chars().fold(String::new(), |mut escaped, c| {
            match c.is_control() {
                true => write!(escaped, "\\u{:04x}", u32::from(c)).expect("memory takes all"),
                false => escaped.push(c),
            }
            escaped
        });
        line.truncate(start);
        line.extend_from_slice(escaped.as_bytes());
    }
}

/// `bytes` in ASCII, with the percent sign and all but printable characters encoded (RFC 3986 §2.1).
pub(super) fn percent_encoded(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len()), |mut text, &byte| {
        match byte {
            b'!'..=b'~' if byte != b'%' => text.push(char::from(byte)),
            _ => write!(text, "%{byte:02X}").expect("memory takes all"),
        }
        text
    })
}
