//! The record of one job: what was asked for, when, and what came of it.

mod details;

use std::borrow::Cow;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::value::RawValue;
use stoop::Phase;

pub(crate) use self::details::micros;
pub use self::details::{Details, Phases};
use crate::capture::{Capture, Exchange};
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

/// The current time, from the beginning of Unix time on.
pub(crate) fn unix_time() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// The same in milliseconds.
pub(crate) fn unix_ms() -> i64 {
    i64::try_from(unix_time().as_millis()).unwrap_or(i64::MAX)
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
        Self::local_error(crate::kinds::HOST_SUSPENDED, Phase::Queue, why)
    }

    /// A job that is not tried any further, because a host is left alone.
    pub(crate) fn host_suspended(host: &str) -> Self {
        let text = format!(
            "{host} did not answer, or answered 429 or 503 alone, for so long that it is left alone for a while"
        );
        Self::local_error(crate::kinds::HOST_SUSPENDED, Phase::Queue, &text)
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
