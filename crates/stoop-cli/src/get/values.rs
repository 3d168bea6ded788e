//! The values of options as they are typed.

use std::time::Duration;

use crate::units;

/// A limit of time, of which whole milliseconds count: with none of them it is zero.
pub(super) fn limit(text: &str) -> Result<Duration, String> {
    match text.trim().parse::<f64>() {
        Ok(seconds) if (0.0..0.001).contains(&seconds) => Ok(Duration::ZERO),
        _ => units::duration(text),
    }
}

/// A rate in bytes a second: a number, with K, M or G, which are powers of 1,024.
pub(super) fn rate(text: &str) -> Result<u64, String> {
    let allowed = || "a rate is a number of bytes a second, as 500, 100K or 2M".to_owned();
    let (digits, scale) = match text.char_indices().last() {
        Some((at, 'k' | 'K')) => (&text[..at], 1u64 << 10),
        Some((at, 'm' | 'M')) => (&text[..at], 1 << 20),
        Some((at, 'g' | 'G')) => (&text[..at], 1 << 30),
        _ => (text, 1),
    };
    let number: u64 = digits.parse().map_err(|_| allowed())?;
    number.checked_mul(scale).filter(|rate| *rate > 0).ok_or_else(allowed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_below_a_millisecond_is_none() {
        assert_eq!((limit("0"), limit("0.0001")), (Ok(Duration::ZERO), Ok(Duration::ZERO)));
        assert_eq!(limit("0.5"), Ok(Duration::from_millis(500)));
        for bad in ["", "-1", "x", "nan"] {
            assert!(limit(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_rate_has_units_of_1024() {
        assert_eq!(rate("500"), Ok(500));
        assert_eq!((rate("2k"), rate("1M"), rate("1G")), (Ok(2048), Ok(1 << 20), Ok(1 << 30)));
        for bad in ["", "k", "0", "-1", "1.5M", "99999999999999G"] {
            assert!(rate(bad).is_err(), "{bad}");
        }
    }
}
