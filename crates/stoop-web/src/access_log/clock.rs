//! Dates of log lines. Each thread formats a second once.

use std::cell::RefCell;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::date::{common, rfc3339};

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
        Self { unix, common: common(unix), rfc3339: rfc3339(unix) }
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
    fn a_time_is_written_in_the_second_that_it_is_in() {
        for (millis, common, rfc3339) in [
            (971_186_136_007, "10/Oct/2000:13:55:36 +0000", "2000-10-10T13:55:36.007Z"),
            (971_186_136_999, "10/Oct/2000:13:55:36 +0000", "2000-10-10T13:55:36.999Z"),
            (971_186_137_000, "10/Oct/2000:13:55:37 +0000", "2000-10-10T13:55:37.000Z"),
            (971_186_136_120, "10/Oct/2000:13:55:36 +0000", "2000-10-10T13:55:36.120Z"),
        ] {
            let time = UNIX_EPOCH + Duration::from_millis(millis);
            let (mut one, mut other) = (Vec::new(), Vec::new());
            put_common(time, &mut one);
            put_rfc3339(time, &mut other);
            assert_eq!(String::from_utf8(one).unwrap(), common);
            assert_eq!(String::from_utf8(other).unwrap(), rfc3339);
        }
    }
}
