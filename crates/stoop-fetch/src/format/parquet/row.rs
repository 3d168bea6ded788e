//! A record on its way from the thread that has it to the one that writes the file: its values, in the order of the
//! columns in [`super::schema`].
//!
//! What can be absent has a byte before it that says whether it is there. Numbers have eight bytes, bytes and lists
//! their length before them.

use std::borrow::Cow;

use crate::capture::Capture;
use crate::extract::{Extracted, TlsDetails};
use crate::failures::masked_location;
use crate::format::json_lines::percent_encoded;
use crate::record::{Details, Record};
use crate::summary::ResultCode;

/// Content that is longer has no place in a file: the length of a page is a number of 31 bits, in which there must be
/// room for what a codec adds.
const BODY_BYTES_MAX: usize = (1 << 31) - (32 << 20);

/// Appends the values of a record.
pub(super) fn push_record(record: &Record<'_>, has_content: bool, into: &mut Vec<u8>) {
    let mut row = RowWriter(into);
    let (nothing, not_extracted) = (Details::default(), Extracted::default());
    let details = record.outcome.details.as_deref().unwrap_or(&nothing);
    let extracted = details.extracted.as_deref().unwrap_or(&not_extracted);
    let (status, error_kind) = match record.outcome.code {
        ResultCode::Status(status) => (Some(status), None),
        ResultCode::Error(kind) => (None, Some(kind)),
    };
    let shown = record.shown_url();
    let url = String::from_utf8_lossy(&shown);
    row.number(1);
    row.maybe_text(record.id);
    row.bytes(url.as_bytes());
    let is_text = matches!(url, Cow::Borrowed(_));
    row.maybe_text((!is_text).then(|| percent_encoded(&shown)).as_deref());
    row.bytes(record.method.as_bytes());
    row.maybe_number(status.or(details.status));
    row.boolean(matches!(status, Some(200..=299)));
    row.maybe_text(error_kind);
    row.number(record.start_ms);
    row.number(unsigned(record.duration.as_micros()));
    row.number(unsigned(record.outcome.body_bytes));
    push_answer(&mut row, details);
    push_extracted(&mut row, extracted);
    push_connection(&mut row, details);
    row.maybe_text(record.metadata.map(serde_json::value::RawValue::get));
    if has_content {
        push_content(&mut row, record.outcome.capture.as_deref(), record.method != "HEAD");
    }
}

/// What is known of the answer.
fn push_answer(row: &mut RowWriter<'_>, details: &Details) {
    row.maybe_text(details.final_url.as_deref());
    row.maybe_text(details.location.as_deref());
    row.maybe_number(details.redirects);
    row.maybe_number(details.attempts);
    row.maybe_text(details.http_version);
    row.maybe_text(details.content_type.as_deref());
    row.maybe_text(details.etag.as_deref());
    row.maybe_text(details.last_modified.as_deref());
    row.maybe_text(details.x_robots_tag.as_deref());
    row.maybe_text(details.truncated);
    row.maybe_text(details.saved.as_deref());
    row.maybe_text(details.blake3.as_deref());
    row.maybe_text(details.sha256.as_deref());
}

fn push_extracted(row: &mut RowWriter<'_>, extracted: &Extracted) {
    row.maybe_text(extracted.title.as_deref());
    row.maybe_text(extracted.server.as_deref());
    row.maybe_number(extracted.content_length.map(unsigned));
    row.maybe_text(extracted.sniffed_type);
    row.maybe_text(extracted.charset);
    row.maybe_number(extracted.favicon_hash);
    row.maybe_text(extracted.robots.as_deref());
    row.maybe_text(extracted.meta_robots.as_deref());
    if row.maybe_list(extracted.chain.len()) {
        for hop in &extracted.chain {
            row.number(hop.status);
            row.bytes(hop.url.as_bytes());
        }
    }
    let Some(tls) = &extracted.tls else { return row.boolean(false) };
    row.boolean(true);
    push_tls(row, tls);
}

