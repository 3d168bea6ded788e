//! A queue of jobs in one buffer.
//!
//! It is the URLs and the offsets at which they end, so a job costs a copy and no allocation.

use crate::job::{Extent, Job, JobOptions};

/// A batch is full with this many lines or bytes: a hundredth of a second of work, and memory that does not depend on the
/// length of the list.
pub(super) const LINES_MAX: usize = 2048;
const BYTES_MAX: usize = 256 << 10;

/// How many popped lines a batch keeps that is pushed to and popped from in turn.
const LINES_KEPT: usize = 32;

/// A queue of jobs, their URLs in one buffer, first in, first out.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    text: Vec<u8>,
    lines: Vec<BatchLine>,
    popped: usize,
    /// What the jobs hold beside their URLs.
    options_bytes: usize,
}

/// A job of a batch.
#[derive(Debug)]
struct BatchLine {
    /// Where its URL ends in the batch's text.
    end: usize,
    extent: Extent,
    options: Option<Box<JobOptions>>,
    number: u64,
}

impl Batch {
    pub(crate) fn push(&mut self, job: Job<'_>) {
        if self.popped > LINES_KEPT && 2 * self.popped > self.lines.len() {
            self.forget_popped();
        }
        self.options_bytes += job.held_bytes() - job.url.len();
        self.text.extend_from_slice(job.url);
        let Job { extent, options, number, .. } = job;
        self.lines.push(BatchLine { end: self.text.len(), extent, options, number });
    }

    /// Takes the next job.
    pub(crate) fn pop(&mut self) -> Option<Job<'_>> {
        let start = self.popped_text();
        let line = self.lines.get_mut(self.popped)?;
        self.popped += 1;
        let (extent, options, number) = (line.extent, line.options.take(), line.number);
        let job = Job { url: &self.text[start..line.end], extent, options, number };
        self.options_bytes -= job.held_bytes() - job.url.len();
        Some(job)
    }

    /// Where the text of the popped jobs ends.
    fn popped_text(&self) -> usize {
        self.popped.checked_sub(1).map_or(0, |last| self.lines[last].end)
    }

    /// The number of lines left.
    pub(crate) fn len(&self) -> usize {
        self.lines.len() - self.popped
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether it should be popped from before it is pushed to.
    pub(super) fn is_full(&self) -> bool {
        self.len() >= LINES_MAX || self.text.len() + self.options_bytes >= BYTES_MAX
    }

    /// Takes all lines of `other`, a batch nothing was popped from.
    pub(super) fn append(&mut self, other: &mut Self) {
        if self.is_empty() {
            self.clear();
            std::mem::swap(self, other);
            return;
        }
        let base = self.text.len();
        self.text.append(&mut other.text);
        self.lines
            .extend(other.lines.drain(..).map(|line| BatchLine { end: base + line.end, ..line }));
        self.options_bytes += other.options_bytes;
        other.clear();
    }

    /// Gives the place of the popped lines to others.
    fn forget_popped(&mut self) {
        let text = self.popped_text();
        self.text.drain(..text);
        self.lines.drain(..self.popped);
        self.lines.iter_mut().for_each(|line| line.end -= text);
        self.popped = 0;
    }

    /// Forgets all lines, and memory that only an unusual batch needed.
    pub(super) fn clear(&mut self) {
        self.text.clear();
        self.text.shrink_to(2 * BYTES_MAX);
        self.lines.clear();
        self.lines.shrink_to(2 * LINES_MAX);
        (self.popped, self.options_bytes) = (0, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn batch(lines: &[&str]) -> Batch {
        let mut batch = Batch::default();
        for line in lines {
            batch.push(Job::new(line.as_bytes()));
        }
        batch
    }

    fn lines(batch: &mut Batch) -> Vec<String> {
        let mut lines = Vec::new();
        while let Some(job) = batch.pop() {
            lines.push(String::from_utf8_lossy(job.url).into_owned());
        }
        lines
    }

    #[test]
    fn a_batch_returns_its_lines_in_order() {
        let mut first = batch(&["a", "", "ccc"]);
        first.append(&mut batch(&["dd", "e"]));
        assert_eq!(first.len(), 5);
        assert_eq!(lines(&mut first), ["a", "", "ccc", "dd", "e"]);
        first.append(&mut batch(&["f"]));
        assert_eq!(lines(&mut first), ["f"]);
    }

    #[test]
    fn appending_to_a_partly_popped_batch_keeps_the_rest() {
        let mut first = batch(&["a", "b"]);
        first.pop();
        first.append(&mut batch(&["c"]));
        assert_eq!(lines(&mut first), ["b", "c"]);
    }

    #[test]
    fn a_batch_that_never_runs_empty_keeps_its_size() {
        let mut queue = batch(&["first"]);
        for n in 0..10_000 {
            queue.push(Job::new(format!("line {n:04}").as_bytes()));
            let expected = n.max(1) - 1;
            let popped = queue.pop().map(|job| job.url.to_vec());
            let line = if n == 0 { "first".to_owned() } else { format!("line {expected:04}") };
            assert_eq!(popped, Some(line.into_bytes()));
        }
        assert!(queue.text.capacity() < 4096 && queue.lines.capacity() < 256, "{queue:?}");
        assert_eq!(lines(&mut queue), ["line 9999"]);
    }
}
