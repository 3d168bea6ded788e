//! A queue of jobs in one buffer.
//!
//! It is the URLs and the offsets at which they end, so a job costs a copy and no allocation.

use std::net::IpAddr;

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
    /// The URL of each, behind the bytes of its address if it has one.
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
    /// How many bytes its address has: 0, 4 or 16.
    address_bytes: u8,
    options: Option<Box<JobOptions>>,
    number: u64,
}

impl Batch {
    pub(crate) fn push(&mut self, job: Job<'_>) {
        if self.is_empty() {
            self.forget_all();
        } else if self.popped > LINES_KEPT && 2 * self.popped > self.lines.len() {
            self.forget_popped();
        }
        self.options_bytes += job.held_bytes() - job.url.len();
        let Job { url, extent, options, number, address } = job;
        let address_bytes = match address {
            None => 0,
            Some(IpAddr::V4(address)) => self.push_address(&address.octets()),
            Some(IpAddr::V6(address)) => self.push_address(&address.octets()),
        };
        self.text.extend_from_slice(url);
        self.lines.push(BatchLine { end: self.text.len(), extent, address_bytes, options, number });
    }

    fn push_address<const N: usize>(&mut self, address: &[u8; N]) -> u8 {
        self.text.extend_from_slice(address);
        N as u8
    }

    /// Takes the next job.
    pub(crate) fn pop(&mut self) -> Option<Job<'_>> {
        let start = self.popped_text();
        let line = self.lines.get_mut(self.popped)?;
        self.popped += 1;
        let (extent, options, number) = (line.extent, line.options.take(), line.number);
        let (address, url) = self.text[start..line.end].split_at(line.address_bytes.into());
        let job = Job { url, extent, options, number, address: address_of(address) };
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

    /// The URL of the next job.
    pub(crate) fn first(&self) -> Option<&[u8]> {
        let line = self.lines.get(self.popped)?;
        Some(&self.text[self.popped_text() + usize::from(line.address_bytes)..line.end])
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
        self.forget_all();
        self.text.shrink_to(2 * BYTES_MAX);
        self.lines.shrink_to(2 * LINES_MAX);
    }

    /// Forgets all lines, and keeps their memory.
    fn forget_all(&mut self) {
        self.text.clear();
        self.lines.clear();
        (self.popped, self.options_bytes) = (0, 0);
    }
}

/// The address that has these bytes, if they are one.
fn address_of(bytes: &[u8]) -> Option<IpAddr> {
    let v4 = || <[u8; 4]>::try_from(bytes).map(IpAddr::from);
    let v6 = || <[u8; 16]>::try_from(bytes).map(IpAddr::from);
    v4().or_else(|_| v6()).ok()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in crate::lane) fn batch(lines: &[&str]) -> Batch {
        let mut batch = Batch::default();
        for line in lines {
            batch.push(Job::new(line.as_bytes()));
        }
        batch
    }

    pub(in crate::lane) fn lines(batch: &mut Batch) -> Vec<String> {
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
    fn a_job_keeps_its_address() {
        let mut batch = Batch::default();
        let addresses = [None, Some(IpAddr::from([127, 0, 0, 1])), Some(IpAddr::from([1_u16; 8]))];
        for address in addresses {
            batch.push(Job { address, ..Job::new(b"http://a/") });
        }
        for address in addresses {
            assert_eq!(batch.first(), Some(&b"http://a/"[..]));
            let job = batch.pop().expect("three");
            assert_eq!((job.url, job.address), (&b"http://a/"[..], address));
        }
        assert_eq!(batch.first(), None);
    }

    /// Each host has one, and most of them one job at a time: it kept the last 32 of each.
    #[test]
    fn a_batch_that_runs_empty_keeps_none_of_its_lines() {
        let mut queue = Batch::default();
        for _ in 0..20 {
            queue.push(Job::new(b"http://a/1"));
            assert_eq!(
                queue.pop().map(|job| job.url.to_vec()).as_deref(),
                Some(&b"http://a/1"[..])
            );
            assert_eq!((queue.text.len(), queue.lines.len()), (10, 1));
        }
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
