//! The Date field: formatted once a second and thread.

use std::cell::RefCell;
use std::io::Write;
use std::time::{Duration, UNIX_EPOCH};

use httpdate::HttpDate;

/// An IMF-fixdate, the form in which dates are sent (RFC 9110 §5.6.7): `Sun, 06 Nov 1994 08:49:37 GMT`.
type Date = [u8; 29];

/// The last second of the year 9999, which is the last that the form has.
const LAST_SECOND: u64 = 253_402_300_799;

thread_local! {
    static NOW: RefCell<(u64, Date)> = const { RefCell::new((u64::MAX, [b' '; 29])) };
}

/// The present time; at most a second late.
#[inline]
pub(crate) fn now() -> Date {
    let second = stoop_io::wall_seconds();
    NOW.with_borrow_mut(|(formatted, date)| {
        if *formatted != second {
            *formatted = second;
            *date = format(second);
        }
        *date
    })
}

/// The date of a second since 1970.
fn format(second: u64) -> Date {
    let time = UNIX_EPOCH + Duration::from_secs(second.min(LAST_SECOND));
    let mut date = [b' '; 29];
    // Every date of the form has that length.
    let _ = write!(&mut date[..], "{}", HttpDate::from(time));
    date
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_is_written_as_an_imf_fixdate() {
        for (second, text) in [
            (0, "Thu, 01 Jan 1970 00:00:00 GMT"),
            (784_111_777, "Sun, 06 Nov 1994 08:49:37 GMT"),
            (1_709_251_199, "Thu, 29 Feb 2024 23:59:59 GMT"),
            (4_107_542_400, "Mon, 01 Mar 2100 00:00:00 GMT"),
            (u64::MAX, "Fri, 31 Dec 9999 23:59:59 GMT"),
        ] {
            assert_eq!(std::str::from_utf8(&format(second)).unwrap(), text);
        }
    }
}
