//! Timestamps of records as text.

use jiff::Timestamp;

/// Formats timestamps by RFC 3339, in UTC with milliseconds. Most lines start in the same second as the
/// one before, so only the milliseconds are new.
#[derive(Clone, Debug, Default)]
pub(super) struct TimestampFormatter {
    second: i64,
    /// `2026-11-21T20:54:55`, or empty.
    text: String,
}

impl TimestampFormatter {
    pub(super) fn push(&mut self, unix_ms: i64, line: &mut Vec<u8>) {
        let second = unix_ms.div_euclid(1000);
        if second != self.second || self.text.is_empty() {
            let stamp = Timestamp::from_second(second).unwrap_or(Timestamp::UNIX_EPOCH);
            self.text = stamp.to_string();
            self.text.truncate("2026-11-21T20:54:55".len());
            self.second = second;
        }
        line.extend_from_slice(self.text.as_bytes());
        let ms = unix_ms.rem_euclid(1000) as u16;
        let digit = |n: u16| b'0' + (n % 10) as u8;
        line.extend_from_slice(&[b'.', digit(ms / 100), digit(ms / 10), digit(ms), b'Z']);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timestamps_are_right_across_seconds_and_before_1970() {
        let mut stamp = TimestampFormatter::default();
        let mut text = |ms| {
            let mut line = Vec::new();
            stamp.push(ms, &mut line);
            String::from_utf8(line).expect("text")
        };
        assert_eq!(text(0), "1970-01-01T00:00:00.000Z");
        assert_eq!(text(999), "1970-01-01T00:00:00.999Z");
        assert_eq!(text(1000), "1970-01-01T00:00:01.000Z");
        assert_eq!(text(1_795_294_495_120), "2026-11-21T20:54:55.120Z");
        assert_eq!(text(999), "1970-01-01T00:00:00.999Z");
        assert_eq!(text(-1), "1969-12-31T23:59:59.999Z");
    }
}
