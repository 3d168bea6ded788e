//! What an archive calls things: URLs, hosts, versions and types.

use std::borrow::Cow;

use memchr::{memchr3, memrchr};
use stoop::{Fields, Version};

use crate::record::Record;

/// A URL as an archive names it: without a password.
pub(super) fn uri(url: &str) -> Cow<'_, str> {
    let mut uri = crate::mask::text(url);
    let is_out_of_place = |byte| matches!(byte, b'\r' | b'\n' | b' ');
    if uri.bytes().any(is_out_of_place) {
        uri.to_mut().retain(|c| !matches!(c, '\r' | '\n' | ' '));
    }
    uri
}

/// The URL of a job as an archive names it: that of its first request, or what would have been that.
pub(super) fn target_uri<'a>(record: &'a Record<'_>) -> Option<Cow<'a, str>> {
    if let Some(first) = record.outcome.known_exchanges().first() {
        return Some(uri(&first.url));
    }
    let url = record.shown_url();
    let url = crate::target::target(std::str::from_utf8(&url).ok()?).ok()?;
    url::Url::parse(&url).ok().map(|url| uri(url.as_str()).into_owned().into())
}

/// The host of a URL that a request was sent to, with the port where the URL has it.
pub(super) fn host(url: &str) -> &str {
    let authority = url.split_once("//").map_or(url, |(_, rest)| rest);
    let bytes = authority.as_bytes();
    let end = memchr3(b'/', b'?', b'#', bytes).unwrap_or(bytes.len());
    let start = memrchr(b'@', &bytes[..end]).map_or(0, |at| at + 1);
    &authority[start..end]
}

/// The name of a version in `WARC-Protocol`.
pub(super) fn protocol(version: Version) -> Option<&'static str> {
    match version {
        Version::HTTP_10 => Some("http/1.0"),
        Version::HTTP_11 => Some("http/1.1"),
        Version::HTTP_2 => Some("h2"),
        _ => None,
    }
}

/// The media type without its parameters.
pub(super) fn media_type(fields: &Fields) -> Cow<'_, str> {
    let value = fields.first("content-type").unwrap_or_default();
    let essence = value.split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii();
    match String::from_utf8_lossy(essence) {
        essence if essence.is_empty() => "unk".into(),
        essence if essence.bytes().any(|byte| byte.is_ascii_uppercase()) => {
            essence.to_ascii_lowercase().into()
        }
        essence => essence,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_has_its_port_and_no_password() {
        for (url, expected) in [
            ("http://a.test/", "a.test"),
            ("https://a.test:8443/b?c@d", "a.test:8443"),
            ("http://u:p@a.test:81", "a.test:81"),
            ("http://u:p%40@[::1]:81/@", "[::1]:81"),
            ("http://a.test?q", "a.test"),
        ] {
            assert_eq!(host(url), expected, "{url}");
        }
    }

    #[test]
    fn the_uri_of_a_job_is_that_of_a_request() {
        let outcome = crate::Outcome::error("dns_nxdomain");
        let target = |url: &[u8]| {
            let record = Record::new(url, 0, std::time::Duration::ZERO, &outcome);
            target_uri(&record).map(Cow::into_owned)
        };
        assert_eq!(target(b"a.test").as_deref(), Some("https://a.test/"));
        assert_eq!(target(b"http://u:p@A.test/x y").as_deref(), Some("http://u:***@a.test/x%20y"));
        assert_eq!(target(b"no URL"), None);
        assert_eq!(target(b"\xff"), None);
    }
}
