//! The field Retry-After (RFC 9110 §10.2.3): how long a server asks not to be asked again.

use std::time::{Duration, SystemTime};

use super::Response;

impl<B> Response<B> {
    /// How long the server asks not to be asked again: its Retry-After (RFC 9110 §10.2.3), in seconds or as a date,
    /// which is compared with the system's clock. `None` without a valid one.
    pub fn retry_after(&self) -> Option<Duration> {
        retry_after(self.field("retry-after")?, SystemTime::now())
    }
}

/// How long a Retry-After says to wait from `now`: seconds, or a date (RFC 9110 §10.2.3) in any of the three forms
/// that a recipient must accept (§5.6.7).
fn retry_after(value: &[u8], now: SystemTime) -> Option<Duration> {
    let text = std::str::from_utf8(value).ok()?.trim();
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        // What does not fit is longer than any request waits.
        return Some(Duration::from_secs(text.parse().unwrap_or(u64::MAX)));
    }
    let at = httpdate::parse_http_date(text).ok()?;
    Some(at.duration_since(now).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use std::time::UNIX_EPOCH;

    use super::*;

    #[test]
    fn a_retry_after_is_seconds_or_a_date() {
        let now = UNIX_EPOCH + Duration::from_secs(784_111_777);
        for (value, seconds) in [
            ("120", Some(120)),
            (" 0 ", Some(0)),
            ("Sun, 06 Nov 1994 08:49:40 GMT", Some(3)),
            ("Sun, 06 Nov 1994 08:49:30 GMT", Some(0)),
            ("Sunday, 06-Nov-94 08:49:41 GMT", Some(4)),
            ("Sun Nov  6 08:49:42 1994", Some(5)),
            ("Mon, 06 Nov 1994 08:49:40 GMT", None),
            ("Sun, 06 Nov 1994 24:49:37 GMT", None),
            ("-1", None),
            ("soon", None),
            ("99999999999", Some(99_999_999_999)),
            ("1000000000000000000000000000000", Some(u64::MAX)),
            ("", None),
        ] {
            let wait = retry_after(value.as_bytes(), now).map(|wait| wait.as_secs());
            assert_eq!(wait, seconds, "{value}");
        }
    }
}
