//! The answers of a worker: the record of each line, once, however the line ends.

use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use stoop::Phase;
use tokio::time::sleep;

use super::Worker;
use crate::format::RecordFormat;
use crate::lane::Refill;
use crate::record::{Outcome, Record, unix_ms};
use crate::schedule::{Feedback, Started};
use crate::summary::ResultCode;

/// How long the end of a run waits for the reader, which usually takes a moment: only a file whose disk
/// is gone, or another process that reads the same pipe, can hold it in a read for longer.
const READER_END_TIMEOUT: Duration = Duration::from_secs(1);

impl<F: RecordFormat> Worker<F> {
    /// Writes the line for the URL of slot `index`, unless that was done already.
    pub(super) fn answer(&self, index: usize, outcome: &Outcome) {
        let mut slots = self.slots.borrow_mut();
        let Some(slot) = slots.answer(index) else { return };
        self.add_in_flight(-1);
        let duration = slot.start.elapsed();
        if let Some(host) = slot.job.host {
            self.schedule.borrow_mut().finished(host, slot.start, Feedback::of(outcome));
        }
        self.write(&slot.job, slot.start_ms, duration, outcome);
    }

    /// Writes the record of a job, and counts it.
    fn write(&self, job: &Started, start_ms: i64, duration: Duration, outcome: &Outcome) {
        let options = job.options.as_deref();
        let method = options.and_then(|options| options.method.as_ref());
        let record = Record {
            url: &job.url,
            extent: job.extent,
            id: options.and_then(|options| options.id.as_deref()),
            metadata: options.and_then(|options| options.metadata.as_deref()),
            method: method.unwrap_or(&self.run.settings.template.method).as_str(),
            start_ms,
            duration,
            outcome,
        };
        self.run.output.append(self.format.borrow_mut().format(&record));
        let Outcome { code, body_bytes, http2, .. } = *record.outcome;
        let duration = record.duration_ms();
        let mut summary = self.summary.borrow_mut();
        summary.add(code, record.start_ms, duration, body_bytes);
        summary.add_http2(http2);
        let gauge = &self.run.gauges[self.index];
        // This thread alone writes them, so a load and a store are as good as an addition.
        gauge.done.store(gauge.done.load(Relaxed) + 1, Relaxed);
        if matches!(code, ResultCode::Error(_)) {
            gauge.errors.store(gauge.errors.load(Relaxed) + 1, Relaxed);
        }
    }

    /// Ends the worker with the run: answers the lines in flight, and those that were read and never
    /// started. All of those have arrived only when the reader has closed the lane.
    pub(super) async fn cancel(&self) {
        let (started, queued) = (Outcome::cancelled(Phase::Wait), Outcome::cancelled(Phase::Queue));
        let slots = self.slots.borrow().indices();
        for index in slots {
            self.answer(index, &started);
        }
        let reader_timeout = sleep(READER_END_TIMEOUT);
        tokio::pin!(reader_timeout);
        let mut given_up = Started::default();
        loop {
            while self.give_up(&mut given_up) {
                self.write(&given_up, unix_ms(), Duration::ZERO, &queued);
            }
            if self.is_lane_ended.get() {
                return;
            }
            tokio::select! {
                biased;
                () = self.lane().woken() => {}
                () = &mut reader_timeout => self.lane().close(),
            }
        }
    }

    /// Moves a job that was never started into `given_up`, from here or from the lane.
    fn give_up(&self, given_up: &mut Started) -> bool {
        let mut schedule = self.schedule.borrow_mut();
        loop {
            if schedule.give_up(given_up) {
                return true;
            }
            let Some(room) = schedule.room() else { return false };
            match self.lane().refill(room) {
                Refill::Lines => {}
                Refill::Empty => return false,
                Refill::End => {
                    self.is_lane_ended.set(true);
                    return false;
                }
            }
        }
    }
}
