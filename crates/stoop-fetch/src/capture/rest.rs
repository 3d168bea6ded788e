//! Content that broke off on its way to a file: what has come of it, and the response that has the rest (RFC 9110 §14).
//!
//! Not here: that the rest is asked for, which is one of the client's retries (`fetcher::sending`); and content in memory,
//! which begins anew.

use bytes::Bytes;
use jiff::fmt::rfc2822::DateTimeParser;
use jiff::{SignedDuration, Timestamp};
use stoop::{Error, ErrorKind, Fields, Method, Request, Response, StatusCode};

use super::Reservation;
use super::spill::Spill;

/// Content that was modified so long before its response was not modified again in the same second, also where the clocks
/// that say so are some seconds apart (RFC 9110 §8.8.2.2).
const DATE_STRONG_AFTER: SignedDuration = SignedDuration::from_secs(60);

/// What has come of content that broke off, all of it written.
#[derive(Debug)]
pub(crate) struct Part {
    pub(super) spill: Box<Spill>,
    /// What is kept in memory of its beginning, and has this memory.
    pub(super) beginning: Bytes,
    pub(super) reservation: Reservation,
    pub(super) received: u64,
    pub(super) whole: Whole,
}

/// The response whose content broke off, as far as it tells whether another has the rest.
#[derive(Debug)]
pub(super) struct Whole {
    pub(super) status: StatusCode,
    url: String,
    fields: Fields,
    /// What If-Range has.
    validator: Box<[u8]>,
    /// How long its content is, if it said so.
    length: Option<u64>,
}

/// Whether a request may ask for the rest of its content: it asks for all of it.
pub(crate) fn may_go_on(request: &Request) -> bool {
    let is_of_part = ["range", "if-range"].iter().any(|name| request.fields().contains(name));
    *request.method() == Method::GET && !is_of_part
}

impl Part {
    /// The fields that ask for the rest, if the content is still the same.
    pub(crate) fn rest(&self) -> Fields {
        let mut fields = Fields::new();
        let range = format!("bytes={}-", self.received);
        let pushed = fields.push("range", range.as_bytes());
        // A value that came in a field can be sent in one.
        let pushed = pushed.and_then(|()| fields.push("if-range", &self.whole.validator));
        debug_assert!(pushed.is_ok(), "{pushed:?}");
        fields
    }

    /// Whether a response has the rest, and nothing else: of the same content, from where it broke off to its end, which is
    /// no longer than `max` in all.
    pub(crate) fn goes_on_in(&self, response: &mut Response, max: Option<u64>) -> bool {
        let Some((first, last, length)) = content_range(response) else { return false };
        let whole = &self.whole;
        let (tag, date) = (response.field("etag"), response.field("last-modified"));
        response.status() == StatusCode::PARTIAL_CONTENT
            && first == self.received
            && last.checked_add(1) == Some(length)
            && whole.length.is_none_or(|before| before == length)
            && max.is_none_or(|max| length <= max)
            && response.url() == Some(&whole.url)
            && is_plain(response)
            // A tag that the content had the rest has, too, and a date may be left out (RFC 9110 §15.3.7).
            && tag == whole.fields.first("etag")
            && (date.is_none() || date == whole.fields.first("last-modified"))
            && response.body_mut().len() == Some(length - first)
    }

    /// The response that has the rest, as that whose content it goes on with.
    pub(crate) fn whole(&self, rest: Response) -> Response {
        let mut response = rest.with_status(self.whole.status);
        *response.fields_mut() = self.whole.fields.clone();
        response
    }
}

impl Whole {
    /// A response whose content broke off with this error, if the rest of it can be asked for.
    pub(super) fn of(response: &Response, error: &Error) -> Option<Self> {
        // What is too long is not asked for again.
        let is_broken = error.kind() != ErrorKind::BodyTooLarge;
        let has_ranges = !response.fields().lists("accept-ranges", "none");
        let is_whole = response.status() == StatusCode::OK && is_plain(response);
        if !is_broken || !has_ranges || !is_whole {
            return None;
        }
        let length = response.field("content-length").and_then(number);
        Some(Self {
            status: response.status(),
            url: response.url()?.to_owned(),
            fields: response.fields().clone(),
            validator: strong_validator(response)?.into(),
            length,
        })
    }
}

/// Whether content is as it is, in no content coding.
fn is_plain(response: &Response) -> bool {
    response.decoded_from().is_empty() && !response.fields().contains("content-encoding")
}

/// What tells the content of a response from all other of its URL, byte by byte (RFC 9110 §8.8, §13.1.5). A date only where
/// there is no entity tag.
fn strong_validator(response: &Response) -> Option<&[u8]> {
    if let Some(tag) = response.field("etag") {
        let is_strong = tag.len() >= 2 && tag.starts_with(b"\"") && tag.ends_with(b"\"");
        return is_strong.then_some(tag);
    }
    let modified = response.field("last-modified")?;
    let age = time(response.field("date")?)?.duration_since(time(modified)?);
    (age >= DATE_STRONG_AFTER).then_some(modified)
}

fn time(date: &[u8]) -> Option<Timestamp> {
    DateTimeParser::new().parse_timestamp(date).ok()
}

/// The first byte, the last one and how many there are in all, of a Content-Range (RFC 9110 §14.4).
fn content_range(response: &Response) -> Option<(u64, u64, u64)> {
    let range = response.field("content-range")?;
    let range = std::str::from_utf8(range).ok()?.strip_prefix("bytes ")?;
    let (range, length) = range.split_once('/')?;
    let (first, last) = range.split_once('-')?;
    let number = |text: &str| number(text.as_bytes());
    Some((number(first)?, number(last)?, number(length)?)).filter(|(first, last, _)| first <= last)
}

/// 1*DIGIT.
fn number(text: &[u8]) -> Option<u64> {
    let is_digits = !text.is_empty() && text.iter().all(u8::is_ascii_digit);
    std::str::from_utf8(text).ok().filter(|_| is_digits)?.parse().ok()
}

#[cfg(test)]
mod tests;
