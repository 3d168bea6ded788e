//! Dates as curl reads them, for `-z` and `Last-Modified`: a day, a month by its name and a year in any order that is clear,
//! or eight digits; with or without a time, a zone and the day of the week.

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;

/// What a date may have, and no more of it is read: a weekday, a day, a month, a year, a time and a zone.
const PARTS_MAX: usize = 6;

/// The first year of the calendar.
const YEAR_MIN: i16 = 1583;

const MONTHS: [&str; 12] =
    ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];

const WEEKDAYS: [&str; 7] =
    ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];

/// Zones, and how many minutes they are ahead of UTC.
const ZONES: &[(&str, i32)] = &[
    ("gmt", 0),
    ("ut", 0),
    ("utc", 0),
    ("z", 0),
    ("wet", 0),
    ("bst", 60),
    ("cet", 60),
    ("met", 60),
    ("cest", 120),
    ("mest", 120),
    ("eet", 120),
    ("jst", 540),
    ("nzst", 720),
    ("nzdt", 780),
    ("ast", -240),
    ("adt", -180),
    ("est", -300),
    ("edt", -240),
    ("cst", -360),
    ("cdt", -300),
    ("mst", -420),
    ("mdt", -360),
    ("pst", -480),
    ("pdt", -420),
    ("hst", -600),
];

/// What was read of a date so far.
#[derive(Default)]
struct Parts {
    has_weekday: bool,
    year: Option<i16>,
    month: Option<i8>,
    day: Option<i8>,
    /// Seconds of the day.
    time: Option<i64>,
    /// Seconds ahead of UTC.
    zone: Option<i64>,
}

/// The seconds from 1970 to a date, or none, where the text is no date.
pub(super) fn parse_date(text: &str) -> Option<i64> {
    let mut parts = Parts::default();
    let mut rest = text;
    for _ in 0..PARTS_MAX {
        let part = rest.trim_start_matches(|c: char| !c.is_ascii_alphanumeric());
        let sign = rest[..rest.len() - part.len()].chars().next_back();
        let Some(first) = part.chars().next() else { break };
        let length = match first.is_ascii_alphabetic() {
            true => parts.add_word(part)?,
            false => parts.add_digits(part, sign)?,
        };
        rest = &part[length..];
    }
    parts.seconds()
}

/// The date as HTTP has it (RFC 9110 §5.6.7).
pub(super) fn http_date(seconds: i64) -> Option<String> {
    let at = Timestamp::from_second(seconds).ok()?;
    Some(at.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string())
}

impl Parts {
    /// Adds the word that the text begins with, and returns its length.
    fn add_word(&mut self, text: &str) -> Option<usize> {
        let length = text.bytes().take_while(u8::is_ascii_alphabetic).count();
        let word = text[..length].to_ascii_lowercase();
        let is_weekday = |day: &str| day == word || (length == 3 && day.starts_with(&word));
        if !self.has_weekday && WEEKDAYS.iter().any(|day| is_weekday(day)) {
            self.has_weekday = true;
        } else if let Some(at) = MONTHS.iter().position(|month| *month == word)
            && self.month.is_none()
        {
            self.month = i8::try_from(at + 1).ok();
        } else {
            let (_, minutes) = ZONES.iter().find(|(zone, _)| *zone == word)?;
            if self.zone.replace(i64::from(*minutes) * 60).is_some() {
                return None;
            }
        }
        Some(length)
    }

