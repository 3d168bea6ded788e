//! Writes records, and then to the journal that they are there.

use std::collections::VecDeque;
use std::io;

use super::log::JournalLog;
use super::writer::ResumableWriter;
use crate::sink::{Done, RecordSink};

/// A writer, and the journal of what was written to it.
pub(crate) struct Journalled<W> {
    writer: W,
    log: JournalLog,
    /// Jobs whose records were written and are not certain yet, in the order of the records.
    pending: VecDeque<Done>,
    /// Records that are certain.
    certain: u64,
}

impl<W: ResumableWriter> Journalled<W> {
    /// Writes to `writer`, which was restored.
    pub(super) fn new(writer: W, log: JournalLog) -> Self {
        Self { writer, log, pending: VecDeque::new(), certain: 0 }
    }

    /// Writes to the journal what is certain now.
    fn commit(&mut self, is_complete: bool) -> io::Result<()> {
        let is_synced = self.log.is_sync_due() || is_complete;
        if is_synced {
            self.writer.sync()?;
        }
        let checkpoint = self.writer.checkpoint()?;
        let mut left = checkpoint.records.map(|records| records.saturating_sub(self.certain));
        let mut count = 0;
        for done in &self.pending {
            match &mut left {
                Some(0) if done.has_record => break,
                Some(left) => *left -= u64::from(done.has_record),
                None => {}
            }
            count += 1;
        }
        let mut done: Vec<Done> = self.pending.drain(..count).collect();
        self.certain += done.iter().filter(|done| done.has_record).count() as u64;
        self.log.append(&mut done, &checkpoint.state, is_complete)?;
        if is_synced {
            self.log.sync()?;
        }
        self.writer.committed()
    }
}

impl<W: ResumableWriter + Send + 'static> RecordSink for Journalled<W> {
    fn put(&mut self, records: &[u8], done: &mut Vec<Done>) -> io::Result<()> {
        if !records.is_empty() {
            self.writer.write_all(records)?;
            self.writer.flush()?;
        }
        self.pending.extend(done.drain(..));
        self.commit(false)
    }

    fn end(&mut self, end: &[u8], is_complete: bool) -> io::Result<()> {
        self.writer.end(end)?;
        self.commit(is_complete)
    }
}
