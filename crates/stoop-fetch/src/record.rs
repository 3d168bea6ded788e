//! The record of one job: what was asked for, when, and what came of it.

use std::borrow::Cow;
use std::net::IpAddr;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::Serialize;
use serde_json::value::RawValue;
use stoop::{Phase, Timings};

use crate::capture::{Capture, Exchange};
use crate::extract::Extracted;
use crate::job::Extent;
use crate::mask;
use crate::summary::ResultCode;

/// The record of one job, as a [`RecordFormat`](crate::format::RecordFormat) is given it.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Record<'a> {
    /// The URL as the source reported it; any bytes. It may have a password: see
    /// [`shown_url`](Self::shown_url).
    pub url: &'a [u8],
    /// Whether `url` is all of it.
    pub extent: Extent,
    /// The job's identifier, if it has one.
    pub id: Option<&'a str>,
    /// The job's metadata, if it has any.
    pub metadata: Option<&'a RawValue>,
    /// The method of the request.
    pub method: &'a str,
    /// When the job was started, in milliseconds of Unix time.
    pub start_ms: i64,
    /// From the start to the last byte of the body, redirects included.
    pub duration: Duration,
    /// What came of it.
    pub outcome: &'a Outcome,
    /// The place of the job in the source, from 0 on, in a run with a [`RunFolder`](crate::RunFolder).
    pub number: Option<u64>,
    /// How often failed jobs were begun anew in that run.
    pub round: u32,
}

impl<'a> Record<'a> {
    /// A record, for the tests of a format: of a GET for `url` that started at `start_ms`.
    pub fn new(url: &'a [u8], start_ms: i64, duration: Duration, outcome: &'a Outcome) -> Self {
        Self {
            url,
            extent: Extent::Whole,
            id: None,
            metadata: None,
            method: "GET",
            start_ms,
            duration,
            outcome,
            number: None,
            round: 0,
        }
    }

    /// The URL with `***` in place of a password, as every format writes it.
    pub fn shown_url(&self) -> Cow<'a, [u8]> {
        mask::line(self.url, self.extent == Extent::Whole)
    }

    /// [`duration`](Self::duration) in whole milliseconds.
    pub fn duration_ms(&self) -> u64 {
        whole_ms(self.duration)
    }
}

pub(crate) fn whole_ms(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// The current time, in milliseconds of Unix time.
pub(crate) fn unix_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// What came of one job: a response, or an error.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Outcome {
    /// The status, or the kind of error, one of [`kinds`](crate::kinds).
    pub code: ResultCode<'static>,
    /// Bytes of the body after transfer-coding and decoding; 0 for an error.
    pub body_bytes: u64,
    /// Whether it is a response that came over HTTP/2.
    pub http2: bool,
    /// The pause that the host of the URL asks for by 429 or 503, if it says how long; also where the content failed.
    pub(crate) overloaded: Option<Option<Duration>>,
    /// The host of the URL gave no response.
    pub(crate) is_host_silent: bool,
    /// The protocol of the job's URL is not spoken there.
    pub(crate) is_not_spoken: bool,
    /// The hosts of the job were told what came of its requests, by the time when this was certain.
    pub(crate) is_told: bool,
    /// Where a redirect leads that was not followed because its origin has to be asked for robots.txt first.
    pub(crate) unfollowed: Option<Box<str>>,
    /// The URL of the request that says so of its host, where redirects led to it.
    pub(crate) blamed: Option<Box<str>>,
    /// Everything else; gathered only for formats that need it.
    pub details: Option<Box<Details>>,
    /// The response itself with its content, as far as it was received; kept only for formats that need it, and for
    /// what else a run does with content.
    pub capture: Option<Box<Capture>>,
    /// Of a job that came to an error before its last response, the requests that had one, in order, with the heads of
    /// those; kept only for formats that need [exchanges](Capture::exchanges).
    pub exchanges: Option<Box<[Exchange]>>,
}

/// The further facts about a job. Each is absent where it is not known.
#[derive(Clone, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct Details {
    /// The URL of the response, after redirects, without a password.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub final_url: Option<String>,
    /// The status of a response that ended in an error. Without an error, the code has the status.
    #[serde(skip)]
    pub status: Option<u16>,
    /// The Location of a redirect that was not followed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub location: Option<String>,
    /// How many redirects were followed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub redirects: Option<u16>,
    /// How often the request was sent, if more than once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempts: Option<u32>,
    /// The version of HTTP of the response: `1.0`, `1.1` or `2`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub http_version: Option<&'static str>,
    /// The field Content-Type of the response.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content_type: Option<String>,
    /// The field ETag of the response, with its quotes; of a 304 without one what was sent. Absent if it is not text, or longer
    /// than 1,024 bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub etag: Option<String>,
    /// The same of the field Last-Modified.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_modified: Option<String>,
    /// The fields X-Robots-Tag of the response, joined by commas: whether the page may be found, and its links
    /// followed. [`RobotsTag`](crate::robots::RobotsTag) reads them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub x_robots_tag: Option<String>,
    /// Why the content is not all there is, if it is not: `length`, `time` or `disconnect`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub truncated: Option<&'static str>,
    /// The file that has the content, relative to the folder of the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub saved: Option<String>,
    /// The BLAKE3 of the content as received, in hexadecimal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blake3: Option<String>,
    /// The SHA-256 of the content as received, in hexadecimal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    /// What was asked for by [`Fetch::extract`](crate::Fetch::extract).
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub extracted: Option<Box<Extracted>>,
    /// The bytes of the body before it was decoded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wire_bytes: Option<u64>,
    /// Where an error arose: the name of a [`Phase`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_phase: Option<&'static str>,
    /// An error as text, for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The address that the response came from, or with which the request failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remote_ip: Option<IpAddr>,
    /// The port of that address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remote_port: Option<u16>,
    /// How long each phase took.
    #[serde(flatten)]
    pub phases: Phases,
}

