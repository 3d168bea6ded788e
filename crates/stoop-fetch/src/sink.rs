//! What the writer's thread gives records to: the caller's writer, as it is or with a journal.

use std::io::{self, Write};

use crate::guarded::guarded;
use crate::summary::ResultCode;

/// A job that is done, where a journal is kept of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Done {
    pub(crate) number: u64,
    pub(crate) code: ResultCode<'static>,
    /// It has a record, which a filter may have kept back.
    pub(crate) has_record: bool,
}

/// Takes records on the writer's thread.
pub(crate) trait RecordSink {
    /// Writes records, or a part of one.
    fn put(&mut self, bytes: &[u8]) -> io::Result<()>;

    /// What was written are whole records. `done` are the jobs that are done with them, in the order of the records; it is
    /// emptied.
    fn flush(&mut self, done: &mut Vec<Done>) -> io::Result<()>;

    /// Writes what stands at the end. All jobs that were asked for are done if `is_complete`.
    fn end(&mut self, end: &[u8], is_complete: bool) -> io::Result<()>;
}

/// A sink that fails where it panics: what panics is the caller's writer, and the run must come to its end all the same.
pub(crate) struct Guarded<S>(pub(crate) S);

impl<S: RecordSink> RecordSink for Guarded<S> {
    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        guarded("the writer", || self.0.put(bytes))
    }

    fn flush(&mut self, done: &mut Vec<Done>) -> io::Result<()> {
        guarded("the writer", || self.0.flush(done))
    }

    fn end(&mut self, end: &[u8], is_complete: bool) -> io::Result<()> {
        guarded("the writer", || self.0.end(end, is_complete))
    }
}

/// The caller's writer as it is.
pub(crate) struct Plain<W>(pub(crate) W);

impl<W: Write> RecordSink for Plain<W> {
    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.write_all(bytes)
    }

    fn flush(&mut self, _: &mut Vec<Done>) -> io::Result<()> {
        self.0.flush()
    }

    fn end(&mut self, end: &[u8], _: bool) -> io::Result<()> {
        match end {
            [] => Ok(()),
            end => self.0.write_all(end).and_then(|()| self.0.flush()),
        }
    }
}
