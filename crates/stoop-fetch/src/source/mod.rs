//! Sources of jobs: what a run fetches.

mod csv_jobs;
mod decompressed;
mod distinct;
mod json_jobs;
mod lines;
mod nearest;
#[cfg(feature = "parquet")]
mod parquet_jobs;
mod sharded;
mod sitemap;
mod stoppable;

use std::io;
use std::ops::ControlFlow;

pub use self::csv_jobs::{Column, CsvJobs, Delimiter};
pub use self::decompressed::{Decompressed, is_compressed};
pub use self::distinct::Distinct;
pub use self::json_jobs::JsonJobs;
pub use self::lines::Lines;
#[cfg(feature = "parquet")]
pub use self::parquet_jobs::ParquetJobs;
pub use self::sharded::{NoShard, Shard, Sharded};
pub use self::sitemap::Sitemap;
pub use self::stoppable::StoppableInput;
pub use crate::job::{Extent, Job, JobOptions};

/// Called with each job. Breaks to be given no more.
pub type Take<'a> = dyn FnMut(Job<'_>) -> ControlFlow<()> + 'a;

/// A source of jobs, which a run reads on a thread of its own.
///
/// A run reads no more than it can start soon, so that a source may be of any length.
pub trait JobSource: Send {
    /// Reads some jobs, waiting for them if there are none, and calls `take` with each. Returns whether there
    /// may be more; false too once `take` broke.
    ///
    /// What it reports is held in memory until it returns, and is started after that: it should report some hundreds of
    /// jobs at once at most, and wait for none once it has one.
    ///
    /// # Errors
    /// The input cannot be read. The jobs reported so far are fetched all the same, also those before a panic.
    fn read(&mut self, take: &mut Take<'_>) -> io::Result<bool>;

    /// Reports what was read and has not been reported, as a last line without its end. Called once, after the
    /// last [`read`](Self::read); `extent` says what that was: `Whole` at the end of the input,
    /// `Interrupted` where the run ended first, `InputFailed` after an error.
    fn finish(&mut self, extent: Extent, take: &mut Take<'_>) {
        let _ = (extent, take);
    }

    /// How many bytes of the input were read, for those who show progress; 0 where that has no meaning.
    fn position(&self) -> u64 {
        0
    }
}

impl<S: JobSource + ?Sized> JobSource for Box<S> {
    fn read(&mut self, take: &mut Take<'_>) -> io::Result<bool> {
        (**self).read(take)
    }

    fn finish(&mut self, extent: Extent, take: &mut Take<'_>) {
        (**self).finish(extent, take);
    }

    fn position(&self) -> u64 {
        (**self).position()
    }
}
