//! Records as JSON, one object a line.

use std::borrow::Cow;
use std::fmt::Write as _;

use super::RecordFormat;
use super::json_object::JsonObject;
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
        let details = record.outcome.details.as_deref();
        let start = line.len();
        let mut json = JsonObject::begin(line);
        json.number("v", 1);
        json.maybe_text("id", record.id);
        json.text("url", &url);
        json.maybe_text("url_bytes", matches!(url, Cow::Owned(_)).then(|| percent_encoded(&shown)));
        json.text("method", record.method);
        json.maybe_number("status", status.or(details.and_then(|details| details.status)));
        json.bool("ok", matches!(status, Some(200..=299)));
        json.maybe_text("error_kind", error_kind);
        json.text("start_time", std::str::from_utf8(&start_time).unwrap_or_default());
        json.number("duration_us", record.duration.as_micros());
        json.number("body_bytes", record.outcome.body_bytes);
        if let Some(details) = details {
            push_details(&mut json, details);
        }
        if let Some(metadata) = record.metadata {
            json.raw("meta", metadata);
        }
        json.end();
        if self.escapes_controls {
            escape_controls(line, start);
        }
        line.push(b'\n');
    }
}

/// Writes what is known of these as their `Serialize` does, in fewer instructions.
fn push_details(json: &mut JsonObject<'_>, details: &Details) {
    json.maybe_text("final_url", details.final_url.as_ref());
    json.maybe_text("location", details.location.as_ref());
    json.maybe_number("redirects", details.redirects);
    json.maybe_number("attempts", details.attempts);
    json.maybe_text("http_version", details.http_version);
    json.maybe_text("content_type", details.content_type.as_ref());
    json.maybe_text("etag", details.etag.as_ref());
    json.maybe_text("last_modified", details.last_modified.as_ref());
    json.maybe_text("x_robots_tag", details.x_robots_tag.as_ref());
    json.maybe_text("truncated", details.truncated);
    json.maybe_text("saved", details.saved.as_ref());
    json.maybe_text("blake3", details.blake3.as_ref());
    json.maybe_text("sha256", details.sha256.as_ref());
    if let Some(extracted) = &details.extracted {
        json.fields_of(extracted);
    }
    json.maybe_number("wire_bytes", details.wire_bytes);
    json.maybe_text("error_phase", details.error_phase);
    json.maybe_text("error", details.error.as_ref());
    json.maybe("remote_ip", details.remote_ip);
    json.maybe_number("remote_port", details.remote_port);
    let phases = &details.phases;
    json.maybe_number("t_queue_us", phases.t_queue_us);
    json.maybe_number("t_dns_us", phases.t_dns_us);
    json.maybe_number("t_connect_us", phases.t_connect_us);
    json.maybe_number("t_tls_us", phases.t_tls_us);
    json.maybe_number("t_wait_us", phases.t_wait_us);
    json.maybe_number("t_recv_us", phases.t_recv_us);
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
