//! Records as CSV, in the columns of the comparison of concurrent fetching.

use super::{Printable, RecordFormat, timestamp::TimestampFormatter};
use crate::record::Record;
use crate::summary::ResultCode;

/// Lines of CSV (RFC 4180), by default without a header: `url,code,start_time,duration,body_length`.
///
/// `code` is the status or the kind of error; `start_time` is in UTC by RFC 3339 with milliseconds;
/// `duration` is in milliseconds, `body_length` in bytes. A URL may be any bytes, with its password
/// masked.
#[derive(Clone, Debug, Default)]
pub struct Csv {
    escapes_controls: bool,
    has_header: bool,
    timestamps: TimestampFormatter,
}

impl Csv {
    /// The format as programs read it.
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether control characters of a URL are escaped, as a terminal needs it. Off by default.
    #[must_use]
    pub fn escape_controls(self, escapes_controls: bool) -> Self {
        Self { escapes_controls, ..self }
    }

    /// Whether the first line has the names of the columns. Off by default.
    #[must_use]
    pub fn with_header(self, has_header: bool) -> Self {
        Self { has_header, ..self }
    }
}

impl RecordFormat for Csv {
    fn format(&mut self, record: &Record<'_>, line: &mut Vec<u8>) {
        let mut digits = itoa::Buffer::new();
        let url = record.shown_url();
        match self.escapes_controls {
            true => {
                let url = Printable(&String::from_utf8_lossy(&url)).to_string();
                push_quoted(line, url.as_bytes());
            }
            false => push_quoted(line, &url),
        }
        line.push(b',');
        match record.outcome.code {
            ResultCode::Status(status) => line.extend_from_slice(digits.format(status).as_bytes()),
            ResultCode::Error(kind) => line.extend_from_slice(kind.as_bytes()),
        }
        line.push(b',');
        self.timestamps.push(record.start_ms, line);
        line.push(b',');
        line.extend_from_slice(digits.format(record.duration_ms()).as_bytes());
        line.push(b',');
        line.extend_from_slice(digits.format(record.outcome.body_bytes).as_bytes());
        line.push(b'\n');
    }

    fn begin(&mut self, into: &mut Vec<u8>) {
        if self.has_header {
            into.extend_from_slice(b"url,code,start_time,duration,body_length\n");
        }
    }

    fn needs_details(&self) -> bool {
        false
    }
}

/// Appends a field; one with a comma, a quote or a line break is quoted, and its quotes are doubled
/// (RFC 4180 §2).
fn push_quoted(line: &mut Vec<u8>, field: &[u8]) {
    // All bytes, without an early end, so that many are compared at once.
    let is_special = |byte: &u8| matches!(byte, b',' | b'"' | b'\r' | b'\n');
    if !field.iter().fold(false, |has, byte| has | is_special(byte)) {
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
