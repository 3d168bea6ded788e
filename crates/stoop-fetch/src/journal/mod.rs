//! Runs that go on where they were ended: the journal of a run in its folder.
//!
//! ```text
//! source ─► Numbering ─► lanes … slots ─► OutputBuffer ─► Journalled ─► ResumableWriter
//!              │ numbers, skips what is done                  │ 1. records   2. what is done, and where the output is
//!              ▼                                              ▼
//!         stoop.checks                                  stoop.journal
//! ```
//!
//! A job has the number that it has in its source, from 0 on. The writer's thread writes records, then one entry that has
//! the numbers of their jobs and the place where the output ends. A process that is killed between the two leaves records
//! that no entry tells of: the run that goes on cuts them off, and fetches their jobs again.
//!
//! Every 30 s, and at the end, all of that is made to outlive a loss of power, in the order in which it depends on each
//! other: content in files of its own, records, journal.

mod entry;
mod folder;
mod log;
mod numbering;
mod ranges;
mod sink;
mod state;
mod writer;

pub(crate) use self::folder::Begun;
pub use self::folder::{RunFolder, RunFolderError};
pub(crate) use self::numbering::{Admission, Numbering};
pub(crate) use self::sink::SyncContent;
#[cfg(feature = "warc")]
pub(crate) use self::writer::removed;
pub use self::writer::{Checkpoint, OutputFile, ResumableWriter};
pub(crate) use self::writer::{cut, no_state};
