//! Sources of jobs: what a run fetches.

mod byte_order;
mod csv_jobs;
mod decompressed;
mod distinct;
mod distinct_ids;
mod given;
mod job_queue;
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
pub use self::distinct_ids::DistinctIds;
pub use self::given::{IntoJob, Jobs};
pub use self::job_queue::{JobQueue, JobSender, NotSent, NotTaken, queue};
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
///
/// [`Jobs`] is one of an iterator, and [`queue`] one that tasks send jobs to.
///
/// A source can give what records of earlier jobs lead to, as that of a crawler does, and ends when they are all done:
///
/// ```
/// use std::collections::HashSet;
/// use std::io;
/// use std::sync::mpsc::{Receiver, Sender, channel};
///
/// use stoop_fetch::format::RecordFormat;
/// use stoop_fetch::source::{Job, JobSource, Take};
/// use stoop_fetch::{Fetch, Record};
///
/// enum News {
///     Link(String),
///     Done,
/// }
///
/// /// Each link once, until there is none left whose record may have others.
/// struct Frontier {
///     news: Receiver<News>,
///     seen: HashSet<String>,
///     open: usize,
/// }
///
/// impl JobSource for Frontier {
///     fn read(&mut self, take: &mut Take<'_>) -> io::Result<bool> {
///         match self.news.recv().map_err(io::Error::other)? {
///             News::Link(url) if self.seen.insert(url.clone()) => {
///                 self.open += 1;
///                 Ok(take(Job::new(url.as_bytes())).is_continue())
///             }
///             News::Link(_) => Ok(true),
///             News::Done => {
///                 self.open -= 1;
///                 Ok(self.open > 0)
///             }
///         }
///     }
/// }
///
/// /// Each record is formatted once, on a worker thread, which must not wait: so the channel has no bound.
/// #[derive(Clone)]
/// struct Links(Sender<News>);
///
/// impl RecordFormat for Links {
///     fn format(&mut self, record: &Record<'_>, into: &mut Vec<u8>) {
///         if let Some(response) = &record.outcome.capture {
///             for link in String::from_utf8_lossy(&response.content).lines() {
///                 let _ = self.0.send(News::Link(link.to_owned()));
///             }
///         }
///         let _ = self.0.send(News::Done);
///         into.extend_from_slice(&[record.url, b"\n"].concat());
///     }
///
///     fn needs_content(&self) -> bool {
///         true
///     }
/// }
///
/// # fn main() -> Result<(), stoop_fetch::FetchError> {
/// # let fetch = Fetch::new().client(|client| {
/// #     client.handler(|request: stoop::Request| match request.path() {
/// #         "/" => "http://a.test/1\nhttp://a.test/2\n",
/// #         "/1" => "http://a.test/2\nhttp://a.test/",
/// #         _ => "",
/// #     })
/// # });
/// let (links, news) = channel();
/// let _ = links.send(News::Link("http://a.test/".to_owned()));
/// let frontier = Frontier { news, seen: HashSet::new(), open: 0 };
/// let finished = fetch.run(frontier, Links(links), io::sink())?;
/// assert_eq!(finished.figures().total_urls, 3);
/// # Ok(())
/// # }
/// ```
///
/// With a [`filter`](crate::Fetch::filter) it would wait for records that are not formatted.
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
