//! What was measured of a contender: one sample of each round.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::statistics::Spread;

/// One round of one contender: figures by the keys of [`Metric`].
pub(crate) type Sample = BTreeMap<&'static str, f64>;

/// A figure that every round yields.
#[derive(Clone, Copy, Serialize)]
pub(crate) struct Metric {
    pub(crate) key: &'static str,
    pub(crate) title: &'static str,
    pub(crate) decimals: usize,
}

pub(crate) const fn metric(key: &'static str, title: &'static str, decimals: usize) -> Metric {
    Metric { key, title, decimals }
}

/// All rounds of one contender.
#[derive(Serialize)]
pub(crate) struct Series {
    pub(crate) name: String,
    pub(crate) about: String,
    pub(crate) version: Option<String>,
    /// What makes it differ from the others, found while measuring.
    pub(crate) notes: Vec<String>,
    pub(crate) samples: Vec<Sample>,
}

impl Series {
    pub(crate) fn new(name: &str, about: &str, version: Option<String>) -> Self {
        let (name, about) = (name.to_owned(), about.to_owned());
        Self { name, about, version, notes: Vec::new(), samples: Vec::new() }
    }

    /// Says it once, however many rounds find it.
    pub(crate) fn note(&mut self, text: String) {
        if !self.notes.contains(&text) {
            self.notes.push(text);
        }
    }

    pub(crate) fn values(&self, key: &str) -> Vec<f64> {
        self.samples.iter().filter_map(|sample| sample.get(key).copied()).collect()
    }

    pub(crate) fn summary(&self, key: &str) -> Option<Spread> {
        Spread::of(&self.values(key))
    }
}
