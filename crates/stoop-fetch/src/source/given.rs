//! Jobs that a program gives: by an iterator, or by a channel.

use std::error::Error;
use std::fmt::{self, Display, Formatter};
use std::io;
use std::ops::ControlFlow;
use std::sync::mpsc;

use bytes::Bytes;
use tokio::sync::mpsc as tokio_mpsc;

use super::{Job, JobOptions, JobSource, Take};

/// How many jobs are reported at once.
const BATCH_JOBS: usize = 256;

/// What is a job: a URL, as text or bytes, alone or in a pair with its [`JobOptions`].
pub trait IntoJob {
    /// Calls `take` with the job.
    fn give(self, take: &mut Take<'_>) -> ControlFlow<()>;
}

impl IntoJob for Job<'_> {
    fn give(self, take: &mut Take<'_>) -> ControlFlow<()> {
        take(self)
    }
}

impl<U: AsRef<[u8]>> IntoJob for (U, JobOptions) {
    fn give(self, take: &mut Take<'_>) -> ControlFlow<()> {
        let (url, options) = self;
        take(Job::new(url.as_ref()).with_options(options))
    }
}

macro_rules! urls {
    ($($url:ty),*) => {
        $(impl IntoJob for $url {
            fn give(self, take: &mut Take<'_>) -> ControlFlow<()> {
                take(Job::new(self.as_ref()))
            }
        })*
    };
}

urls!(&str, String, &[u8], Vec<u8>, Bytes);

/// The jobs of an iterator: of URLs, of pairs of a URL and [`JobOptions`], or of [`Job`]s.
///
/// It is read on a thread of the run, 256 jobs at once, and no further than jobs can be started soon. It should not wait
/// for its next item: a job that it gave starts after that. What waits is for [`queue`], or a channel.
///
/// ```
/// use stoop_fetch::source::{JobOptions, Jobs};
/// use stoop_fetch::{Fetch, format::JsonLines};
///
/// # let fetch = Fetch::new().client(|client| client.handler(|_: stoop::Request| "an item"));
/// let items = (1..=1000).map(|n| (format!("https://shop.test/item/{n}"), JobOptions::new().id(n.to_string())));
/// let finished = fetch.run(Jobs::new(items), JsonLines::new(), std::io::sink())?;
/// assert_eq!(finished.figures().ok, 1000);
/// # Ok::<(), stoop_fetch::FetchError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Jobs<I>(I);

impl<I: Iterator<Item: IntoJob>> Jobs<I> {
    /// The jobs of `jobs`, in its order.
    pub fn new(jobs: impl IntoIterator<IntoIter = I, Item = I::Item>) -> Self {
        Self(jobs.into_iter())
    }
}

impl<I: Iterator<Item: IntoJob> + Send> JobSource for Jobs<I> {
    fn read(&mut self, take: &mut Take<'_>) -> io::Result<bool> {
        match self.0.next() {
            Some(first) => Ok(give_batch(first, || self.0.next(), take).is_continue()),
            None => Ok(false),
        }
    }
}

/// The jobs that come by a channel, until all its senders are dropped. [`queue`] is one that tasks can send to.
impl<T: IntoJob + Send> JobSource for mpsc::Receiver<T> {
    fn read(&mut self, take: &mut Take<'_>) -> io::Result<bool> {
        match self.recv() {
            Ok(first) => Ok(give_batch(first, || self.try_recv().ok(), take).is_continue()),
            Err(_) => Ok(false),
        }
    }
}

/// Reports `first`, and those behind it that are there.
fn give_batch<T: IntoJob>(
    first: T,
    mut next: impl FnMut() -> Option<T>,
    take: &mut Take<'_>,
) -> ControlFlow<()> {
    first.give(take)?;
    for _ in 1..BATCH_JOBS {
        let Some(job) = next() else { break };
        job.give(take)?;
    }
    ControlFlow::Continue(())
}

/// A queue of up to `capacity` jobs, at least one, that tasks and threads send to, and a run takes from. The run ends once
/// all senders are dropped and what they sent is done.
///
/// A run that is [stopped](crate::Run::stop) takes no more. It drops its end of the queue with the next job that is
/// sent, or once the senders are dropped.
///
/// ```
/// use stoop_fetch::{Fetch, source};
///
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// # let fetch = Fetch::new().client(|client| client.handler(|_: stoop::Request| "a page"));
/// let (jobs, queue) = source::queue(100);
/// let (run, mut records) = fetch.start_records(queue)?;
/// jobs.send("https://example.com/".to_owned()).await?;
/// let first = records.recv().await.expect("its record");
/// jobs.send(format!("https://example.com/?after={}", first.outcome.body_bytes)).await?;
/// drop(jobs);
/// assert!(records.recv().await.is_some() && records.recv().await.is_none());
/// run.finished().await.check()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # }).unwrap();
/// ```
pub fn queue<T: IntoJob + Send>(capacity: usize) -> (JobSender<T>, JobQueue<T>) {
    let (jobs, queue) = tokio_mpsc::channel(capacity.clamp(1, tokio::sync::Semaphore::MAX_PERMITS));
    (JobSender(jobs), JobQueue(queue))
}

