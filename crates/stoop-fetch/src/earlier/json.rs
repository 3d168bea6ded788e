//! Records in lines of JSON.

use std::borrow::Cow;
use std::io::{self, BufRead, Read};

use jiff::Timestamp;
use serde::Deserialize;
use serde::de::IgnoredAny;
use stoop::Request;

use super::index::{Index, Known};
use super::records::{EarlierRecords, has_content, without_fragment};
use crate::target::target;

/// The longest line: one with all the metadata that a job may have.
const LINE_BYTES_MAX: u64 = 8 << 20;

/// What counts of a line.
#[derive(Deserialize)]
pub(super) struct Line<'a> {
    #[serde(borrow, default)]
    pub(super) url: Cow<'a, str>,
    #[serde(borrow, default)]
    method: Cow<'a, str>,
    status: Option<u16>,
    error_kind: Option<IgnoredAny>,
    truncated: Option<IgnoredAny>,
    #[serde(borrow)]
    start_time: Option<Cow<'a, str>>,
    #[serde(borrow)]
    final_url: Option<Cow<'a, str>>,
    #[serde(borrow)]
    etag: Option<Cow<'a, str>>,
    #[serde(borrow)]
    last_modified: Option<Cow<'a, str>>,
}

/// Reads lines into `index`, and counts them in `records`.
///
/// # Errors
/// The input's.
pub(super) fn read(
    mut input: impl BufRead,
    index: &mut Index,
    records: &mut EarlierRecords,
) -> io::Result<()> {
    let mut line = Vec::new();
    loop {
        line.clear();
        if input.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', &mut line)? == 0 {
            return Ok(());
        }
        if line.trim_ascii().is_empty() {
            continue;
        }
        match serde_json::from_slice::<Line<'_>>(&line) {
            Ok(line) if !line.url.is_empty() => {
                records.records += 1;
                line.add_to(index);
            }
            _ => records.malformed += 1,
        }
    }
}

impl Line<'_> {
    /// Adds what it says of its URL, if it counts.
    pub(super) fn add_to(&self, index: &mut Index) {
        let is_head = self.method == "HEAD";
        let is_whole = self.error_kind.is_none() && self.truncated.is_none();
        let is_of_use = self.status.is_some_and(has_content)
            && is_whole
            && (is_head || matches!(&*self.method, "GET" | ""));
        // Whose content it was is not known any more where the password is masked.
        if !is_of_use || self.url.contains("***") {
            return;
        }
        let url = match &self.final_url {
            Some(url) => Some(Cow::Borrowed(&**url)),
            None => normalised(&self.url).map(Cow::Owned),
        };
        let Some(url) = url else { return };
        let start = self.start_time.as_deref().and_then(|time| time.parse::<Timestamp>().ok());
        let known = Known {
            etag: self.etag.as_deref().unwrap_or_default().as_bytes(),
            last_modified: self.last_modified.as_deref().unwrap_or_default().as_bytes(),
            start_ms: start.map_or(0, Timestamp::as_millisecond),
            id: None,
        };
        index.add(without_fragment(&url), is_head, known);
    }
}

/// The URL of a line of a list, as it is asked for.
fn normalised(line: &str) -> Option<String> {
    Request::get(&target(line).ok()?).ok()?.url().map(str::to_owned)
}
