//! The figures of a run, in the keys and units of the comparison they come from: one definition
//! for `fetch`, which counts as it goes, and `report`, which reads lines back.
//!
//! Times are whole milliseconds, because that is what a line carries: the summary printed by
//! `fetch` and the one `report` makes of the same lines are equal to the last digit. What a line of
//! CSV does not tell, the version of HTTP, stands apart, and only where it is known.

use std::cmp::Reverse;
use std::collections::HashMap;

use serde::{Serialize, Serializer};

/// Error words counted one by one; any beyond these go into one pot, so that lines whose error
/// text is different every time cannot fill memory.
const KINDS_MAX: usize = 512;
const OTHER_KINDS: &str = "(other)";

/// What an URL was answered with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Code<'a> {
    /// The status of the final response, after redirects.
    Status(u16),
    /// The kind of error there was instead.
    Error(&'a str),
}

/// What all lines of a run add up to. Constant in size, whatever the number of lines.
#[derive(Debug, Default)]
pub(crate) struct Summary {
    urls: u64,
    /// 2xx, 3xx, 4xx, 5xx.
    classes: [u64; 4],
    exceptions: u64,
    duration_sum_ms: u64,
    duration_max_ms: u64,
    /// The first start and the last end, in milliseconds of Unix time.
    span_ms: Option<(i64, i64)>,
    ok_body_bytes: u64,
    http2: u64,
    kinds: HashMap<String, u64>,
}

impl Summary {
    /// Counts one line.
    pub(crate) fn add(&mut self, code: Code<'_>, start_ms: i64, duration_ms: u64, body_bytes: u64) {
        self.urls += 1;
        self.duration_sum_ms = self.duration_sum_ms.saturating_add(duration_ms);
        self.duration_max_ms = self.duration_max_ms.max(duration_ms);
        self.spread(start_ms, start_ms.saturating_add_unsigned(duration_ms));
        match code {
            Code::Status(status @ 200..=599) => {
                self.classes[usize::from(status / 100 - 2)] += 1;
                if status < 300 {
                    self.ok_body_bytes = self.ok_body_bytes.saturating_add(body_bytes);
                }
            }
            // Three digits outside what HTTP defines as a final answer.
            Code::Status(other) => self.add_error(&other.to_string(), 1),
            Code::Error(kind) => self.add_error(kind, 1),
        }
    }

    /// Whether nothing was counted.
    pub(crate) fn is_empty(&self) -> bool {
        self.urls == 0
    }

    /// Counts whether the answer of a line came over HTTP/2, where that is known.
    pub(crate) fn add_http2(&mut self, http2: bool) {
        self.http2 += u64::from(http2);
    }

    /// Counts all that `other` counted.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.urls += other.urls;
        for (ours, theirs) in self.classes.iter_mut().zip(other.classes) {
            *ours += theirs;
        }
        for (kind, count) in &other.kinds {
            self.add_error(kind, *count);
        }
        self.duration_sum_ms = self.duration_sum_ms.saturating_add(other.duration_sum_ms);
        self.duration_max_ms = self.duration_max_ms.max(other.duration_max_ms);
        if let Some((first, last)) = other.span_ms {
            self.spread(first, last);
        }
        self.ok_body_bytes = self.ok_body_bytes.saturating_add(other.ok_body_bytes);
        self.http2 += other.http2;
    }

    fn spread(&mut self, start: i64, end: i64) {
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
    pub(crate) fn kinds(&self) -> Vec<(&str, u64)> {
        let mut kinds: Vec<_> = self.kinds.iter().map(|(kind, n)| (kind.as_str(), *n)).collect();
        kinds.sort_unstable_by_key(|&(kind, count)| (Reverse(count), kind));
        kinds
    }

    /// The figures, rounded as the comparison rounds them: halves go up, the share has two
    /// decimals.
    pub(crate) fn figures(&self) -> Figures<'_> {
        let [ok, redirects, client_errors, server_errors] = self.classes;
        let time = self.span_ms.map_or(0, |(first, last)| last.abs_diff(first));
        let ratio = |part: u64, whole: u64| part as f64 / whole.max(1) as f64;
        Figures {
            total_urls: self.urls,
            time,
            avg: rounded(ratio(self.duration_sum_ms, self.urls)),
            max: self.duration_max_ms,
            ok_reqs_sec: rounded(ratio(ok, time) * 1000.0),
            ok_reqs_pct: (ratio(ok, self.urls) * 100.0).round() / 100.0,
            avg_body_len: rounded(ratio(self.ok_body_bytes, ok)),
            ok,
            redirects,
            client_errors,
            server_errors,
            exceptions: self.exceptions,
            errors: Kinds(self.kinds()),
            http2: self.http2,
        }
    }
}

