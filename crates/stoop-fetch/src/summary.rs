//! The summary of a run, in the keys and units of the comparison of concurrent fetching: one definition for a
//! run, which counts while it goes on, and for programs that read its lines back.
//!
//! Times are whole milliseconds, as in a line, so that the summary printed by a run and the one
//! computed from the same lines are equal to the last digit. Only `time`, and what is per second of it, a run knows better
//! where its last jobs waited, for a turn of their host or for memory: such waits are no part of a duration. The version of HTTP, which a line
//! of CSV does not have, is counted separately, and only where it is known.

#[cfg(test)]
mod tests;

use std::cmp::Reverse;
use std::collections::HashMap;

use serde::{Serialize, Serializer};

/// How many error kinds are counted separately. Further ones are counted as one kind, so that lines whose
/// error text is always different cannot fill memory.
const KINDS_MAX: usize = 512;
const OTHER_KINDS: &str = "(other)";

/// The column `code` of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResultCode<'a> {
    /// The status of the final response, after redirects.
    Status(u16),
    /// The error kind, where there is no final response: of a run one of [`kinds`](crate::kinds).
    Error(&'a str),
}

/// The counters of a run's lines. Its size does not depend on their number.
#[derive(Debug, Default)]
pub struct Summary {
    urls: u64,
    /// URLs that were cancelled before they started, as far as a line tells.
    unstarted: u64,
    /// 2xx, 3xx, 4xx, 5xx.
    classes: [u64; 4],
    exceptions: u64,
    duration_sum_ms: u64,
    duration_max_ms: u64,
    /// The first start and the last end, in milliseconds of Unix time.
    span_ms: Option<(i64, i64)>,
    ok_body_bytes: u64,
    body_bytes: u64,
    http2: u64,
    resumed: u64,
    kinds: HashMap<String, u64>,
}

impl Summary {
    /// Counts one line.
    pub fn add(&mut self, code: ResultCode<'_>, start_ms: i64, duration_ms: u64, body_bytes: u64) {
        self.urls += 1;
        // A line of CSV has no phase, but a URL that was not started has a duration of 0.
        self.unstarted += u64::from(code == ResultCode::Error("cancelled") && duration_ms == 0);
        self.duration_sum_ms = self.duration_sum_ms.saturating_add(duration_ms);
        self.duration_max_ms = self.duration_max_ms.max(duration_ms);
        self.extend_span(start_ms, start_ms.saturating_add_unsigned(duration_ms));
        self.body_bytes = self.body_bytes.saturating_add(body_bytes);
        match code {
            ResultCode::Status(status @ 200..=599) => {
                self.classes[usize::from(status / 100 - 2)] += 1;
                if status < 300 {
                    self.ok_body_bytes = self.ok_body_bytes.saturating_add(body_bytes);
                }
            }
            // Three digits outside the range of final responses.
            ResultCode::Status(other) => self.add_error(&other.to_string(), 1),
            ResultCode::Error(kind) => self.add_error(kind, 1),
        }
    }

    /// Whether a URL came to an error, or to a status of 400 or more.
    pub fn has_failures(&self) -> bool {
        let [_, _, client_errors, server_errors] = self.classes;
        self.exceptions + client_errors + server_errors > 0
    }

    /// Whether nothing was counted.
    pub fn is_empty(&self) -> bool {
        self.urls == 0
    }

    /// Counts a response over HTTP/2, where the version is known.
    pub fn add_http2(&mut self, http2: bool) {
        self.http2 += u64::from(http2);
    }

    /// Tells how many jobs were done before a run was resumed. No other counter has them.
    pub fn add_resumed(&mut self, jobs: u64) {
        self.resumed += jobs;
    }

    /// Adds the counters of `other`.
    pub fn merge(&mut self, other: &Self) {
        self.urls += other.urls;
        self.unstarted += other.unstarted;
        for (ours, theirs) in self.classes.iter_mut().zip(other.classes) {
            *ours += theirs;
        }
        for (kind, count) in &other.kinds {
            self.add_error(kind, *count);
        }
        self.duration_sum_ms = self.duration_sum_ms.saturating_add(other.duration_sum_ms);
        self.duration_max_ms = self.duration_max_ms.max(other.duration_max_ms);
        if let Some((first, last)) = other.span_ms {
            self.extend_span(first, last);
        }
        self.ok_body_bytes = self.ok_body_bytes.saturating_add(other.ok_body_bytes);
        self.body_bytes = self.body_bytes.saturating_add(other.body_bytes);
        self.http2 += other.http2;
        self.resumed += other.resumed;
    }

    /// Takes note that a job was done at that time, later than its start and its duration say where its clock stood still.
    pub(crate) fn extend_to(&mut self, end_ms: i64) {
        self.extend_span(end_ms, end_ms);
    }

