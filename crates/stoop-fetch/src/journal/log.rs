//! The journal of a run that goes on, to which entries are appended.

use std::fs::File;
use std::io::{self, Write};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::entry::{Entry, Progress};
use crate::sink::Done;
use crate::summary::ResultCode;

/// How often what was written is made to outlive a loss of power. The end of the process alone loses nothing.
const SYNC_INTERVAL: Duration = Duration::from_secs(30);

/// The journal, open at its end.
#[derive(Debug)]
pub(crate) struct JournalLog {
    file: File,
    /// The file of the jobs' checksums, which the reader's thread writes.
    checks: Arc<File>,
    round: u32,
    /// The state of the output that was written last.
    output: Option<Vec<u8>>,
    synced: Instant,
    bytes: Vec<u8>,
}

impl JournalLog {
    pub(super) fn new(file: File, checks: Arc<File>, round: u32, output: Option<Vec<u8>>) -> Self {
        Self { file, checks, round, output, synced: Instant::now(), bytes: Vec::new() }
    }

    pub(super) fn is_sync_due(&self) -> bool {
        self.synced.elapsed() >= SYNC_INTERVAL
    }

    /// Appends an entry in one write, if it says something new.
    pub(super) fn append(
        &mut self,
        done: &mut [Done],
        output: &[u8],
        is_complete: bool,
    ) -> io::Result<()> {
        let is_moved = self.output.as_deref() != Some(output);
        if done.is_empty() && !is_moved && !is_complete {
            return Ok(());
        }
        done.sort_unstable_by_key(|done| done.number);
        let mut ranges: Vec<(u64, u64)> = Vec::new();
        for Done { number, .. } in &*done {
            match ranges.last_mut() {
                Some((_, end)) if *end == *number => *end += 1,
                _ => ranges.push((*number, number + 1)),
            }
        }
        let failed = done.iter().filter(|done| is_failure(done.code));
        let progress = Progress {
            is_complete,
            round: self.round,
            done: ranges,
            failures: failed.map(|done| (done.number, done.code)).collect(),
            output: is_moved.then_some(output),
        };
        self.bytes.clear();
        Entry::Progress(progress).push(&mut self.bytes);
        self.file.write_all(&self.bytes)?;
        if is_moved {
            self.output = Some(output.to_vec());
        }
        Ok(())
    }

    /// Has the journal outlive a loss of power.
    pub(super) fn sync(&mut self) -> io::Result<()> {
        self.checks.sync_data()?;
        self.file.sync_data()?;
        self.synced = Instant::now();
        Ok(())
    }
}

/// Whether a job failed: it came to an error, or to a status of 400 or more.
fn is_failure(code: ResultCode<'_>) -> bool {
    match code {
        ResultCode::Status(status) => status >= 400,
        ResultCode::Error(_) => true,
    }
}
