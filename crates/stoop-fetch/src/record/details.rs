//! What a record tells beyond its outcome: of the response, of its content, of an error, and how long each phase took.

use std::net::IpAddr;
use std::time::Duration;

use serde::Serialize;
use stoop::Timings;

use crate::extract::Extracted;
use crate::robots::RobotsTag;

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
    /// followed. [`robots_tag`](Self::robots_tag) reads them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub x_robots_tag: Option<String>,
    /// The same one by one, where there are several: a name in one is not for the next.
    #[serde(skip)]
    pub(crate) robots_fields: Option<Box<[String]>>,
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
    /// Where an error arose: the name of a [`Phase`](stoop::Phase).
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

impl Details {
    /// What the fields X-Robots-Tag of the response say, to all agents and to this one, a product token.
    pub fn robots_tag(&self, agent: &str) -> RobotsTag {
        match (&self.robots_fields, &self.x_robots_tag) {
            (Some(fields), _) => {
                RobotsTag::parse(fields.iter().map(|field| field.as_bytes()), agent)
            }
            (None, field) => RobotsTag::parse(field.iter().map(|field| field.as_bytes()), agent),
        }
    }
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
