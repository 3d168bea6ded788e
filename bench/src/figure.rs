//! Figures: goals of the project, each with a limit, and whether a run meets them.

use serde::Serialize;

use crate::series::Series;
use crate::statistics::{Ratio, Spread};

/// A goal: a measure and its limit.
pub(crate) struct Figure {
    what: String,
    measure: Measure,
    limit: Limit,
}

/// The measure that a limit applies to.
enum Measure {
    /// The median of a metric's quotients, round by round.
    Ratio { metric: &'static str, over: String, under: String },
    /// The worst round of a contender, for a limit that every round has to keep.
    Worst { metric: &'static str, of: String },
    /// The median of a contender's rounds.
    Median { metric: &'static str, of: String },
}

#[derive(Clone, Copy)]
pub(crate) enum Limit {
    AtMost(f64),
    Below(f64),
    AtLeast(f64),
    Exactly(f64),
}

#[derive(Serialize)]
/// A figure with its measured value.
pub(crate) struct Judged {
    pub(crate) what: String,
    pub(crate) limit: String,
    pub(crate) measured: Option<f64>,
    pub(crate) verdict: &'static str,
}

impl Figure {
    pub(crate) fn ratio(metric: &'static str, over: &str, under: &str, limit: Limit) -> Self {
        let what = format!("{over} / {under}");
        let (over, under) = (over.to_owned(), under.to_owned());
        Self { what, measure: Measure::Ratio { metric, over, under }, limit }
    }

    pub(crate) fn worst(what: &str, metric: &'static str, of: &str, limit: Limit) -> Self {
        let measure = Measure::Worst { metric, of: of.to_owned() };
        Self { what: format!("{of}: {what}"), measure, limit }
    }

    pub(crate) fn median(what: &str, metric: &'static str, of: &str, limit: Limit) -> Self {
        let measure = Measure::Median { metric, of: of.to_owned() };
        Self { what: format!("{of}: {what}"), measure, limit }
    }

    /// The same figure with another description.
    pub(crate) fn called(self, what: &str) -> Self {
        Self { what: what.to_owned(), ..self }
    }

    /// Measures the figure, and compares it with its limit.
    pub(crate) fn judge(self, contenders: &[Series]) -> Judged {
        let measured = self.measured(contenders);
        let verdict = match measured {
            None => "not measured",
            Some(value) if self.limit.is_met_by(value) => "holds",
            Some(_) => "MISSED",
        };
        Judged { what: self.what, limit: self.limit.to_string(), measured, verdict }
    }

    fn measured(&self, contenders: &[Series]) -> Option<f64> {
        let values = |name: &str, metric| {
            contenders.iter().find(|series| series.name == name).map(|s| s.values(metric))
        };
        match &self.measure {
            Measure::Ratio { metric, over, under } => {
                Ratio::of(&values(over, metric)?, &values(under, metric)?).map(|r| r.rounds.median)
            }
            Measure::Median { metric, of } => {
                Spread::of(&values(of, metric)?).map(|summary| summary.median)
            }
            Measure::Worst { metric, of } => {
                let values = values(of, metric)?;
                let misses = values.iter().copied().find(|value| !self.limit.is_met_by(*value));
                misses.or_else(|| {
                    let summary = Spread::of(&values)?;
                    Some(if self.limit.is_lower_bound() { summary.min } else { summary.max })
                })
            }
        }
    }
}

impl Limit {
    fn is_met_by(self, value: f64) -> bool {
        match self {
            Self::AtMost(limit) => value <= limit,
            Self::Below(limit) => value < limit,
            Self::AtLeast(limit) => value >= limit,
            Self::Exactly(limit) => value == limit,
        }
    }

    fn is_lower_bound(self) -> bool {
        matches!(self, Self::AtLeast(_))
    }
}

impl std::fmt::Display for Limit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::AtMost(limit) => write!(f, "≤ {limit}"),
            Self::Below(limit) => write!(f, "< {limit}"),
            Self::AtLeast(limit) => write!(f, "≥ {limit}"),
            Self::Exactly(limit) => write!(f, "= {limit}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::series::Sample;

    fn series(name: &str, values: &[f64]) -> Series {
        let mut series = Series::new(name, "", None);
        series.samples = values.iter().map(|value| Sample::from([("cpu", *value)])).collect();
        series
    }

    fn verdict(figure: Figure, contenders: &[Series]) -> (&'static str, Option<f64>) {
        let judged = figure.judge(contenders);
        (judged.verdict, judged.measured)
    }

    #[test]
    fn a_ratio_is_judged_by_its_median() {
        let both = [series("a", &[1.0, 1.0, 9.0]), series("b", &[2.0, 2.0, 2.0])];
        let figure = |limit| Figure::ratio("cpu", "a", "b", limit);
        assert_eq!(verdict(figure(Limit::AtMost(0.5)), &both), ("holds", Some(0.5)));
        assert_eq!(verdict(figure(Limit::Below(0.5)), &both), ("MISSED", Some(0.5)));
        assert_eq!(verdict(figure(Limit::AtMost(0.5)), &both[..1]), ("not measured", None));
    }

    #[test]
    fn a_worst_figure_is_judged_by_its_worst_round() {
        let one = [series("a", &[10.0, 10.0, 9.0])];
        let figure = |limit| Figure::worst("lines", "cpu", "a", limit);
        assert_eq!(verdict(figure(Limit::Exactly(10.0)), &one), ("MISSED", Some(9.0)));
        assert_eq!(verdict(figure(Limit::AtLeast(9.0)), &one), ("holds", Some(9.0)));
        assert_eq!(verdict(figure(Limit::AtMost(10.0)), &one), ("holds", Some(10.0)));
    }
}