fn rounded(value: f64) -> u64 {
    value.round() as u64
}

/// A summary as it is shown. The names in JSON are the comparison's.
#[derive(Debug, PartialEq, Serialize)]
pub(crate) struct Figures<'a> {
    #[serde(rename = "totalUrls")]
    pub(crate) total_urls: u64,
    /// From the first start to the last end, in ms.
    pub(crate) time: u64,
    /// The mean duration over all URLs, in ms.
    pub(crate) avg: u64,
    /// The longest duration, in ms.
    pub(crate) max: u64,
    /// 2xx answers per second of `time`.
    #[serde(rename = "okReqsSec")]
    pub(crate) ok_reqs_sec: u64,
    /// The share of 2xx answers, 0 to 1.
    #[serde(rename = "okReqsPct")]
    pub(crate) ok_reqs_pct: f64,
    /// The mean body length of 2xx answers, in bytes.
    #[serde(rename = "avgBodyLen")]
    pub(crate) avg_body_len: u64,
    #[serde(rename = "2xx")]
    pub(crate) ok: u64,
    #[serde(rename = "3xx")]
    pub(crate) redirects: u64,
    #[serde(rename = "4xx")]
    pub(crate) client_errors: u64,
    #[serde(rename = "5xx")]
    pub(crate) server_errors: u64,
    /// Everything that was not answered with a status.
    #[serde(rename = "Exception")]
    pub(crate) exceptions: u64,
    pub(crate) errors: Kinds<'a>,
    /// Answers known to have come over HTTP/2: no key of the comparison's, and there only if any did.
    #[serde(skip_serializing_if = "is_zero")]
    pub(crate) http2: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// Error kinds with their counts: in JSON an object, the most frequent first.
#[derive(Debug, PartialEq)]
pub(crate) struct Kinds<'a>(pub(crate) Vec<(&'a str, u64)>);

