//! Parses the times, sizes, counts and factors of options, with errors that say what is allowed; writes sizes.

use std::time::Duration;

const DAY: f64 = 86_400.0;

/// Parses a time of at most 30 days: seconds, with fractions, or a number with `ms`, `s`, `m`, `h` or `d`.
///
/// # Errors
/// Text that is not a positive time.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let allowed = || {
        "a time is a number of seconds above 0 (2, 0.5), or has a unit (500ms, 2s, 10m, 1h), \
         up to 30 days"
            .to_owned()
    };
    let text = text.trim();
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let scale = match &text[digits.len()..] {
        "" | "s" => 1.0,
        "ms" => 0.001,
        "m" => 60.0,
        "h" => 3600.0,
        "d" => DAY,
        _ => return Err(allowed()),
    };
    // `f64` reads exponents, signs and "inf" too; a time has none of them.
    if !is_decimal(digits) {
        return Err(allowed());
    }
    let seconds = digits.parse::<f64>().map_err(|_| allowed())? * scale;
    if seconds > 30.0 * DAY {
        return Err(allowed());
    }
    let time = Duration::try_from_secs_f64(seconds).map_err(|_| allowed())?;
    // Times are kept in milliseconds, so a shorter one would be none at all.
    if time < Duration::from_millis(1) { Err(allowed()) } else { Ok(time) }
}

fn is_decimal(text: &str) -> bool {
    text.bytes().any(|b| b.is_ascii_digit())
        && text.bytes().all(|b| b.is_ascii_digit() || b == b'.')
}

/// Parses a size in bytes: `65536`, `64KiB`, `8MiB`, `1GB`; a bare `K`, `M` or `G` counts in 1024.
/// `None` when it is `none`.
///
/// # Errors
/// Text that is not a size, or one too large to count.
pub(crate) fn size(text: &str) -> Result<Option<u64>, String> {
    let allowed = || {
        "a size is a whole number of bytes, or has a unit (64KiB, 8MiB, 1GB), or is 'none'"
            .to_owned()
    };
    let text = text.trim();
    if text.eq_ignore_ascii_case("none") {
        return Ok(None);
    }
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let scale: u64 = match text[digits.len()..].to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" | "kib" => 1 << 10,
        "m" | "mib" => 1 << 20,
        "g" | "gib" => 1 << 30,
        "kb" => 1_000,
        "mb" => 1_000_000,
        "gb" => 1_000_000_000,
        _ => return Err(allowed()),
    };
    let number = whole(digits.trim_end()).ok_or_else(allowed)?;
    number.checked_mul(scale).map(Some).ok_or_else(allowed)
}

/// A size in two to four digits and a unit, of eight characters at most: `12.3 MiB`.
pub(crate) fn short_size(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if bytes < 1 << 10 {
        return format!("{bytes} B");
    }
    let mut size = bytes as f64 / 1024.0;
    let mut unit = 0;
    // What is rounded to 1,024 is one of the next unit.
    while size >= 1023.5 {
        size /= 1024.0;
        unit += 1;
    }
    let decimals = usize::from(size < 99.95);
    format!("{size:.decimals$} {}", UNITS[unit])
}

/// Parses a whole number within `allowed`.
///
/// # Errors
/// Anything else.
pub(crate) fn count(text: &str, allowed: std::ops::RangeInclusive<u64>) -> Result<u64, String> {
    let number = whole(text.trim()).filter(|number| allowed.contains(number));
    number.ok_or_else(|| {
        if *allowed.end() == u64::MAX {
            format!("must be a whole number of {} or more", allowed.start())
        } else {
            format!("must be a whole number from {} to {}", allowed.start(), allowed.end())
        }
    })
}

/// Parses a factor from 0 to `max`, with a fraction or without.
///
/// # Errors
/// Anything else.
pub(crate) fn factor(text: &str, max: f64) -> Result<f64, String> {
    let text = text.trim();
    let factor = is_decimal(text).then(|| text.parse().ok()).flatten();
    factor
        .filter(|factor| *factor <= max)
        .ok_or_else(|| format!("a factor is a number from 0 to {max} (2, 0.5)"))
}

/// Parses digits and nothing else: parsing `u64` would accept a leading `+`.
fn whole(text: &str) -> Option<u64> {
    text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_factor_is_a_decimal_number_up_to_the_limit() {
        for (text, read) in [("0", 0.0), ("1", 1.0), (" 0.25 ", 0.25), ("100", 100.0)] {
            assert_eq!(factor(text, 100.0), Ok(read), "{text}");
        }
        for text in ["", ".", "-1", "nan", "inf", "1e3", "100.1", "1.2.3", "2x"] {
            assert!(factor(text, 100.0).is_err(), "{text}");
        }
    }

    #[test]
    fn a_time_is_seconds_or_has_a_unit() {
        for (text, ms) in [
            ("5", 5000),
            ("0.5", 500),
            (".25", 250),
            ("2s", 2000),
            ("500ms", 500),
            ("1.5m", 90_000),
            ("1h", 3_600_000),
            (" 3 ", 3000),
            ("30d", 2_592_000_000),
        ] {
            assert_eq!(duration(text), Ok(Duration::from_millis(ms)), "{text}");
        }
        for text in ["", "0", "0.0001", "-1", "1e3", "inf", "NaN", "5 x", "5sec", "s", ".", "31d"] {
            assert!(duration(text).is_err_and(|e| e.contains("number of seconds")), "{text}");
        }
    }

    #[test]
    fn a_size_is_bytes_or_has_a_unit() {
        for (text, bytes) in [
            ("0", 0),
            ("1024", 1024),
            ("64KiB", 65_536),
            ("8MiB", 8_388_608),
            ("8M", 8_388_608),
            ("2k", 2048),
            ("1GB", 1_000_000_000),
            ("10 kB", 10_000),
        ] {
            assert_eq!(size(text), Ok(Some(bytes)), "{text}");
        }
        assert_eq!(size("none"), Ok(None));
        for text in ["", "-1", "+1", "1.5MiB", "8XB", "99999999999GiB", "MiB"] {
            assert!(size(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_short_size_has_the_unit_in_which_it_is_short() {
        for (bytes, text) in [
            (0, "0 B"),
            (1023, "1023 B"),
            (1024, "1.0 KiB"),
            (12_900_000, "12.3 MiB"),
            (102_348, "99.9 KiB"),
            (102_400, "100 KiB"),
            (1_047_552, "1023 KiB"),
            (1_048_200, "1.0 MiB"),
            (8 << 30, "8.0 GiB"),
            (u64::MAX, "16.0 EiB"),
        ] {
            assert_eq!(short_size(bytes), text);
            assert!(text.len() <= 8);
        }
    }

    #[test]
    fn an_invalid_count_names_the_range() {
        assert_eq!(count("100", 1..=1000), Ok(100));
        let error = count("0", 1..=1000);
        assert_eq!(error, Err("must be a whole number from 1 to 1000".to_owned()));
        assert_eq!(
            count("-3", 1..=u64::MAX),
            Err("must be a whole number of 1 or more".to_owned())
        );
        assert!(count("+5", 1..=10).is_err());
        assert!(count("", 0..=10).is_err());
    }
}
