//! Median, minimum and maximum: what is said of a figure, and all that five rounds can bear.

use serde::Serialize;

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Spread {
    pub(crate) median: f64,
    pub(crate) min: f64,
    pub(crate) max: f64,
}

impl Spread {
    /// Nothing, of nothing.
    pub(crate) fn of(values: &[f64]) -> Option<Self> {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let (min, max) = (*sorted.first()?, *sorted.last()?);
        let middle = sorted.len() / 2;
        let median = match sorted.len() % 2 {
            1 => sorted[middle],
            _ => (sorted[middle - 1] + sorted[middle]) / 2.0,
        };
        Some(Self { median, min, max })
    }
}

/// How one contender's figures compare with another's.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Ratio {
    /// Of the quotients round by round. What slows the machine down for a while slows both sides
    /// of such a pair, so this moves less than the quotient of two medians.
    pub(crate) rounds: Spread,
    /// The quotient of the two least figures. Other work on the machine only ever adds to a figure,
    /// so with enough rounds this is the steadiest of all, and where it is far from the median the
    /// machine was too busy.
    pub(crate) best: f64,
}

impl Ratio {
    /// Of figures of which less is better. Nothing, unless both sides have some.
    pub(crate) fn of(over: &[f64], under: &[f64]) -> Option<Self> {
        let pairs = over.iter().zip(under).filter(|(_, under)| **under > 0.0);
        let quotients: Vec<f64> = pairs.map(|(over, under)| over / under).collect();
        let best = Spread::of(over)?.min / Spread::of(under)?.min;
        Some(Self { rounds: Spread::of(&quotients)?, best }).filter(|ratio| ratio.best.is_finite())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle_or_between_the_two() {
        assert_eq!(Spread::of(&[]), None);
        let odd = Spread::of(&[3.0, 1.0, 9.0]).unwrap();
        assert_eq!((odd.min, odd.median, odd.max), (1.0, 3.0, 9.0));
        assert_eq!(Spread::of(&[4.0, 1.0]).unwrap().median, 2.5);
    }

    #[test]
    fn ratios_are_taken_within_a_round() {
        let ratio = Ratio::of(&[2.0, 20.0, 9.0], &[1.0, 10.0, 3.0]).unwrap();
        let Spread { median, min, max } = ratio.rounds;
        assert_eq!((min, median, max, ratio.best), (2.0, 2.0, 3.0, 2.0));
        assert_eq!(Ratio::of(&[1.0], &[0.0]), None);
        assert_eq!(Ratio::of(&[1.0], &[]), None);
    }
}
