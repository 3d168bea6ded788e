//! Dates of log lines. Each thread formats a second once.

use std::cell::RefCell;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use httpdate::fmt_http_date;

/// The last second of the year 9999, which is the last that has a date.
const LAST_SECOND: u64 = 253_402_300_799;

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
        let time = UNIX_EPOCH + Duration::from_secs(unix.min(LAST_SECOND));
        // `Tue, 10 Oct 2000 13:55:36 GMT`
        let date = fmt_http_date(time);
        let (day, name, year, of_day) = (&date[5..7], &date[8..11], &date[12..16], &date[17..25]);
        let month = 1 + MONTHS.iter().position(|month| *month == name).unwrap_or_default();
        Self {
            unix,
            common: format!("{day}/{name}/{year}:{of_day} +0000"),
            rfc3339: format!("{year}-{month:02}-{day}T{of_day}"),
        }
    }
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
            (300_000_000_000, "31/Dec/9999:23:59:59 +0000", "9999-12-31T23:59:59.007Z"),
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