impl Serialize for Kinds<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().copied())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Four URLs, by hand: 100 + 50 + 200 + 5 = 355 ms over four is 88.75; two of four are 2xx, from
    /// 1000 to 1250 is 250 ms, two in that is 8 a second; bodies of 10 and 21 bytes are 15.5 a piece.
    #[test]
    fn the_figures_are_those_computed_by_hand() {
        let mut summary = Summary::default();
        summary.add(Code::Status(200), 1000, 100, 10);
        summary.add(Code::Status(204), 1010, 50, 21);
        summary.add(Code::Status(404), 1050, 200, 999);
        summary.add(Code::Error("dns_nxdomain"), 1020, 5, 0);
        let figures = summary.figures();
        let json = serde_json::to_string(&figures).expect("plain data");
        assert_eq!(
            json,
            "{\"totalUrls\":4,\"time\":250,\"avg\":89,\"max\":200,\"okReqsSec\":8,\
             \"okReqsPct\":0.5,\"avgBodyLen\":16,\"2xx\":2,\"3xx\":0,\"4xx\":1,\"5xx\":0,\
             \"Exception\":1,\"errors\":{\"dns_nxdomain\":1}}"
        );
    }

    /// The published row of the fastest client: 7,980 of 10,000 in 49,149 ms are 162 a second and a
    /// share of 0.8.
    #[test]
    fn rates_round_as_in_the_published_table() {
        let mut summary = Summary::default();
        for n in 0..10_000_u64 {
            let code = match n {
                0..7_980 => Code::Status(200),
                7_980 => Code::Status(301),
                7_981..8_952 => Code::Status(404),
                8_952..8_973 => Code::Status(503),
                _ => Code::Error("total_timeout"),
            };
            let start = if n == 9_999 { 49_149 - 680 } else { 0 };
            summary.add(code, start, 680, 256_487);
        }
        let figures = summary.figures();
        assert_eq!((figures.time, figures.avg), (49_149, 680));
        assert_eq!((figures.ok_reqs_sec, figures.ok_reqs_pct), (162, 0.8));
        assert_eq!(figures.avg_body_len, 256_487);
        assert_eq!(
            (figures.ok, figures.redirects, figures.client_errors, figures.server_errors),
            (7_980, 1, 971, 21)
        );
        assert_eq!(figures.exceptions, 1_027);
    }

    #[test]
    fn parts_merge_into_what_the_whole_would_be() {
        let lines = [
            (Code::Status(200), 5, 10, 7),
            (Code::Error("reset"), 1, 2, 0),
            (Code::Status(500), 90, 1, 3),
            (Code::Error("reset"), 50, 60, 0),
            (Code::Status(302), 7, 0, 0),
        ];
        let mut whole = Summary::default();
        let mut parts = [Summary::default(), Summary::default()];
        for (n, (code, start, duration, body)) in lines.into_iter().enumerate() {
            whole.add(code, start, duration, body);
            parts[n % 2].add(code, start, duration, body);
        }
        let mut merged = Summary::default();
        merged.merge(&parts[0]);
        merged.merge(&parts[1]);
        merged.merge(&Summary::default());
        assert_eq!(merged.figures(), whole.figures());
    }

    #[test]
    fn answers_over_http2_are_told_where_there_were_any() {
        let mut summary = Summary::default();
        summary.add(Code::Status(200), 0, 0, 0);
        summary.add_http2(false);
        let json = |summary: &Summary| serde_json::to_string(&summary.figures()).expect("plain");
        assert!(!json(&summary).contains("http2"));
        let mut other = Summary::default();
        other.add(Code::Status(200), 0, 0, 0);
        other.add_http2(true);
        summary.merge(&other);
        assert!(json(&summary).ends_with(",\"errors\":{},\"http2\":1}"), "{}", json(&summary));
    }

    #[test]
    fn nothing_at_all_is_all_zeros() {
        let figures = Summary::default();
        let figures = figures.figures();
        assert_eq!((figures.total_urls, figures.time, figures.avg), (0, 0, 0));
        assert_eq!((figures.ok_reqs_sec, figures.ok_reqs_pct), (0, 0.0));
    }

    #[test]
    fn a_status_that_ends_no_exchange_is_an_exception() {
        let mut summary = Summary::default();
        summary.add(Code::Status(0), 0, 0, 0);
        summary.add(Code::Status(999), 0, 0, 0);
        assert_eq!(summary.figures().exceptions, 2);
        assert_eq!(summary.kinds(), [("0", 1), ("999", 1)]);
    }

    #[test]
    fn error_words_without_end_do_not_fill_memory() {
        let mut summary = Summary::default();
        for n in 0..2_000 {
            summary.add(Code::Error(&format!("word {n}")), 0, 0, 0);
        }
        assert_eq!(summary.kinds.len(), KINDS_MAX + 1);
        assert_eq!(summary.kinds()[0], (OTHER_KINDS, 1_488));
        assert_eq!(summary.figures().exceptions, 2_000);
    }
}
