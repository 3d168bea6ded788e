//! The measurements of a contender: one sample for each round.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::statistics::Spread;

/// The measurements of one round of a contender, by the keys of [`Metric`].
pub(crate) type Sample = BTreeMap<&'static str, f64>;

/// A value that is measured in each round.
#[derive(Clone, Copy, Serialize)]
pub(crate) struct Metric {
    pub(crate) key: &'static str,
    pub(crate) title: &'static str,
    pub(crate) decimals: usize,
}

/// A metric.
pub(crate) const fn metric(key: &'static str, title: &'static str, decimals: usize) -> Metric {
    Metric { key, title, decimals }
}

/// All rounds of a contender.
#[derive(Serialize)]
pub(crate) struct Series {
    pub(crate) name: String,
    pub(crate) about: String,
    pub(crate) version: Option<String>,
    /// Differences from the other contenders, found while measuring.
    pub(crate) notes: Vec<String>,
    pub(crate) samples: Vec<Sample>,
}

impl Series {
    pub(crate) fn new(name: &str, about: &str, version: Option<String>) -> Self {
        let (name, about) = (name.to_owned(), about.to_owned());
        Self { name, about, version, notes: Vec::new(), samples: Vec::new() }
    }

    /// Adds a note, unless an earlier round did.
    pub(crate) fn note(&mut self, text: String) {
        if !self.notes.contains(&text) {
            self.notes.push(text);
        }
    }

    /// The values of a metric, in the order of the rounds.
    pub(crate) fn values(&self, key: &str) -> Vec<f64> {
        self.samples.iter().filter_map(|sample| sample.get(key).copied()).collect()
    }

    pub(crate) fn summary(&self, key: &str) -> Option<Spread> {
        Spread::of(&self.values(key))
    }
}
