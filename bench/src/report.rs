//! What a work hands over: samples of every round, and what follows from them. This is the JSON as
//! it is written; `table` prints the same for people.

use std::collections::BTreeMap;

use anyhow::{Result, bail};
use serde::Serialize;

use crate::baseline::{BASELINE, RATIO_MAX};
use crate::figure::{Figure, Judged, Limit};
use crate::statistics::{Ratio, Summary};
use crate::work::STOOP;

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

    pub(crate) fn summary(&self, key: &str) -> Option<Summary> {
        Summary::of(&self.values(key))
    }
}

#[derive(Serialize)]
pub(crate) struct Skipped {
    pub(crate) name: String,
    pub(crate) why: String,
}

/// What a work is, apart from what it measured.
pub(crate) struct Subject {
    pub(crate) work: &'static str,
    /// A sentence: what is done, and for how long.
    pub(crate) what: String,
    pub(crate) metrics: &'static [Metric],
    /// The metric that contenders are compared by.
    pub(crate) compared: &'static str,
    /// The contenders that all others are divided by, where they took part.
    pub(crate) baselines: &'static [&'static str],
    pub(crate) figures: Vec<Figure>,
    /// Contenders are shown in one wide row each, of medians, by this metric from the least on.
    pub(crate) sorted_by: Option<&'static str>,
}

#[derive(Serialize)]
pub(crate) struct Report {
    pub(crate) work: &'static str,
    pub(crate) what: String,
    pub(crate) machine: Machine,
    pub(crate) metrics: &'static [Metric],
    pub(crate) compared: &'static str,
    pub(crate) contenders: Vec<Series>,
    /// Contender, then metric.
    pub(crate) summaries: BTreeMap<String, BTreeMap<&'static str, Summary>>,
    /// Contender, then baseline: quotients of the compared metric.
    pub(crate) ratios: BTreeMap<String, BTreeMap<&'static str, Ratio>>,
    pub(crate) figures: Vec<Judged>,
    pub(crate) skipped: Vec<Skipped>,
    #[serde(skip)]
    pub(crate) sorted_by: Option<&'static str>,
}

impl Report {
    pub(crate) fn new(subject: Subject, contenders: Vec<Series>, skipped: Vec<Skipped>) -> Self {
        let Subject { work, what, metrics, compared, baselines, mut figures, sorted_by } = subject;
        if contenders.iter().any(|series| series.name == BASELINE) {
            figures.push(Figure::ratio(compared, STOOP, BASELINE, Limit::AtMost(RATIO_MAX)));
        }
        let summaries = contenders.iter().map(|series| {
            let all = metrics.iter().filter_map(|m| Some((m.key, series.summary(m.key)?)));
            (series.name.clone(), all.collect())
        });
        let ratios = contenders.iter().map(|series| {
            let to = |baseline| contenders.iter().find(|other| other.name == baseline);
            let all = baselines.iter().filter_map(|&baseline| {
                let under = to(baseline)?.values(compared);
                Some((baseline, Ratio::of(&series.values(compared), &under)?))
            });
            (series.name.clone(), all.collect())
        });
        Self {
            summaries: summaries.collect(),
            ratios: ratios.collect(),
            figures: figures.into_iter().map(|figure| figure.judge(&contenders)).collect(),
            work,
            what,
            machine: Machine::this(),
            metrics,
            compared,
            contenders,
            skipped,
            sorted_by,
        }
    }

    /// An error where the contender that all is about did not last: the program is to say so by its
    /// exit status too.
    pub(crate) fn check_complete(&self) -> Result<()> {
        match self.skipped.iter().find(|skipped| skipped.name == STOOP) {
            Some(Skipped { name, why }) => bail!("{name} took no part in {}: {why}", self.work),
            None => Ok(()),
        }
    }
}

#[derive(Serialize)]
pub(crate) struct Machine {
    cpu: String,
    cores: usize,
    kernel: String,
}

impl Machine {
    fn this() -> Self {
        let read = |path| std::fs::read_to_string(path).unwrap_or_default();
        let cpuinfo = read("/proc/cpuinfo");
        let model =
            cpuinfo.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
        Self {
            cpu: model.map_or("unknown", |(_, model)| model).to_owned(),
            cores: cpuinfo.lines().filter(|line| line.starts_with("processor")).count(),
            kernel: read("/proc/sys/kernel/osrelease").trim().to_owned(),
        }
    }
}

impl std::fmt::Display for Machine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}, {} cores, Linux {}", self.cpu, self.cores, self.kernel)
    }
}