/// The durations of the phases, in microseconds; absent if a phase did not take place.
#[derive(Clone, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct Phases {
    /// Waiting for a connection.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub t_queue_us: Option<u64>,
    /// Name lookup.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub t_dns_us: Option<u64>,
    /// Connecting.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub t_connect_us: Option<u64>,
    /// The handshake of TLS.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub t_tls_us: Option<u64>,
    /// From the request to the head of the response.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub t_wait_us: Option<u64>,
    /// From there to the last byte of the body.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub t_recv_us: Option<u64>,
}

impl Phases {
    /// The phases up to the head of a response.
    pub(crate) fn until_head(timings: &Timings) -> Self {
        Self {
            t_queue_us: timings.queue().map(micros),
            t_dns_us: timings.dns().map(micros),
            t_connect_us: timings.connect().map(micros),
            t_tls_us: timings.tls().map(micros),
            t_wait_us: timings.wait().map(micros),
            t_recv_us: None,
        }
    }

    /// The phases in the order in which they happen, in microseconds.
    pub(crate) fn in_order(&self) -> [Option<u64>; 6] {
        [
            self.t_queue_us,
            self.t_dns_us,
            self.t_connect_us,
            self.t_tls_us,
            self.t_wait_us,
            self.t_recv_us,
        ]
    }
}

pub(crate) fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

impl Outcome {
    /// An outcome of which only the code is known.
    pub fn new(code: ResultCode<'static>) -> Self {
        Self {
            code,
            body_bytes: 0,
            http2: false,
            overloaded: None,
            is_host_silent: false,
            is_not_spoken: false,
            is_told: false,
            unfollowed: None,
            blamed: None,
            details: None,
            capture: None,
            exchanges: None,
        }
    }

    /// The same, after these exchanges.
    pub(crate) fn after(mut self, mut exchanges: Vec<Exchange>) -> Self {
        exchanges.retain(|exchange| exchange.response.is_some());
        self.exchanges = (!exchanges.is_empty()).then(|| exchanges.into());
        self
    }

    /// The exchanges of the job, as far as they are kept.
    #[cfg(feature = "warc")]
    pub(crate) fn known_exchanges(&self) -> &[Exchange] {
        match &self.capture {
            Some(capture) => &capture.exchanges,
            None => self.exchanges.as_deref().unwrap_or_default(),
        }
    }

    /// The exchanges of a job that ends otherwise.
    pub(crate) fn into_exchanges(self) -> Vec<Exchange> {
        match self.capture {
            Some(capture) => capture.exchanges,
            None => self.exchanges.map(Vec::from).unwrap_or_default(),
        }
    }

    /// An error, by its kind alone.
    pub(crate) fn error(kind: &'static str) -> Self {
        Self::new(ResultCode::Error(kind))
    }

    /// An error that did not come from the client, with its phase and its text.
    pub(crate) fn local_error(kind: &'static str, phase: Phase, text: &str) -> Self {
        let details = Details {
            error_phase: Some(phase.as_str()),
            error: Some(text.to_owned()),
            ..Details::default()
        };
        Self { details: Some(Box::new(details)), ..Self::error(kind) }
    }

    /// A job that the end of the run cut short: in the queue, or while it waited for a response.
    pub(crate) fn cancelled(phase: Phase) -> Self {
        Self::local_error("cancelled", phase, "the run ended first")
    }

    /// A job that is not tried, because its host is left alone.
    pub(crate) fn not_tried(why: &str) -> Self {
        Self::local_error("host_suspended", Phase::Queue, why)
    }

    /// A job that is not tried any further, because a host is left alone.
    pub(crate) fn host_suspended(host: &str) -> Self {
        let text = format!(
            "{host} did not answer, or answered 429 or 503 alone, for so long that it is left alone for a while"
        );
        Self::local_error("host_suspended", Phase::Queue, &text)
    }

    /// The memory that it holds, nearly.
    pub(crate) fn held_bytes(&self) -> usize {
        let texts = self.details.as_ref().map_or(0, |details| {
            let texts = [&details.final_url, &details.error, &details.location];
            size_of::<Details>() + texts.into_iter().flatten().map(String::len).sum::<usize>()
        });
        size_of::<Self>() + texts
    }
}
