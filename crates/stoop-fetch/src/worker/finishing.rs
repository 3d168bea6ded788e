//! From an outcome to its record: what is done with content comes between, on a thread where it takes long.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use bytes::Bytes;
use stoop::Phase;
use tokio::task::spawn_blocking;

use super::Worker;
use super::format_buffer::FormatBuffer;
use crate::error::copy;
use crate::format::RecordFormat;
use crate::output::RecordParts;
use crate::processing::not_saved;
use crate::record::Outcome;
use crate::run_state::RunState;
use crate::slots::Answered;

/// Content up to this length is worked on where it was received: that takes some 100 µs, and another thread as much.
const INLINE_BYTES_MAX: usize = 64 << 10;

/// Content from this length on is left out of the record that is formatted.
const SPLIT_BYTES_MIN: usize = 4 << 10;

/// What a record mostly has besides its content, or less. What cannot be compressed becomes longer by a 512th, or less.
const HEADS_BYTES: usize = 16 << 10;

impl<F: RecordFormat> Worker<F> {
    /// Writes the record of slot `index`, whose response was kept, after its content was saved and looked at.
    pub(super) async fn finish(&self, index: usize, mut outcome: Outcome) {
        let is_long = content_length(&outcome) > INLINE_BYTES_MAX;
        // From here on the record is certain, so that an early end of the run waits for it.
        let Some(answered) = self.take_answer(index, &outcome) else { return };
        self.wake_for_turns();
        if is_long || self.run.settings.processing.is_blocking() {
            self.finishing.set(self.finishing.get() + 1);
            self.finish_elsewhere(answered, outcome).await;
            self.finishing.set(self.finishing.get() - 1);
            if self.run.is_stopping() {
                self.lane().wake_worker();
            }
            return;
        }
        if process(&self.run, &answered, &mut outcome) {
            let mut format = self.format.borrow_mut();
            self.append(self.record(&mut format, &answered, &mut outcome), &answered, &outcome);
        } else {
            self.append(RecordParts::default(), &answered, &outcome);
        }
        self.slots.borrow_mut().keep(index, answered);
        drop(outcome);
        self.run.relieve();
    }

    /// The record of a job. Its content is left out if it is long enough and the format can do that, and so copied once less.
    fn record<'f>(
        &self,
        format: &'f mut FormatBuffer<F>,
        answered: &Answered,
        outcome: &mut Outcome,
    ) -> RecordParts<'f> {
        let settings = &self.run.settings;
        let is_split = content_length(outcome) >= SPLIT_BYTES_MIN && self.splits(&format.format);
        if !is_split {
            return RecordParts::borrowed(format.format(&answered.record(settings, outcome)));
        }
        let (bytes, place) = format.format_split(&answered.record(settings, outcome));
        let content = outcome.capture.as_mut().map(|capture| std::mem::take(&mut capture.content));
        RecordParts { bytes, content: place.zip(content) }
    }

    /// Whether content is left out of the records of this format.
    fn splits(&self, format: &F) -> bool {
        self.keeps_until_written && format.splits_content()
    }

    async fn finish_elsewhere(&self, answered: Answered, mut outcome: Outcome) {
        let place = self.finishing_places.acquire().await;
        let run = Arc::clone(&self.run);
        let mut format = self.format.borrow().format.clone();
        let (length, is_split) = (content_length(&outcome), self.splits(&format));
        let is_copied = self.keeps_until_written && !is_split;
        let (copy, mut bytes) = match is_copied {
            // Taken here, where all content is, so that one may have the memory of another that was given back.
            true => (
                Some(run.content_budget.copy(length).await),
                Vec::with_capacity(length + length / 512 + HEADS_BYTES),
            ),
            false => (None, Vec::new()),
        };
        let work = move || {
            let mut content = None;
            if process(&run, &answered, &mut outcome) {
                let record = answered.record(&run.settings, &outcome);
                match is_split {
                    true => content = format.format_split(&record, &mut bytes),
                    false => format.format(&record, &mut bytes),
                }
            }
            let mut left_out = Bytes::new();
            // Its memory counts until the record is written, which has what is needed of it.
            if let Some(capture) = &mut outcome.capture {
                left_out = std::mem::take(&mut capture.content);
                capture.forget_content();
            }
            drop(copy);
            // There was room for more than was needed.
            bytes.shrink_to_fit();
            (bytes, content.map(|at| (at, left_out)), answered, outcome)
        };
        if let Ok((bytes, content, answered, outcome)) = spawn_blocking(work).await {
            drop(place);
            let record = match content {
                None => RecordParts::owned(bytes),
                content => RecordParts { bytes: &bytes, content },
            };
            self.append(record, &answered, &outcome);
            drop(outcome);
            self.run.relieve();
        }
    }
}

fn content_length(outcome: &Outcome) -> usize {
    outcome.capture.as_ref().map_or(0, |capture| capture.content.len())
}

/// Works on the content of a job's response, if the filter has its record; says whether it has.
fn process(run: &RunState, answered: &Answered, outcome: &mut Outcome) -> bool {
    let unwritten = outcome
        .capture
        .as_ref()
        .and_then(|capture| Some((capture.status, copy(capture.spill_error()?))));
    if let Some((status, error)) = unwritten {
        // The filter sees that: not all of the content has come.
        not_saved(outcome, status, &error);
        run.save_failed(error);
        return run.keeps(&answered.record(&run.settings, outcome));
    }
    if !run.keeps(&answered.record(&run.settings, outcome)) {
        return false;
    }
    let process = AssertUnwindSafe(|| run.settings.processing.process(&answered.job, outcome));
    match catch_unwind(process) {
        Ok(Ok(())) => {}
        Ok(Err(error)) => run.save_failed(error),
        Err(_) => {
            let text = "a panic while its content was worked on: a defect";
            *outcome = Outcome::local_error("internal", Phase::Receive, text);
        }
    }
    true
}
