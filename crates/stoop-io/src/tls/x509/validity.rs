//! From when to when a certificate is valid (RFC 5280 §4.1.2.5).

use super::der::Der;

const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;

/// The first and the last second in which a certificate is valid, in seconds of Unix time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::tls) struct Validity {
    pub(in crate::tls) not_before: i64,
    pub(in crate::tls) not_after: i64,
}

impl Validity {
    /// `Validity ::= SEQUENCE { notBefore Time, notAfter Time }`.
    pub(super) fn read(mut times: Der<'_>) -> Option<Self> {
        let (not_before, not_after) = (time(times.next()?)?, time(times.next()?)?);
        times.0.is_empty().then_some(Self { not_before, not_after })
    }
}

/// `Time ::= CHOICE { UTCTime, GeneralizedTime }`: both in UTC, with seconds and without fractions of them.
fn time((tag, value): (u8, &[u8])) -> Option<i64> {
    let digits = value.strip_suffix(b"Z")?;
    let (pairs, []) = digits.as_chunks::<2>() else { return None };
    if !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let number = |pair: [u8; 2]| i64::from((pair[0] - b'0') * 10 + (pair[1] - b'0'));
    let (century, pairs) = match (tag, pairs) {
        // §4.1.2.5.1: two digits are of 1950 to 2049.
        (UTC_TIME, [year, ..]) => (if number(*year) < 50 { 20 } else { 19 }, pairs),
        (GENERALIZED_TIME, [century, rest @ ..]) => (number(*century), rest),
        _ => return None,
    };
    let pairs: [[u8; 2]; 6] = pairs.try_into().ok()?;
    let [year, month, day, hour, minute, second] = pairs.map(number);
    let is_time = (1..=12).contains(&month)
        && (1..=31).contains(&day)
        && hour < 24
        && minute < 60
        && second < 60;
    let seconds = (hour * 60 + minute) * 60 + second;
    is_time.then(|| days(century * 100 + year, month, day) * 86_400 + seconds)
}

/// The days from 1970-01-01 to a date of the Gregorian calendar.
fn days(year: i64, month: i64, day: i64) -> i64 {
    // In years that begin in March, the leap day is the last, and the months before it have lengths of a pattern.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let leap_days = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    365 * year + leap_days + (153 * month + 2) / 5 + day - 1 - DAYS_TO_1970
}

/// From 0000-03-01 to 1970-01-01.
const DAYS_TO_1970: i64 = 719_468;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_of_either_form_in_utc_and_whole_seconds() {
        for (tag, text, expected) in [
            (UTC_TIME, "700101000000Z", 0),
            (UTC_TIME, "491231235959Z", 2_524_607_999),
            (UTC_TIME, "500101000000Z", -631_152_000),
            (UTC_TIME, "240229120000Z", 1_709_208_000),
            (GENERALIZED_TIME, "20500101000000Z", 2_524_608_000),
            (GENERALIZED_TIME, "99991231235959Z", 253_402_300_799),
            (GENERALIZED_TIME, "00000101000000Z", -62_167_219_200),
        ] {
            assert_eq!(time((tag, text.as_bytes())), Some(expected), "{text}");
        }
        for (tag, text) in [
            (UTC_TIME, "2401010000Z"),
            (UTC_TIME, "240101000000"),
            (UTC_TIME, "240101000000+0100"),
            (UTC_TIME, "241301000000Z"),
            (UTC_TIME, "240100000000Z"),
            (UTC_TIME, "20240101000000Z"),
            (UTC_TIME, "Z"),
            (UTC_TIME, "24010100000:Z"),
            (GENERALIZED_TIME, "20240101000000.5Z"),
            (GENERALIZED_TIME, "240101000000Z"),
            (0x0c, "240101000000Z"),
        ] {
            assert_eq!(time((tag, text.as_bytes())), None, "{text}");
        }
    }
}
