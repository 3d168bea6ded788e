//! From a response of the client to its outcome, and the details of a record.

use std::sync::Arc;

use stoop::{Error, Fields, FollowUp, Response, Version};

use crate::earlier::{Earlier, Known, VALIDATOR_BYTES_MAX};
use crate::extract::Extraction;
use crate::failures::masked_location;
use crate::mask;
use crate::record::{Details, Outcome, Phases};
use crate::summary::ResultCode;

/// What is told of responses.
#[derive(Clone)]
pub(crate) struct Describer {
    pub(crate) is_detailed: bool,
    pub(crate) extraction: Extraction,
    pub(crate) earlier: Option<Arc<Earlier>>,
}

impl Describer {
    /// What an earlier run has of the URL of a response, if that says that it has not changed.
    pub(crate) fn unchanged(&self, response: &Response, is_head: bool) -> Option<Known<'_>> {
        let earlier = self.earlier.as_ref().filter(|_| response.is_unchanged())?;
        earlier.find(is_head, response.url()?)
    }

    /// The details of a response whose content is yet to come, if they are wanted. `known` is what an earlier run has, if
    /// it says that it has not changed.
    pub(crate) fn details(
        &self,
        response: &Response,
        known: Option<Known<'_>>,
    ) -> Option<Box<Details>> {
        self.is_detailed.then(|| {
            Box::new(Details {
                extracted: self.extraction.of_head(response),
                ..answered(response, known.unwrap_or_default())
            })
        })
    }

    /// The outcome of a response with these details, whose content was so long, or failed.
    pub(crate) fn outcome(
        &self,
        response: &Response,
        content: Result<u64, &Error>,
        mut details: Option<Box<Details>>,
    ) -> Outcome {
        let status = response.status().as_u16();
        let mut outcome = match content {
            Ok(body_bytes) => Outcome {
                body_bytes,
                http2: response.version() == Version::HTTP_2,
                details,
                ..Outcome::new(ResultCode::Status(status))
            },
            Err(error) => {
                if let Some(details) = &mut details {
                    details.status = Some(status);
                    details.error_phase = Some(error.phase().as_str());
                    details.error = Some(mask::text(&error.to_string()).into_owned());
                }
                Outcome { details, ..Outcome::error(error.kind().as_str()) }
            }
        };
        // The head says so, whatever becomes of the content.
        if matches!(status, 429 | 503) {
            outcome.overloaded = Some(response.retry_after());
            outcome.blamed = blamed(response);
        }
        outcome
    }

    /// The outcome of the attempt that a retry follows from, if there was a response: that of the job, if the retry is not
    /// sent. Nothing is kept of the content.
    pub(crate) fn before_retry(&self, next: &FollowUp<'_>) -> Option<Box<Outcome>> {
        let response = next.response()?;
        let details = self.details(response, None);
        let outcome = self.outcome(response, next.outcome().map(|_| 0), details);
        Some(Box::new(Outcome { is_told: true, ..outcome }))
    }
}

/// The URL of a response that redirects led to.
fn blamed(response: &Response) -> Option<Box<str>> {
    response.url().filter(|_| response.redirects() > 0).map(Box::from)
}

/// The details of a response whose content is yet to come. `known` is what an earlier run has, if it says that it has not
/// changed.
fn answered(response: &Response, known: Known<'_>) -> Details {
    let (x_robots_tag, robots_fields) = robots_tag(response.fields());
    Details {
        final_url: response.url().map(|url| mask::text(url).into_owned()),
        redirects: Some(response.redirects()),
        attempts: Some(response.attempts()).filter(|attempts| *attempts > 1),
        location: response
            .field("location")
            .filter(|_| response.status().is_redirection())
            .map(masked_location),
        http_version: version(response.version()),
        content_type: response
            .field("content-type")
            .map(|value| String::from_utf8_lossy(value).into_owned()),
        etag: validator(response, "etag", known.etag),
        last_modified: validator(response, "last-modified", known.last_modified),
        x_robots_tag,
        robots_fields,
        remote_ip: response.remote_address().map(|address| address.ip()),
        remote_port: response.remote_address().map(|address| address.port()),
        phases: Phases::until_head(&response.timings()),
        ..Details::default()
    }
}

/// A validator as a record has it, so that it can be sent as it came: that of the response, or what is known already.
fn validator(response: &Response, name: &str, known: &[u8]) -> Option<String> {
    let value = response.field(name).filter(|value| !value.is_empty()).unwrap_or(known);
    let is_sent = !value.is_empty() && value.len() <= VALIDATOR_BYTES_MAX;
    std::str::from_utf8(value).ok().filter(|_| is_sent).map(str::to_owned)
}

/// The X-Robots-Tag fields, as one, and one by one where there are several.
fn robots_tag(fields: &Fields) -> (Option<String>, Option<Box<[String]>>) {
    let values =
        fields.all("x-robots-tag").map(|value| String::from_utf8_lossy(value).into_owned());
    let values: Box<[_]> = values.collect();
    ((!values.is_empty()).then(|| values.join(", ")), (values.len() > 1).then_some(values))
}

/// The version as the field `http_version` has it.
fn version(version: Version) -> Option<&'static str> {
    match version {
        Version::HTTP_10 => Some("1.0"),
        Version::HTTP_11 => Some("1.1"),
        Version::HTTP_2 => Some("2"),
        Version::HTTP_3 => Some("3"),
        _ => None,
    }
}
