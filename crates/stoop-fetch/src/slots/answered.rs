//! A job that is answered: what its record is made of.

use std::time::Duration;

use crate::record::{Outcome, Record, whole_ms};
use crate::schedule::Started;
use crate::settings::Settings;

/// A job that has its outcome, and gets its record now.
#[derive(Debug)]
pub(crate) struct Answered {
    pub(crate) job: Started,
    pub(crate) start_ms: i64,
    pub(crate) duration: Duration,
    /// How long its clock stood still meanwhile: that is no part of the duration.
    pub(crate) stood_still: Duration,
    /// It was in flight, and did not wait for a turn.
    pub(crate) was_in_flight: bool,
}

impl Answered {
    /// A job that was not started until the end of the run, which is that time.
    pub(crate) fn unstarted(job: Started, start_ms: i64) -> Self {
        let (duration, stood_still) = (Duration::ZERO, Duration::ZERO);
        Self { job, start_ms, duration, stood_still, was_in_flight: false }
    }

    /// How long the job took, in whole milliseconds.
    pub(crate) fn duration_ms(&self) -> u64 {
        whole_ms(self.duration)
    }

    /// When the job was done, in milliseconds of Unix time.
    pub(crate) fn end_ms(&self) -> i64 {
        self.start_ms.saturating_add_unsigned(whole_ms(self.duration + self.stood_still))
    }

    /// The record of the job.
    pub(crate) fn record<'a>(&'a self, settings: &'a Settings, outcome: &'a Outcome) -> Record<'a> {
        let options = self.job.options.as_deref();
        let method = options.and_then(|options| options.method.as_ref());
        Record {
            url: &self.job.url,
            extent: self.job.extent,
            id: options.and_then(|options| options.id.as_deref()),
            metadata: options.and_then(|options| options.metadata.as_deref()),
            method: method.unwrap_or(&settings.template.method).as_str(),
            start_ms: self.start_ms,
            duration: self.duration,
            outcome,
            number: settings.round.map(|_| self.job.number),
            round: settings.round.unwrap_or(0),
        }
    }
}
