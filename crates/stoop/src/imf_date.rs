//! IMF-fixdate, the format of dates in HTTP (RFC 9110 §5.6.7): `Sun, 06 Nov 1994 08:49:37 GMT`.

/// An IMF-fixdate, always 29 bytes.
pub(crate) type Date = [u8; 29];

const DAYS: &[u8; 21] = b"ThuFriSatSunMonTueWed";
const MONTHS: &[u8; 36] = b"JanFebMarAprMayJunJulAugSepOctNovDec";

/// The date of a second since 1970.
pub(crate) fn format(seconds: u64) -> Date {
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

/// The second since 1970 of a date; none for a date of another form, or before 1970.
pub(crate) fn parse(text: &str) -> Option<u64> {
    let bytes: &Date = text.as_bytes().try_into().ok()?;
    let number = |range: std::ops::Range<usize>| text.get(range)?.parse::<u64>().ok();
    let month = MONTHS.chunks(3).position(|month| *month == bytes[8..11])? as u64 + 1;
    let (day, year) = (number(5..7)?, number(12..16)?);
    // 365.25 days a year are right to a day or two: the date that is looked for is near.
    let about = (year.checked_sub(1970)? * 1_461 / 4) + (month - 1) * 30 + day;
    let days =
        (about.saturating_sub(8)..about + 8).find(|days| civil(*days) == (year, month, day))?;
    let [hour, minute, second] = [number(17..19)?, number(20..22)?, number(23..25)?];
    let seconds = days * 86_400 + hour * 3_600 + minute * 60 + second;
    (format(seconds) == *bytes).then_some(seconds)
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
            assert_eq!(parse(text), Some(seconds), "{text}");
        }
        // Every day of 160 years, across leap years that are and that are not.
        for day in 0..160 * 366 {
            let seconds = day * 86_400 + day % 86_400;
            assert_eq!(parse(std::str::from_utf8(&format(seconds)).unwrap()), Some(seconds));
        }
    }

    #[test]
    fn what_is_no_date_has_no_second() {
        for text in [
            "",
            "Mon, 06 Nov 1994 08:49:37 GMT",
            "Sun, 31 Feb 1994 08:49:37 GMT",
            "Sun, 06 Nov 1994 24:49:37 GMT",
            "Sun, 06 Nov 1994 08:49:37 UTC",
            "Sunday, 06-Nov-94 08:49:37 GMT",
            "Sun Nov  6 08:49:37 1994",
            "Wed, 31 Dec 1969 23:59:59 GMT",
            "Sun, 06 Nov 1994 08:4\u{e4}:37 GM",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
