//! The answers of a worker: the record of each line, once, however the line ends.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use stoop::Phase;
use tokio::time::sleep;

use super::Worker;
use crate::capture::Reservation;
use crate::format::RecordFormat;
use crate::lane::Refill;
use crate::output::RecordParts;
use crate::record::{Outcome, unix_ms};
use crate::schedule::{Feedback, Started};
use crate::sink::Done;
use crate::slots::Answered;
use crate::summary::ResultCode;

/// How long the end of a run waits for the reader, which usually takes a moment: only a file whose disk
/// is gone, or another process that reads the same pipe, can hold it in a read for longer.
const READER_END_TIMEOUT: Duration = Duration::from_secs(1);

impl<F: RecordFormat> Worker<F> {
    /// Writes the line for the URL of slot `index`, unless that was done already.
    pub(super) fn answer(&self, index: usize, outcome: &Outcome) {
        let Some(answered) = self.take_answer(index, outcome) else { return };
        self.write(&answered, outcome);
        self.slots.borrow_mut().keep(index, answered);
    }

    /// Takes the job of slot `index`, which will get its record with `outcome`, unless another was taken already.
    pub(super) fn take_answer(&self, index: usize, outcome: &Outcome) -> Option<Answered> {
        let mut slots = self.slots.borrow_mut();
        let mut answered = slots.answer(index)?;
        if answered.was_in_flight {
            self.add_in_flight(-1);
        }
        if let Some(bandwidth) = &self.run.settings.bandwidth {
            bandwidth.job_ended(self.all_in_flight());
        }
        if self.run.settings.concurrency.is_auto() {
            self.run.gauges[self.index].tuning.add(outcome, answered.duration);
        }
        let start = slots.slot(index).sent;
        // Taken: a request that is under way when the run ends must not leave its place again.
        if let Some(host) = answered.job.host.take() {
            self.schedule.borrow_mut().finished(host, start, Feedback::of(outcome));
        } else if answered.job.is_uncounted {
            let url = outcome.blamed.as_ref().map_or(&*answered.job.url, |url| url.as_bytes());
            self.schedule.borrow_mut().told_of(url, start, Feedback::of(outcome));
        }
        Some(answered)
    }

    /// Writes the record of a job, unless the filter has none of it, and counts it.
    fn write(&self, answered: &Answered, outcome: &Outcome) {
        let record = answered.record(&self.run.settings, outcome);
        match self.run.keeps(&record) {
            true => {
                let mut format = self.format.borrow_mut();
                self.append(RecordParts::borrowed(format.format(&record)), answered, outcome);
            }
            false => self.append(RecordParts::default(), answered, outcome),
        }
    }

    /// Writes a record that has its format, and counts it. What ended with the run has none where that can be resumed.
    pub(super) fn append(&self, record: RecordParts<'_>, answered: &Answered, outcome: &Outcome) {
        if self.is_left_to_resume(outcome) {
            return;
        }
        let done = self.done(answered, outcome, !record.is_empty());
        if !record.is_empty() || done.is_some() {
            self.run.output.append(record, self.reservation(outcome), done);
        }
        self.count(answered, outcome);
    }

    fn is_resumable(&self) -> bool {
        self.run.settings.round.is_some()
    }

    /// Whether a job has ended with the run, and is fetched again when that is resumed.
    fn is_left_to_resume(&self, outcome: &Outcome) -> bool {
        self.is_resumable() && is_unfinished(outcome.code)
    }

    /// What the journal gets of a job that is done, if one is kept.
    fn done(&self, answered: &Answered, outcome: &Outcome, has_record: bool) -> Option<Done> {
        let (number, code) = (answered.job.number, outcome.code);
        self.is_resumable().then_some(Done { number, code, has_record })
    }

    /// The memory that a record takes until it is written.
    fn reservation(&self, outcome: &Outcome) -> Option<Arc<Reservation>> {
        let capture = outcome.capture.as_ref().filter(|_| self.keeps_until_written);
        capture.and_then(|capture| capture.reservation.clone())
    }

    fn count(&self, answered: &Answered, outcome: &Outcome) {
        let Outcome { code, body_bytes, http2, .. } = *outcome;
        let mut summary = self.summary.borrow_mut();
        summary.add(code, answered.start_ms, answered.duration_ms(), body_bytes);
        summary.extend_to(answered.end_ms());
        summary.add_http2(http2);
        self.run.count(self.index, || answered.record(&self.run.settings, outcome));
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
                let job = std::mem::take(&mut given_up);
                let answered = Answered::unstarted(job, unix_ms());
                self.write(&answered, &queued);
                given_up = answered.job;
            }
            if self.is_lane_ended.get() {
                break;
            }
            tokio::select! {
                biased;
                () = self.lane().woken() => {}
                () = &mut reader_timeout => self.lane().close(),
            }
        }
        while self.finishing.get() > 0 {
            self.lane().woken().await;
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
            match self.run.refill(self.index, room) {
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

/// Whether a job came to its end with the run, and not by itself.
fn is_unfinished(code: ResultCode<'_>) -> bool {
    matches!(code, ResultCode::Error(crate::kinds::CANCELLED | crate::kinds::SAVE_FAILED))
}