fn push_tls(row: &mut RowWriter<'_>, tls: &TlsDetails) {
    row.bytes(tls.version.as_bytes());
    row.bytes(tls.cipher.as_bytes());
    row.maybe_text(tls.alpn);
    row.maybe_text(tls.subject_cn.as_deref());
    row.maybe_text(tls.subject_dn.as_deref());
    if row.maybe_list(tls.subject_an.len()) {
        for name in &tls.subject_an {
            row.bytes(name.as_bytes());
        }
    }
    row.maybe_text(tls.issuer_cn.as_deref());
    row.maybe_text(tls.issuer_dn.as_deref());
    row.maybe_number(timestamp(tls.not_before.as_deref()));
    row.maybe_number(timestamp(tls.not_after.as_deref()));
    row.maybe_text(tls.sha256.as_deref());
}

/// What is known of the connection and of an error.
fn push_connection(row: &mut RowWriter<'_>, details: &Details) {
    row.maybe_number(details.wire_bytes.map(unsigned));
    row.maybe_text(details.error_phase);
    row.maybe_text(details.error.as_deref());
    row.maybe_text(details.remote_ip.map(|ip| ip.to_string()).as_deref());
    row.maybe_number(details.remote_port);
    for phase in details.phases.in_order() {
        row.maybe_number(phase.map(unsigned));
    }
}

fn push_content(row: &mut RowWriter<'_>, capture: Option<&Capture>, may_have_content: bool) {
    let Some(capture) = capture else {
        row.boolean(false);
        return row.boolean(false);
    };
    row.boolean(true);
    row.number(unsigned(capture.fields.iter().count()));
    for field in capture.fields.iter() {
        row.bytes(String::from_utf8_lossy(field.name_bytes()).as_bytes());
        let has_url = field.is("location") || field.is("content-location");
        match has_url {
            true => row.bytes(masked_location(field.value()).as_bytes()),
            false => row.bytes(String::from_utf8_lossy(field.value()).as_bytes()),
        }
    }
    let has_content = may_have_content && capture.not_modified.is_none();
    match has_content && capture.content.len() <= BODY_BYTES_MAX {
        true => {
            row.boolean(true);
            row.bytes(&capture.content);
        }
        false => row.boolean(false),
    }
}

/// A time as the certificate of a server has it, in milliseconds of Unix time.
fn timestamp(text: Option<&str>) -> Option<i64> {
    text?.parse::<jiff::Timestamp>().ok().map(jiff::Timestamp::as_millisecond)
}

/// A count as the file has it, whose numbers are signed.
fn unsigned(count: impl TryInto<i64>) -> i64 {
    count.try_into().unwrap_or(i64::MAX)
}

/// Appends values.
struct RowWriter<'a>(&'a mut Vec<u8>);

impl RowWriter<'_> {
    fn boolean(&mut self, value: bool) {
        self.0.push(u8::from(value));
    }

    fn number(&mut self, value: impl Into<i64>) {
        self.0.extend_from_slice(&value.into().to_le_bytes());
    }

    fn bytes(&mut self, value: &[u8]) {
        self.number(unsigned(value.len()));
        self.0.extend_from_slice(value);
    }

    fn maybe_number(&mut self, value: Option<impl Into<i64>>) {
        self.boolean(value.is_some());
        if let Some(value) = value {
            self.number(value);
        }
    }

    fn maybe_text(&mut self, value: Option<&str>) {
        self.boolean(value.is_some());
        if let Some(value) = value {
            self.bytes(value.as_bytes());
        }
    }

    /// Begins a list, which is absent where it is empty; says whether it is there.
    fn maybe_list(&mut self, length: usize) -> bool {
        self.boolean(length > 0);
        if length > 0 {
            self.number(unsigned(length));
        }
        length > 0
    }
}

/// Takes the values of a record one after the other. None where there are no more.
pub(super) struct RowReader<'a>(pub(super) &'a [u8]);

impl<'a> RowReader<'a> {
    pub(super) fn boolean(&mut self) -> Option<bool> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first != 0)
    }

    pub(super) fn number(&mut self) -> Option<i64> {
        let (first, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(i64::from_le_bytes(*first))
    }

    pub(super) fn bytes(&mut self) -> Option<&'a [u8]> {
        let length = usize::try_from(self.number()?).ok()?;
        let (first, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(first)
    }
}
