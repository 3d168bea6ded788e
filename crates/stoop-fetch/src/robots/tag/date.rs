//! The date of `unavailable_after`: RFC 822, RFC 850 or ISO 8601, as Google's description has it.

use std::time::SystemTime;

use jiff::civil::{Date, DateTime};
use jiff::fmt::rfc2822::DateTimeParser;
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};

/// What the text says, without its weekday, which may be wrong. A date without a time is its beginning, and a time
/// without a zone is UTC.
pub(super) fn parse(text: &str) -> Option<SystemTime> {
    if let Ok(at) = text.parse::<Timestamp>() {
        return Some(at.into());
    }
    let utc =
        |at: DateTime| at.to_zoned(TimeZone::UTC).ok().map(|zoned: Zoned| zoned.timestamp().into());
    if let Ok(at) = text.parse::<DateTime>() {
        return utc(at);
    }
    let text = match text.split_once([',', ' ']) {
        Some((day, rest)) if is_weekday(day) => rest.trim_start(),
        _ => text,
    };
    // RFC 850 has hyphens where RFC 822 has spaces: 25-Jun-10.
    let (date, time) = text.split_once(' ').unwrap_or((text, ""));
    let text = format!("{} {time}", date.replace('-', " "));
    if let Ok(at) = DateTimeParser::new().parse_timestamp(text.trim()) {
        return Some(at.into());
    }
    let without_zone = ["%d %b %Y %H:%M:%S", "%d %b %Y %H:%M"];
    without_zone
        .iter()
        .find_map(|format| DateTime::strptime(format, text.trim()).ok())
        .or_else(|| Some(Date::strptime("%d %b %Y", text.trim()).ok()?.at(0, 0, 0, 0)))
        .and_then(utc)
}

pub(super) fn is_weekday(text: &str) -> bool {
    let days = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];
    let text = text.trim().to_ascii_lowercase();
    text.len() >= 3 && days.iter().any(|day| day.starts_with(&text))
}

/// The same as text: RFC 3339, in UTC.
pub(super) fn text(at: SystemTime) -> Option<String> {
    Timestamp::try_from(at).ok().map(|at| at.to_string())
}