/// The end of a [`queue`] that a run takes jobs from.
#[derive(Debug)]
pub struct JobQueue<T>(tokio_mpsc::Receiver<T>);

impl<T: IntoJob + Send> JobSource for JobQueue<T> {
    fn read(&mut self, take: &mut Take<'_>) -> io::Result<bool> {
        match self.0.blocking_recv() {
            Some(first) => Ok(give_batch(first, || self.0.try_recv().ok(), take).is_continue()),
            None => Ok(false),
        }
    }
}

/// An end of a [`queue`] that jobs are sent by. Clones are others of the same queue.
#[derive(Debug)]
pub struct JobSender<T>(tokio_mpsc::Sender<T>);

impl<T> Clone for JobSender<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T> JobSender<T> {
    /// Sends a job, and waits while the queue is full. Where the future is dropped, it was not sent.
    ///
    /// # Errors
    /// The run takes no more jobs.
    pub async fn send(&self, job: T) -> Result<(), NotTaken<T>> {
        self.0.send(job).await.map_err(|error| NotTaken(error.0))
    }

    /// The same for a thread, which it blocks. It must not be called inside a runtime of tokio.
    ///
    /// # Errors
    /// The run takes no more jobs.
    pub fn blocking_send(&self, job: T) -> Result<(), NotTaken<T>> {
        self.0.blocking_send(job).map_err(|error| NotTaken(error.0))
    }
}

/// The error for a job that could not be sent to a [`queue`], because the run takes no more. It has the job.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct NotTaken<T>(pub T);

impl<T> fmt::Debug for NotTaken<T> {
    /// Without the job, whose fields may be secret.
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("NotTaken").finish_non_exhaustive()
    }
}

impl<T> Display for NotTaken<T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("the run takes no more jobs")
    }
}

impl<T> Error for NotTaken<T> {}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    /// The URLs that each read reports, and their ids.
    fn reads(mut source: impl JobSource) -> Vec<Vec<String>> {
        let mut reads = Vec::new();
        loop {
            let mut urls = Vec::new();
            let more = source.read(&mut |job| {
                let id = job.options.and_then(|options| options.id).unwrap_or_default();
                urls.push(String::from_utf8_lossy(job.url).into_owned() + &id);
                ControlFlow::Continue(())
            });
            reads.push(urls);
            if !more.expect("no error") {
                return reads;
            }
        }
    }

    #[test]
    fn an_iterator_is_read_in_batches_to_its_end() {
        let urls = (0..600).map(|n| format!("http://a/{n}"));
        let all: Vec<String> = urls.clone().collect();
        let read = reads(Jobs::new(urls));
        assert!(read.iter().all(|batch| batch.len() <= BATCH_JOBS));
        assert_eq!(read.concat(), all);
        assert_eq!(reads(Jobs::new(["a", "b"])).concat(), ["a", "b"]);
        let pairs = vec![("a", JobOptions::new().id("1")), ("b", JobOptions::new())];
        assert_eq!(reads(Jobs::new(pairs)).concat(), ["a1", "b"]);
        assert_eq!(reads(Jobs::new([Job::new(b"a")])).concat(), ["a"]);
    }

    #[test]
    fn an_iterator_is_read_no_further_than_jobs_are_taken() {
        let mut given = 0;
        let mut jobs = Jobs::new(std::iter::repeat_with(|| {
            given += 1;
            "a"
        }));
        let mut taken = 0;
        let more = jobs.read(&mut |_| {
            taken += 1;
            if taken == 3 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        assert_eq!((more.expect("no error"), given), (false, 3));
    }

    #[test]
    fn what_is_in_a_channel_is_one_batch_and_the_end_of_its_senders_is_the_end() {
        let (sender, receiver) = mpsc::channel();
        for url in ["a", "b", "c"] {
            sender.send(url).expect("it is there");
        }
        drop(sender);
        assert_eq!(reads(receiver), [vec!["a", "b", "c"], vec![]]);
        let (jobs, queue) = queue(2);
        let sent = thread::spawn(move || ["a", "b", "c"].map(|url| jobs.blocking_send(url)));
        assert_eq!(reads(queue).concat(), ["a", "b", "c"]);
        assert_eq!(sent.join().expect("no panic"), [Ok(()); 3]);
    }

    #[test]
    fn a_job_that_is_not_taken_comes_back() {
        let (jobs, receiver) = queue(0);
        drop(receiver);
        let error = jobs.clone().blocking_send("http://a/").expect_err("there is no run");
        assert_eq!(
            (error.0, error.to_string().as_str()),
            ("http://a/", "the run takes no more jobs")
        );
        assert_eq!(format!("{error:?}"), "NotTaken { .. }");
    }
}
