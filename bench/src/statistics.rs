//! Median, minimum and maximum of a few rounds, and ratios of two contenders.

use serde::Serialize;

/// Median, minimum and maximum: five rounds justify no more.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Spread {
    pub(crate) median: f64,
    pub(crate) min: f64,
    pub(crate) max: f64,
}

impl Spread {
    /// The spread of `values`; none if there are none.
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

/// The ratio of one contender's values to another's.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Ratio {
    /// The quotients round by round. A machine that is slow for a while is slow for both sides of such a
    /// pair, so this varies less than the quotient of two medians.
    pub(crate) rounds: Spread,
    /// The quotient of the two lowest values. Other work on the machine only ever adds to a value, so with
    /// enough rounds this varies least of all, and where it is far from the median the machine was too busy.
    pub(crate) best: f64,
}

impl Ratio {
    /// The ratio of values of which less is better; none unless both sides have some.
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
    fn the_median_is_the_middle_value_or_the_mean_of_the_two() {
        assert_eq!(Spread::of(&[]), None);
        let odd = Spread::of(&[3.0, 1.0, 9.0]).unwrap();
        assert_eq!((odd.min, odd.median, odd.max), (1.0, 3.0, 9.0));
        assert_eq!(Spread::of(&[4.0, 1.0]).unwrap().median, 2.5);
    }

    #[test]
    fn a_ratio_divides_values_of_the_same_round() {
        let ratio = Ratio::of(&[2.0, 20.0, 9.0], &[1.0, 10.0, 3.0]).unwrap();
        let Spread { median, min, max } = ratio.rounds;
        assert_eq!((min, median, max, ratio.best), (2.0, 2.0, 3.0, 2.0));
        assert_eq!(Ratio::of(&[1.0], &[0.0]), None);
        assert_eq!(Ratio::of(&[1.0], &[]), None);
    }
}
