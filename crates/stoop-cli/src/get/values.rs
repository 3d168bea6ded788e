//! The values of options as they are typed.

use std::net::IpAddr;
use std::time::Duration;

use super::exit;
use super::failure::GetFailure;
use crate::units;

/// The longest limit of time: a hundred years.
const SECONDS_MAX: f64 = 100.0 * 365.0 * 86_400.0;

/// A limit of time, of which whole milliseconds count: with none of them it is zero. A number without a unit has
/// seconds, and may have an exponent.
pub(super) fn limit(text: &str) -> Result<Duration, String> {
    match text.trim().parse::<f64>() {
        Ok(seconds) if (0.0..0.001).contains(&seconds) => Ok(Duration::ZERO),
        Ok(seconds) if (0.001..=SECONDS_MAX).contains(&seconds) => {
            Ok(Duration::from_secs_f64(seconds))
        }
        _ => units::duration(text),
    }
}

/// An address of this machine. The name of an interface is none.
pub(super) fn address(text: &str) -> Result<IpAddr, String> {
    text.parse().map_err(|_| "an interface is named by its address here, as 192.0.2.7".to_owned())
}

/// A rate in bytes a second, of which 0 is no limit.
pub(super) fn rate(text: &str) -> Result<u64, String> {
    bytes(text).ok_or_else(|| "a rate is a number of bytes a second, as 500, 100K or 2M".to_owned())
}

/// A size in bytes, of which 0 is no limit.
pub(super) fn size(text: &str) -> Result<u64, String> {
    bytes(text).ok_or_else(|| "a size is a number of bytes, as 500, 100K or 2M".to_owned())
}

/// A number of bytes, with B, or K, M or G, which are powers of 1,024.
fn bytes(text: &str) -> Option<u64> {
    let (digits, scale) = match text.char_indices().last()? {
        (at, 'b' | 'B') => (&text[..at], 1),
        (at, 'k' | 'K') => (&text[..at], 1u64 << 10),
        (at, 'm' | 'M') => (&text[..at], 1 << 20),
        (at, 'g' | 'G') => (&text[..at], 1 << 30),
        _ => (text, 1),
    };
    digits.parse::<u64>().ok()?.checked_mul(scale)
}

/// An offset as it is typed.
pub(super) fn parse_offset(text: &str) -> Result<u64, GetFailure> {
    text.parse().map_err(|_| GetFailure::new(exit::BAD_USE, format!("-C {text:?} is no offset")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_below_a_millisecond_is_none() {
        assert_eq!((limit("0"), limit("0.0001")), (Ok(Duration::ZERO), Ok(Duration::ZERO)));
        assert_eq!(limit("0.5"), Ok(Duration::from_millis(500)));
        assert_eq!((limit("1e3"), limit("5e-1")), (limit("1000"), limit("0.5")));
        assert_eq!(limit("1e7"), Ok(Duration::from_secs(10_000_000)));
        for bad in ["", "-1", "x", "nan", "inf", "1e99"] {
            assert!(limit(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_rate_has_units_of_1024() {
        assert_eq!(rate("500"), Ok(500));
        assert_eq!((rate("2k"), rate("1M"), rate("1G")), (Ok(2048), Ok(1 << 20), Ok(1 << 30)));
        assert_eq!((rate("0"), rate("100B"), size("7b")), (Ok(0), Ok(100), Ok(7)));
        assert!(size("x").is_err_and(|message| message.starts_with("a size is")));
        for bad in ["", "k", "-1", "1.5M", "99999999999999G"] {
            assert!(rate(bad).is_err(), "{bad}");
        }
    }
}
