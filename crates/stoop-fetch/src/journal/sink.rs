//! Writes records, and then to the journal that they are there, with what was saved of their content.

use std::collections::VecDeque;
use std::io;

use super::log::JournalLog;
use super::writer::ResumableWriter;
use crate::sink::{Done, RecordSink};

/// Has the content that was saved for records outlive a loss of power.
pub(crate) type SyncContent = Box<dyn Fn() -> io::Result<()> + Send>;

/// A writer, and the journal of what was written to it.
pub(crate) struct Journalled<W> {
    writer: W,
    /// None where content is not saved in files of its own.
    sync_content: Option<SyncContent>,
    log: JournalLog,
    /// Jobs whose records were written and are not certain yet, in the order of the records.
    pending: VecDeque<Done>,
    /// Records that are certain.
    certain: u64,
}

impl<W: ResumableWriter> Journalled<W> {
    /// Writes to `writer`, which was restored.
    pub(super) fn new(writer: W, sync_content: Option<SyncContent>, log: JournalLog) -> Self {
        Self { writer, sync_content, log, pending: VecDeque::new(), certain: 0 }
    }

    /// Writes to the journal what is certain now.
    fn commit(&mut self, is_complete: bool) -> io::Result<()> {
        let is_synced = self.log.is_sync_due() || is_complete || self.writer.removes();
        if is_synced {
            // Content is saved before its record is written.
            self.sync_content.as_ref().map_or(Ok(()), |sync| sync())?;
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

impl<W: ResumableWriter> RecordSink for Journalled<W> {
    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.writer.write_all(bytes)
    }

    fn flush(&mut self, done: &mut Vec<Done>) -> io::Result<()> {
        self.writer.flush()?;
        self.pending.extend(done.drain(..));
        self.commit(false)
    }

    fn end(&mut self, end: &[u8], is_complete: bool) -> io::Result<()> {
        self.writer.end(end)?;
        self.commit(is_complete)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::sync::Arc;

    use super::super::state::JournalState;
    use super::super::writer::Checkpoint;
    use super::*;
    use crate::summary::ResultCode;

    /// A writer of which so many records are certain as it is told.
    struct Slow(u64);

    impl Write for Slow {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl ResumableWriter for Slow {
        fn restore(&mut self, _: Option<&[u8]>) -> io::Result<()> {
            Ok(())
        }

        fn checkpoint(&mut self) -> io::Result<Checkpoint> {
            Ok(Checkpoint { state: Vec::new(), records: Some(self.0) })
        }

        fn end(&mut self, _: &[u8]) -> io::Result<()> {
            Ok(())
        }

        fn sync(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn jobs_are_done_when_their_records_are_certain() {
        let path = std::env::temp_dir().join(format!("stoop-sink-{}", std::process::id()));
        let mut journal = Vec::new();
        JournalState::default().push(&mut journal);
        std::fs::write(&path, journal).expect("writable");
        let open = || std::fs::OpenOptions::new().append(true).open(&path).expect("there");
        let log = JournalLog::new(open(), Arc::new(open()), 0, None);
        let mut sink = Journalled::new(Slow(0), None, log);
        let job = |number, has_record| Done { number, code: ResultCode::Status(200), has_record };
        let done = || {
            let journal = std::fs::File::open(&path).expect("there");
            let state = JournalState::read(journal).expect("readable").expect("a journal");
            state.done.iter().collect::<Vec<_>>()
        };
        // The first was kept back by a filter, and is done without a record.
        let mut jobs = vec![job(5, false), job(4, true), job(0, true), job(1, true)];
        sink.put(b"records").expect("writable");
        sink.flush(&mut jobs).expect("writable");
        assert_eq!(done(), [(5, 6)]);
        sink.writer.0 = 2;
        sink.flush(&mut jobs).expect("writable");
        assert_eq!(done(), [(0, 1), (4, 6)]);
        sink.writer.0 = 3;
        sink.end(b"", true).expect("writable");
        assert_eq!(done(), [(0, 2), (4, 6)]);
        std::fs::remove_file(&path).expect("ours");
    }

    #[test]
    fn the_journal_does_not_tell_of_jobs_whose_content_could_not_be_synced() {
        let path = std::env::temp_dir().join(format!("stoop-sink-sync-{}", std::process::id()));
        std::fs::write(&path, b"").expect("writable");
        let open = || std::fs::OpenOptions::new().append(true).open(&path).expect("there");
        let log = JournalLog::new(open(), Arc::new(open()), 0, None);
        let fails: SyncContent = Box::new(|| Err(io::Error::other("the disk is gone")));
        let mut sink = Journalled::new(Slow(1), Some(fails), log);
        let mut jobs = vec![Done { number: 0, code: ResultCode::Status(200), has_record: true }];
        // It is not time for that yet, and the end of the process alone loses nothing.
        sink.put(b"record").expect("writable");
        sink.flush(&mut jobs).expect("writable");
        let before = std::fs::metadata(&path).expect("there").len();
        assert!(before > 0);
        let error = sink.end(b"", true).expect_err("not synced");
        assert_eq!(error.to_string(), "the disk is gone");
        assert_eq!(std::fs::metadata(&path).expect("there").len(), before);
        std::fs::remove_file(&path).expect("ours");
    }
}
