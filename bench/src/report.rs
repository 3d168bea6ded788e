//! The report of a work: the samples of every round, and the figures computed from them. It is written as
//! JSON, and `table` prints it as text.

use std::collections::BTreeMap;

use anyhow::{Result, bail};
use serde::Serialize;

use crate::baseline::{BASELINE, RATIO_MAX};
use crate::contender::STOOP;
use crate::figure::{Figure, Judged, Limit};
use crate::series::{Metric, Series};
use crate::statistics::{Ratio, Spread};

/// A contender that took no part, and the reason.
#[derive(Serialize)]
pub(crate) struct SkippedContender {
    pub(crate) name: String,
    pub(crate) why: String,
}

/// The description of a work, without its measurements.
pub(crate) struct Subject {
    pub(crate) work: &'static str,
    /// A sentence about what is measured, and for how long.
    pub(crate) what: String,
    pub(crate) metrics: &'static [Metric],
    /// The metric that contenders are compared by.
    pub(crate) compared: &'static str,
    /// The contenders that the others are compared with, where they took part.
    pub(crate) baselines: &'static [&'static str],
    pub(crate) figures: Vec<Figure>,
    /// Prints the medians too, in one wide row for each contender, sorted by this metric.
    pub(crate) sorted_by: Option<&'static str>,
}

/// A work with its measurements.
#[derive(Serialize)]
pub(crate) struct Report {
    pub(crate) work: &'static str,
    pub(crate) what: String,
    pub(crate) machine: MachineInfo,
    pub(crate) metrics: &'static [Metric],
    pub(crate) compared: &'static str,
    pub(crate) contenders: Vec<Series>,
    /// By contender, then by metric.
    pub(crate) summaries: BTreeMap<String, BTreeMap<&'static str, Spread>>,
    /// By contender, then by baseline: quotients of the compared metric.
    pub(crate) ratios: BTreeMap<String, BTreeMap<&'static str, Ratio>>,
    pub(crate) figures: Vec<Judged>,
    pub(crate) skipped: Vec<SkippedContender>,
    #[serde(skip)]
    pub(crate) sorted_by: Option<&'static str>,
}

impl Report {
    pub(crate) fn new(
        subject: Subject,
        contenders: Vec<Series>,
        skipped: Vec<SkippedContender>,
    ) -> Self {
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
            machine: MachineInfo::of_this_machine(),
            metrics,
            compared,
            contenders,
            skipped,
            sorted_by,
        }
    }

    /// An error if stoop, or a program of this project on it, took no part to the end, so that the exit status says so
    /// too.
    pub(crate) fn check_complete(&self) -> Result<()> {
        match self.skipped.iter().find(|skipped| is_ours(&skipped.name)) {
            Some(SkippedContender { name, why }) => {
                bail!("{name} took no part in {}: {why}", self.work)
            }
            None => Ok(()),
        }
    }
}

/// Whether a contender is stoop, or a program of this project on it.
fn is_ours(name: &str) -> bool {
    name.strip_prefix(STOOP).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
}

/// The machine of the measurement.
#[derive(Serialize)]
pub(crate) struct MachineInfo {
    cpu: String,
    cores: usize,
    kernel: String,
}

impl MachineInfo {
    fn of_this_machine() -> Self {
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

impl std::fmt::Display for MachineInfo {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}, {} cores, Linux {}", self.cpu, self.cores, self.kernel)
    }
}
