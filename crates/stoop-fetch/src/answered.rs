//! From a response of the client to the details of a record.

use stoop::{Fields, Response, Version};

use crate::earlier::{Known, VALIDATOR_BYTES_MAX};
use crate::failures::masked_location;
use crate::mask;
use crate::record::{Details, Phases};

/// The details of a response whose content is yet to come. `known` is what an earlier run has, if it says that it has not
/// changed.
pub(crate) fn answered(response: &Response, known: Known<'_>) -> Details {
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
        x_robots_tag: robots_tag(response.fields()),
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

/// The X-Robots-Tag fields, as one.
fn robots_tag(fields: &Fields) -> Option<String> {
    let values: Vec<_> = fields.all("x-robots-tag").map(String::from_utf8_lossy).collect();
    (!values.is_empty()).then(|| values.join(", "))
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