    /// Adds the time or the number that the text begins with, behind that sign, and returns its length.
    fn add_digits(&mut self, text: &str, sign: Option<char>) -> Option<usize> {
        if self.time.is_none()
            && let Some((time, length)) = time(text)
        {
            self.time = Some(time);
            return Some(length);
        }
        let length = text.bytes().take_while(u8::is_ascii_digit).count();
        let number: u32 = text[..length].parse().ok()?;
        let is_empty = self.year.is_none() && self.month.is_none() && self.day.is_none();
        match (length, sign) {
            // The farthest zones are 14 hours ahead.
            (4, Some('+' | '-')) if number <= 1400 && self.zone.is_none() => {
                let ahead = i64::from(number / 100 * 60 + number % 100) * 60;
                self.zone = Some(if sign == Some('-') { -ahead } else { ahead });
            }
            (8, _) if is_empty => {
                self.year = i16::try_from(number / 10_000).ok();
                self.month = i8::try_from(number / 100 % 100).ok();
                self.day = i8::try_from(number % 100).ok();
            }
            _ if self.day.is_none() && (1..=31).contains(&number) => {
                self.day = i8::try_from(number).ok();
            }
            _ if self.year.is_none() => {
                self.year = i16::try_from(match number {
                    0..=70 => number + 2000,
                    71..=99 => number + 1900,
                    _ => number,
                })
                .ok();
            }
            _ => return None,
        }
        Some(length)
    }

    fn seconds(&self) -> Option<i64> {
        let year = self.year.filter(|year| *year >= YEAR_MIN)?;
        let day = self.day.filter(|day| (1..=31).contains(day))?;
        // A day that the month does not have is one of the next.
        let first = Date::new(year, self.month?, 1).ok()?;
        let midnight = TimeZone::UTC.to_timestamp(first.at(0, 0, 0, 0)).ok()?;
        let days = i64::from(day) - 1;
        let time = self.time.unwrap_or(0) - self.zone.unwrap_or(0);
        Some(midnight.as_second() + days * 86_400 + time)
    }
}

/// The seconds of a time, `8:49` or `08:49:37`, and the length of its text.
fn time(text: &str) -> Option<(i64, usize)> {
    let mut at = 0;
    let mut seconds = 0;
    for (place, (unit, max)) in [(3600, 23), (60, 59), (1, 60)].into_iter().enumerate() {
        let field = &text[at..];
        let field = if place == 0 { Some(field) } else { field.strip_prefix(':') };
        let digits =
            field.map_or(0, |field| field.bytes().take(2).take_while(u8::is_ascii_digit).count());
        match field {
            Some(field) if digits > 0 => {
                let number: i64 = field[..digits].parse().ok()?;
                seconds += Some(number).filter(|number| *number <= max)? * unit;
                at += digits + usize::from(place > 0);
            }
            // Seconds may be left out.
            _ if place == 2 => break,
            _ => return None,
        }
    }
    Some((seconds, at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_forms_of_http_and_many_others_are_dates() {
        for text in [
            "Sun, 06 Nov 1994 08:49:37 GMT",
            "Sunday, 06-Nov-94 08:49:37 GMT",
            "Sun Nov  6 08:49:37 1994",
            "06 Nov 1994 08:49:37 GMT",
            "06-Nov-94 08:49:37",
            "Nov 6 08:49:37 1994",
            "1994 6 Nov 08:49:37",
            "GMT 08:49:37 06-Nov-94 Sunday",
            "19941106 08:49:37",
            "6 Nov 1994 9:49:37 +0100",
            "6 Nov 1994 03:49:37 EST",
            "6 Nov 1994 00:49:37 -0800",
        ] {
            assert_eq!(parse_date(text), Some(784_111_777), "{text}");
        }
        assert_eq!(parse_date("19941106"), Some(784_080_000));
        assert_eq!(parse_date("6 Nov 1994 08:49"), Some(784_111_740));
        assert_eq!(parse_date("31 Feb 2023"), parse_date("3 Mar 2023"));
        assert_eq!(http_date(784_111_777).as_deref(), Some("Sun, 06 Nov 1994 08:49:37 GMT"));
    }

    #[test]
    fn what_lacks_a_day_a_month_by_its_name_or_a_year_is_none() {
        for text in [
            "",
            "file",
            "./a.txt",
            "1994-11-06",
            "6 Nov",
            "Nov 1994",
            "6 1994",
            "6 Nov 1994 25:00",
            "6 November 1994",
            "32 Nov 1994",
            "6 Nov 1500",
            "19941306",
            "6 Nov 1994 GMT UTC",
            "ü",
        ] {
            assert_eq!(parse_date(text), None, "{text}");
        }
    }
}
