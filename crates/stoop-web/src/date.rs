//! Dates as text, in other forms than HTTP has: those of log lines and lists.

use std::time::{Duration, UNIX_EPOCH};

use httpdate::fmt_http_date;

/// The last second of the year 9999, which is the last that has a date.
const LAST_SECOND: u64 = 253_402_300_799;

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// The parts of a date.
struct Parts {
    year: String,
    /// 1 to 12.
    month: usize,
    day: String,
    time: String,
}

impl Parts {
    /// Those of a second since 1970, or of the last one that has a date.
    fn of(unix: u64) -> Self {
        // `Tue, 10 Oct 2000 13:55:36 GMT`
        let date = fmt_http_date(UNIX_EPOCH + Duration::from_secs(unix.min(LAST_SECOND)));
        let name = &date[8..11];
        let month = 1 + MONTHS.iter().position(|month| *month == name).unwrap_or_default();
        let [day, year, time] = [5..7, 12..16, 17..25].map(|part| date[part].to_owned());
        Self { year, month, day, time }
    }
}

/// `10/Oct/2000:13:55:36 +0000`
pub(crate) fn common(unix: u64) -> String {
    let Parts { year, month, day, time } = Parts::of(unix);
    format!("{day}/{}/{year}:{time} +0000", MONTHS[month - 1])
}

/// `2000-10-10T13:55:36` (RFC 3339), without a zone: it is UTC.
pub(crate) fn rfc3339(unix: u64) -> String {
    let Parts { year, month, day, time } = Parts::of(unix);
    format!("{year}-{month:02}-{day}T{time}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_are_dated_by_the_gregorian_calendar() {
        for (unix, common_date, date) in [
            (0, "01/Jan/1970:00:00:00 +0000", "1970-01-01T00:00:00"),
            (971_186_136, "10/Oct/2000:13:55:36 +0000", "2000-10-10T13:55:36"),
            (951_782_400, "29/Feb/2000:00:00:00 +0000", "2000-02-29T00:00:00"),
            (951_868_800, "01/Mar/2000:00:00:00 +0000", "2000-03-01T00:00:00"),
            (1_704_067_199, "31/Dec/2023:23:59:59 +0000", "2023-12-31T23:59:59"),
            (4_107_542_400, "01/Mar/2100:00:00:00 +0000", "2100-03-01T00:00:00"),
            (300_000_000_000, "31/Dec/9999:23:59:59 +0000", "9999-12-31T23:59:59"),
        ] {
            assert_eq!((&*common(unix), &*rfc3339(unix)), (common_date, date));
        }
    }
}
