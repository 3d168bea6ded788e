//! The outcome of one URL. The [`line_formatter`](super::line_formatter) makes the line of it.

use std::net::IpAddr;
use std::time::Duration;

use serde::Serialize;
use stoop::{Phase, Timings};

use crate::summary::ResultCode;

/// The outcome of one URL: a response, or an error.
#[derive(Debug)]
pub(super) struct UrlOutcome {
    pub(super) code: ResultCode<'static>,
    /// Bytes of the body after transfer-coding; 0 for an error.
    pub(super) body_bytes: u64,
    /// Whether it is a response that came over HTTP/2.
    pub(super) http2: bool,
    /// The fields that only JSONL has; not gathered for other formats.
    pub(super) details: Option<Box<Details>>,
}

/// The further fields of JSONL. A field is absent where it is not known.
#[derive(Debug, Default, Serialize)]
pub(super) struct Details {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) final_url: Option<String>,
    /// The status of a response that ended in an error. Without an error, the code has the status.
    #[serde(skip)]
    pub(super) status: Option<u16>,
    /// The Location of a redirect that was not followed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) location: Option<String>,
    /// How many redirects were followed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) redirects: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) http_version: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) content_type: Option<String>,
    /// The bytes of the body before it was decoded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) wire_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) error_phase: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) error: Option<String>,
    /// The address that the response came from, or with which the request failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) remote_ip: Option<IpAddr>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) remote_port: Option<u16>,
    #[serde(flatten)]
    pub(super) phases: Phases,
}

/// The durations of the phases, in microseconds; absent if a phase did not take place.
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
    /// The phases up to the head of a response.
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

impl UrlOutcome {
    /// An error, by its kind alone.
    pub(super) fn error(kind: &'static str) -> Self {
        Self { code: ResultCode::Error(kind), body_bytes: 0, http2: false, details: None }
    }

    /// An error that did not come from the client, with its phase and its text.
    pub(super) fn local_error(kind: &'static str, phase: Phase, text: &str) -> Self {
        let details = Details {
            error_phase: Some(phase.as_str()),
            error: Some(text.to_owned()),
            ..Details::default()
        };
        Self { details: Some(Box::new(details)), ..Self::error(kind) }
    }
}
