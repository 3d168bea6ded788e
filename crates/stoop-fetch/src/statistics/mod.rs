//! Statistics of a run, beyond its [summary](crate::summary): how long each phase took, which hosts were slow or failed,
//! and what came when. Their memory does not depend on the number of records.

mod durations;
mod errors;
mod host_failures;
mod hosts;
mod timeline;

use std::collections::BTreeMap;
use std::time::Duration;

use stoop::Phase;

pub use self::durations::Durations;
pub use self::errors::ErrorExample;
use self::errors::Errors;
pub use self::hosts::HostFigures;
use self::hosts::Hosts;
pub use self::timeline::{TimeBucket, Timeline};
use crate::record::Record;
use crate::summary::ResultCode;
use crate::tuning_gauge::NOT_ASKED;

/// The phases that are told apart, in their order.
const PHASES: [Phase; 6] =
    [Phase::Queue, Phase::Dns, Phase::Connect, Phase::Tls, Phase::Wait, Phase::Receive];

/// The statistics of a run: see [`Fetch::statistics`](crate::Fetch::statistics).
///
/// They take up to 1 MiB for each worker, however long the run is: durations are in histograms, hosts in a table of
/// 4,096 from which those go that were neither slow nor failing, and what came when in 200 pieces of time, which get
/// longer with the run.
#[derive(Clone, Debug, Default)]
pub struct Statistics {
    phases: [Durations; PHASES.len()],
    durations: Durations,
    statuses: BTreeMap<u16, u64>,
    errors: Errors,
    hosts: Hosts,
    timeline: Timeline,
}

impl Statistics {
    /// How long a phase took in the jobs that had it; none for a phase of which no times are taken. Of a job that was
    /// redirected it is the sum of all its requests, but for [`Phase::Receive`], which is of the last content.
    pub fn phase(&self, phase: Phase) -> Option<&Durations> {
        PHASES.iter().position(|known| *known == phase).map(|at| &self.phases[at])
    }

    /// How long the jobs took that were sent, from the start to the last byte or the error.
    pub fn durations(&self) -> &Durations {
        &self.durations
    }

    /// How many jobs came to each status, by number.
    pub fn statuses(&self) -> impl Iterator<Item = (u16, u64)> {
        self.statuses.iter().map(|(status, count)| (*status, *count))
    }

    /// The kinds of errors with their counts and an example of each, the most frequent first.
    pub fn errors(&self) -> Vec<(&'static str, u64, &ErrorExample)> {
        self.errors.sorted()
    }

    /// The `max` hosts whose jobs took longest in the mean, the slowest first. Jobs that came to an error count with the
    /// time that they took.
    pub fn slowest_hosts(&self, max: usize) -> Vec<HostFigures<'_>> {
        self.hosts.slowest(max)
    }

    /// The `max` hosts with most jobs that failed, by an error or a status of 400 or more.
    pub fn failing_hosts(&self, max: usize) -> Vec<HostFigures<'_>> {
        self.hosts.failing(max)
    }

    /// Whether every host is counted from its first job on. Where a run has so many hosts that some were forgotten, the
    /// figures of one that came again are of its later jobs alone.
    pub fn has_all_hosts(&self) -> bool {
        self.hosts.is_complete()
    }

    /// What came when.
    pub fn timeline(&self) -> &Timeline {
        &self.timeline
    }

    /// Counts a record that came `elapsed` after the start of the run.
    pub(crate) fn add(&mut self, record: &Record<'_>, elapsed: Duration) {
        let outcome = record.outcome;
        let details = outcome.details.as_deref();
        self.timeline.add(elapsed, outcome.code, outcome.body_bytes);
        let was_sent = match outcome.code {
            ResultCode::Status(status) => {
                *self.statuses.entry(status).or_default() += 1;
                true
            }
            ResultCode::Error(kind) => {
                self.errors.add(kind, record, details.and_then(|details| details.error.as_deref()));
                !NOT_ASKED.contains(&kind)
            }
        };
        self.hosts.add(record.url, outcome.code, was_sent.then_some(record.duration));
        if !was_sent {
            return;
        }
        self.durations.add(record.duration);
        let Some(details) = details else { return };
        for (durations, micros) in self.phases.iter_mut().zip(details.phases.in_order()) {
            if let Some(micros) = micros {
                durations.add(Duration::from_micros(micros));
            }
        }
    }

    /// Adds what another worker of the same run has counted.
    pub(crate) fn merge(&mut self, other: &Self) {
        for (ours, theirs) in self.phases.iter_mut().zip(&other.phases) {
            ours.merge(theirs);
        }
        self.durations.merge(&other.durations);
        for (status, count) in &other.statuses {
            *self.statuses.entry(*status).or_default() += count;
        }
        self.errors.merge(&other.errors);
        self.hosts.merge(&other.hosts);
        self.timeline.merge(&other.timeline);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Details, Outcome, Phases};

    fn count(statistics: &mut Statistics, url: &str, outcome: &Outcome, ms: u64) {
        let record = Record::new(url.as_bytes(), 0, Duration::from_millis(ms), outcome);
        statistics.add(&record, Duration::from_secs(1));
    }

    #[test]
    fn what_workers_count_adds_up_to_what_one_would() {
        let answered = Outcome {
            details: Some(Box::new(Details {
                phases: Phases { t_dns_us: Some(1000), t_wait_us: Some(2000), ..Phases::default() },
                ..Details::default()
            })),
            ..Outcome::new(ResultCode::Status(200))
        };
        let silent = Outcome::local_error("total_timeout", Phase::Wait, "late");
        let unread = Outcome::local_error("invalid_url", Phase::Request, "none");
        let mut parts = [Statistics::default(), Statistics::default()];
        for (n, part) in parts.iter_mut().enumerate() {
            count(part, &format!("http://a{n}.example/"), &answered, 10);
            count(part, "http://b.example/", &silent, 500);
            count(part, "nothing", &unread, 0);
        }
        let mut all = Statistics::default();
        parts.iter().for_each(|part| all.merge(part));
        assert_eq!(all.statuses().collect::<Vec<_>>(), [(200, 2)]);
        let errors = all.errors();
        assert_eq!((errors[0].0, errors[0].1), ("invalid_url", 2));
        assert_eq!((errors[1].0, errors[1].1), ("total_timeout", 2));
        assert_eq!(errors[1].2.text(), "late");
        assert_eq!(all.durations().count(), 4, "an invalid URL takes no time");
        assert_eq!(all.phase(Phase::Dns).map(Durations::count), Some(2));
        assert_eq!(all.phase(Phase::Connect).map(Durations::count), Some(0));
        assert!(all.phase(Phase::Redirect).is_none());
        let slowest = all.slowest_hosts(1);
        assert_eq!((slowest[0].host, slowest[0].urls, slowest[0].unanswered), ("b.example", 2, 2));
        assert_eq!(all.failing_hosts(9).len(), 1);
        assert!(all.has_all_hosts());
        assert_eq!(all.timeline().buckets().iter().map(TimeBucket::urls).sum::<u64>(), 6);
    }
}
