//! The Date field: formatted once a second and thread.

use std::cell::RefCell;

/// An IMF-fixdate (RFC 9110 §5.6.7), always 29 bytes: `Sun, 06 Nov 1994 08:49:37 GMT`.
pub(crate) type Date = [u8; 29];

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

fn format(seconds: u64) -> Date {
    const DAYS: &[u8; 21] = b"ThuFriSatSunMonTueWed";
    const MONTHS: &[u8; 36] = b"JanFebMarAprMayJunJulAugSepOctNovDec";
    let (days, of_day) = (seconds / 86_400, seconds % 86_400);
    let (year, month, day) = civil(days);
    let mut date = *b"Thu, 01 Jan 1970 00:00:00 GMT";
    let weekday = (days % 7) as usize * 3;
    date[..3].copy_from_slice(&DAYS[weekday..weekday + 3]);
    put_two(&mut date[5..7], day);
    let month = (month - 1) as usize * 3;
    date[8..11].copy_from_slice(&MONTHS[month..month + 3]);
    put_two(&mut date[12..14], year / 100);
    put_two(&mut date[14..16], year % 100);
    put_two(&mut date[17..19], of_day / 3_600);
    put_two(&mut date[20..22], of_day / 60 % 60);
    put_two(&mut date[23..25], of_day % 60);
    date
}

fn put_two(at: &mut [u8], number: u64) {
    at[0] = b'0' + (number / 10 % 10) as u8;
    at[1] = b'0' + (number % 10) as u8;
}

/// Year, month and day of a day since 1970-01-01, in the proleptic Gregorian calendar: counted in
/// eras of 400 years that begin on 1 March, so that the leap day is the last of its year.
fn civil(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let shifted = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    (era * 400 + year + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        for (seconds, text) in [
            (0, "Thu, 01 Jan 1970 00:00:00 GMT"),
            (784_111_777, "Sun, 06 Nov 1994 08:49:37 GMT"),
            (951_782_400, "Tue, 29 Feb 2000 00:00:00 GMT"),
            (1_709_251_199, "Thu, 29 Feb 2024 23:59:59 GMT"),
            (1_735_689_599, "Tue, 31 Dec 2024 23:59:59 GMT"),
            (4_107_542_400, "Mon, 01 Mar 2100 00:00:00 GMT"),
        ] {
            assert_eq!(std::str::from_utf8(&format(seconds)).unwrap(), text);
        }
    }
}
