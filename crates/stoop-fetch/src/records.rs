//! Records as values, for code of the caller's: in place of a format, and of a writer for its bytes.
//!
//! Workers never wait: each leaves a copy of its record in a list, with as many bytes in the output as that takes of memory.
//! So the bounds of the output hold for records as they do for lines: no job is started while the caller is behind.

use std::fmt::{self, Formatter};
use std::io::{self, ErrorKind};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::value::RawValue;
use tokio::sync::mpsc::{self, Receiver, Sender};

use crate::format::RecordFormat;
use crate::job::Extent;
use crate::record::{Outcome, Record};
use crate::run_state::RunState;
use crate::sink::{Done, RecordSink};

/// How many records are on their way to the caller, beside those of the output.
const ON_THE_WAY_MAX: usize = 16;

/// The record of one job, as a value of its own.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct OwnedRecord {
    /// The URL as the source reported it; any bytes. It may have a password.
    pub url: Vec<u8>,
    /// Whether `url` is all of it.
    pub extent: Extent,
    /// The job's identifier, if it has one.
    pub id: Option<Box<str>>,
    /// The job's metadata, if it has any.
    pub metadata: Option<Box<RawValue>>,
    /// The method of the request.
    pub method: Box<str>,
    /// When the job was started, in milliseconds of Unix time.
    pub start_ms: i64,
    /// From the start to the last byte of the body, redirects included.
    pub duration: Duration,
    /// What came of it. [`Outcome::capture`] is there where [`Fetch::keep_content`](crate::Fetch::keep_content) asks for it.
    pub outcome: Outcome,
}

impl OwnedRecord {
    /// A copy, without what a run alone needs of content.
    fn of(record: &Record<'_>) -> Self {
        let mut outcome = record.outcome.clone();
        if let Some(capture) = &mut outcome.capture {
            capture.forget_file();
        }
        Self {
            url: record.url.to_vec(),
            extent: record.extent,
            id: record.id.map(Box::from),
            metadata: record.metadata.map(ToOwned::to_owned),
            method: record.method.into(),
            start_ms: record.start_ms,
            duration: record.duration,
            outcome,
        }
    }

    /// The same as a format is given it, such as one whose bytes the caller writes.
    pub fn as_record(&self) -> Record<'_> {
        Record {
            extent: self.extent,
            id: self.id.as_deref(),
            metadata: self.metadata.as_deref(),
            method: &self.method,
            ..Record::new(&self.url, self.start_ms, self.duration, &self.outcome)
        }
    }

    /// The memory that it takes, nearly, without content.
    fn held_bytes(&self) -> usize {
        let metadata = self.metadata.as_ref().map_or(0, |value| value.get().len());
        let capture = self.outcome.capture.as_ref().map_or(0, |capture| {
            let fields = capture.fields.iter();
            let fields = fields.map(|field| field.name_bytes().len() + field.value().len());
            size_of_val(&**capture) + fields.sum::<usize>()
        });
        let id = self.id.as_ref().map_or(0, |id| id.len());
        size_of::<Self>() + self.url.len() + id + metadata + capture + self.outcome.held_bytes()
    }
}

/// The records of a run, in order of completion: [`Fetch::start_records`](crate::Fetch::start_records) makes it.
///
/// As an iterator it blocks its thread until the next record is there, and must not be used inside a runtime of tokio;
/// [`recv`](Self::recv) does not. After the last record of the run there is none. Those that the caller has not taken count
/// as output that was not written: no more than some hundred are kept, with up to the
/// [memory for content](crate::Fetch::content_memory), and then no job is started.
///
/// Dropping this before the last ends the run, whose [`Finished::written`](crate::Finished::written) says so.
#[must_use = "the run waits until its records are taken"]
pub struct Records {
    records: Receiver<OwnedRecord>,
    run: Arc<RunState>,
    /// The last was taken.
    is_over: bool,
}

impl Records {
    /// The next record, or none after the last. No record is lost where the future is dropped.
    pub async fn recv(&mut self) -> Option<OwnedRecord> {
        let record = self.records.recv().await;
        self.give_out(record)
    }

    /// From here on the memory of its content is the caller's.
    fn give_out(&mut self, record: Option<OwnedRecord>) -> Option<OwnedRecord> {
        self.is_over = record.is_none();
        let mut record = record?;
        if let Some(capture) = &mut record.outcome.capture
            && capture.reservation.take().is_some()
        {
            self.run.relieve();
        }
        Some(record)
    }
}

impl Iterator for Records {
    type Item = OwnedRecord;

    fn next(&mut self) -> Option<OwnedRecord> {
        let record = self.records.blocking_recv();
        self.give_out(record)
    }
}

impl Drop for Records {
    fn drop(&mut self) {
        if !self.is_over {
            self.run.stop();
        }
    }
}

impl fmt::Debug for Records {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("Records").field("is_over", &self.is_over).finish_non_exhaustive()
    }
}

/// The records that the workers have made, and the writer has not taken.
type Waiting = Arc<Mutex<Vec<OwnedRecord>>>;

/// Copies records for [`HandOver`].
#[derive(Clone)]
pub(crate) struct Copies(Waiting);

impl RecordFormat for Copies {
    fn format(&mut self, record: &Record<'_>, into: &mut Vec<u8>) {
        let record = OwnedRecord::of(record);
        into.resize(into.len() + record.held_bytes(), 0);
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(record);
    }
}

/// Gives records to the caller, on the writer's thread.
pub(crate) struct HandOver {
    waiting: Waiting,
    to: Sender<OwnedRecord>,
}

/// The caller's end of it, before the run begins.
pub(crate) struct Taking(Receiver<OwnedRecord>);

impl Taking {
    /// The records of `run`.
    pub(crate) fn of(self, run: Arc<RunState>) -> Records {
        Records { records: self.0, run, is_over: false }
    }
}

/// What makes records of a run, what gives them to the caller, and what the caller has.
pub(crate) fn hand_over() -> (Copies, HandOver, Taking) {
    let waiting = Waiting::default();
    let (to, records) = mpsc::channel(ON_THE_WAY_MAX);
    (Copies(Arc::clone(&waiting)), HandOver { waiting, to }, Taking(records))
}

impl HandOver {
    fn give(&mut self) -> io::Result<()> {
        let waiting =
            std::mem::take(&mut *self.waiting.lock().unwrap_or_else(PoisonError::into_inner));
        waiting.into_iter().try_for_each(|record| {
            let given = self.to.blocking_send(record);
            given
                .map_err(|_| io::Error::new(ErrorKind::BrokenPipe, "the records are taken no more"))
        })
    }
}

impl RecordSink for HandOver {
    /// The bytes are there to be counted alone.
    fn put(&mut self, _: &[u8]) -> io::Result<()> {
        Ok(())
    }

    fn flush(&mut self, _: &mut Vec<Done>) -> io::Result<()> {
        self.give()
    }

    fn end(&mut self, _: &[u8], _: bool) -> io::Result<()> {
        self.give()
    }
}