    fn extend_span(&mut self, start: i64, end: i64) {
        let (first, last) = self.span_ms.unwrap_or((start, end));
        self.span_ms = Some((first.min(start), last.max(end)));
    }

    fn add_error(&mut self, kind: &str, count: u64) {
        self.exceptions += count;
        if let Some(known) = self.kinds.get_mut(kind) {
            *known += count;
        } else if self.kinds.len() < KINDS_MAX {
            self.kinds.insert(kind.to_owned(), count);
        } else {
            *self.kinds.entry(OTHER_KINDS.to_owned()).or_default() += count;
        }
    }

    /// The error kinds, the most frequent first.
    pub fn kinds(&self) -> Vec<(&str, u64)> {
        let mut kinds: Vec<_> = self.kinds.iter().map(|(kind, n)| (kind.as_str(), *n)).collect();
        kinds.sort_unstable_by_key(|&(kind, count)| (Reverse(count), kind));
        kinds
    }

    /// The figures, rounded as the comparison rounds them: halves go up, the share has two
    /// decimals.
    pub fn figures(&self) -> Figures<'_> {
        let [ok, redirects, client_errors, server_errors] = self.classes;
        let time = self.span_ms.map_or(0, |(first, last)| last.abs_diff(first));
        let ratio = |part: u64, whole: u64| part as f64 / whole.max(1) as f64;
        Figures {
            total_urls: self.urls,
            time,
            avg: rounded(ratio(self.duration_sum_ms, self.urls - self.unstarted)),
            max: self.duration_max_ms,
            ok_reqs_sec: rounded(ratio(ok, time) * 1000.0),
            ok_reqs_pct: (ratio(ok, self.urls) * 100.0).round() / 100.0,
            avg_body_len: rounded(ratio(self.ok_body_bytes, ok)),
            ok,
            redirects,
            client_errors,
            server_errors,
            exceptions: self.exceptions,
            errors: ErrorCounts(self.kinds()),
            body_bytes: self.body_bytes,
            body_bytes_sec: rounded(ratio(self.body_bytes, time) * 1000.0),
            http2: self.http2,
            resumed: self.resumed,
        }
    }
}

fn rounded(value: f64) -> u64 {
    value.round() as u64
}

/// The figures of a summary. The names in JSON are the comparison's.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Figures<'a> {
    /// Records.
    #[serde(rename = "totalUrls")]
    pub total_urls: u64,
    /// From the first start to the last end, in ms. Of lines that are read back an end is the start and the duration, without
    /// waits for a turn or for memory.
    pub time: u64,
    /// The mean duration over all URLs that were started, in ms.
    pub avg: u64,
    /// The longest duration, in ms.
    pub max: u64,
    /// 2xx answers per second of `time`.
    #[serde(rename = "okReqsSec")]
    pub ok_reqs_sec: u64,
    /// The share of 2xx answers, 0 to 1.
    #[serde(rename = "okReqsPct")]
    pub ok_reqs_pct: f64,
    /// The mean body length of 2xx answers, in bytes.
    #[serde(rename = "avgBodyLen")]
    pub avg_body_len: u64,
    /// Responses of 2xx.
    #[serde(rename = "2xx")]
    pub ok: u64,
    /// Responses of 3xx.
    #[serde(rename = "3xx")]
    pub redirects: u64,
    /// Responses of 4xx.
    #[serde(rename = "4xx")]
    pub client_errors: u64,
    /// Responses of 5xx.
    #[serde(rename = "5xx")]
    pub server_errors: u64,
    /// URLs without a status.
    #[serde(rename = "Exception")]
    pub exceptions: u64,
    /// Those by kind.
    pub errors: ErrorCounts<'a>,
    /// The content of all records, in bytes, whatever their status; one that came to an error has none. The comparison has
    /// no such key, nor the next; both are absent if there is no content.
    #[serde(rename = "bodyBytes", skip_serializing_if = "is_zero")]
    pub body_bytes: u64,
    /// The same per second of `time`.
    #[serde(rename = "bodyBytesSec", skip_serializing_if = "is_zero")]
    pub body_bytes_sec: u64,
    /// Responses known to have come over HTTP/2. The comparison has no such key; absent if there are none.
    #[serde(skip_serializing_if = "is_zero")]
    pub http2: u64,
    /// Jobs that were done before the run was resumed, which nothing else counts; absent if there are none.
    #[serde(skip_serializing_if = "is_zero")]
    pub resumed: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// Error kinds with their counts, the most frequent first; an object in JSON.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct ErrorCounts<'a>(pub Vec<(&'a str, u64)>);

impl<'a> From<Vec<(&'a str, u64)>> for ErrorCounts<'a> {
    fn from(kinds: Vec<(&'a str, u64)>) -> Self {
        Self(kinds)
    }
}

impl Serialize for ErrorCounts<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().copied())
    }
}
