//! Dates of lines, each second's made once.

use std::cell::RefCell;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// A second as text, in the two forms that lines have.
struct Second {
    unix: u64,
    /// `10/Oct/2000:13:55:36 +0000`
    common: String,
    /// `2000-10-10T13:55:36`
    rfc3339: String,
}

thread_local! {
    static LAST: RefCell<Option<Second>> = const { RefCell::new(None) };
}

impl Second {
    fn of(unix: u64) -> Self {
        let (year, month, day) = civil(unix / 86_400);
        let (hour, minute, second) = (unix / 3_600 % 24, unix / 60 % 60, unix % 60);
        let name = MONTHS[month as usize - 1];
        Self {
            unix,
            common: format!("{day:02}/{name}/{year:04}:{hour:02}:{minute:02}:{second:02} +0000"),
            rfc3339: format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}"),
        }
    }
}

/// Year, month and day of a day since 1970, by the Gregorian calendar: the years are counted from March, in eras of 400
/// years, which have 146,097 days each.
fn civil(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let date = day - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (era * 400 + year + u64::from(month <= 2), month, date)
}

fn with_second(time: SystemTime, write: impl FnOnce(&Second, u32)) {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    LAST.with(|last| {
        let mut last = last.borrow_mut();
        let second = match &mut *last {
            Some(second) if second.unix == since.as_secs() => second,
            other => other.insert(Second::of(since.as_secs())),
        };
        write(second, since.subsec_millis());
    });
}

/// Writes `10/Oct/2000:13:55:36 +0000`.
pub(super) fn put_common(time: SystemTime, out: &mut Vec<u8>) {
    with_second(time, |second, _| out.extend_from_slice(second.common.as_bytes()));
}

/// Writes `2000-10-10T13:55:36.123Z` (RFC 3339).
pub(super) fn put_rfc3339(time: SystemTime, out: &mut Vec<u8>) {
    with_second(time, |second, millis| {
        out.extend_from_slice(second.rfc3339.as_bytes());
        let digit = |n: u32| b'0' + (n % 10) as u8;
        out.extend_from_slice(&[
            b'.',
            digit(millis / 100),
            digit(millis / 10),
            digit(millis),
            b'Z',
        ]);
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_are_dated_by_the_gregorian_calendar() {
        for (unix, common, rfc3339) in [
            (0, "01/Jan/1970:00:00:00 +0000", "1970-01-01T00:00:00.007Z"),
            (971_186_136, "10/Oct/2000:13:55:36 +0000", "2000-10-10T13:55:36.007Z"),
            (951_782_400, "29/Feb/2000:00:00:00 +0000", "2000-02-29T00:00:00.007Z"),
            (951_868_800, "01/Mar/2000:00:00:00 +0000", "2000-03-01T00:00:00.007Z"),
            (1_704_067_199, "31/Dec/2023:23:59:59 +0000", "2023-12-31T23:59:59.007Z"),
            (4_107_542_400, "01/Mar/2100:00:00:00 +0000", "2100-03-01T00:00:00.007Z"),
        ] {
            let time = UNIX_EPOCH + Duration::from_secs(unix) + Duration::from_millis(7);
            let (mut one, mut other) = (Vec::new(), Vec::new());
            put_common(time, &mut one);
            put_rfc3339(time, &mut other);
            assert_eq!(String::from_utf8(one).unwrap(), common);
            assert_eq!(String::from_utf8(other).unwrap(), rfc3339);
        }
    }
}
