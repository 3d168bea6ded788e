//! How one URL ended. The line that says so is the [recorder](super::recorder)'s.

use std::net::IpAddr;
use std::time::Duration;

use serde::Serialize;
use stoop::{Phase, Timings};

use crate::summary::Code;

/// How the fetching of one URL ended.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) code: Code<'static>,
    /// Bytes of the body after transfer-coding; 0 for an error.
    pub(super) body_bytes: u64,
    /// Whether it is an answer that came over HTTP/2.
    pub(super) http2: bool,
    /// What only the longer formats tell; not gathered for the others.
    pub(super) details: Option<Box<Details>>,
}

/// What JSONL tells besides. A field is absent where it is not known.
#[derive(Debug, Default, Serialize)]
pub(super) struct Details {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) final_url: Option<String>,
    /// The status of an answer that an error came of; that of an answer is its code.
    #[serde(skip)]
    pub(super) status: Option<u16>,
    /// Where a redirect leads that was not followed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) location: Option<String>,
    /// How many were followed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) redirects: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) http_version: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) content_type: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) error_phase: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) error: Option<String>,
    /// Where the answer came from, or where it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) remote_ip: Option<IpAddr>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) remote_port: Option<u16>,
    #[serde(flatten)]
    pub(super) phases: Phases,
}

/// How long what took, in microseconds; absent if it did not take place.
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
    /// Those up to the head of a response.
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

impl Outcome {
    /// An error by its kind alone.
    pub(super) fn error(kind: &'static str) -> Self {
        Self { code: Code::Error(kind), body_bytes: 0, http2: false, details: None }
    }

    /// An error that the client had no part in: when it was, and why, in words.
    pub(super) fn without_client(kind: &'static str, phase: Phase, words: &str) -> Self {
        let details = Details {
            error_phase: Some(phase.as_str()),
            error: Some(words.to_owned()),
            ..Details::default()
        };
        Self { details: Some(Box::new(details)), ..Self::error(kind) }
    }
}
