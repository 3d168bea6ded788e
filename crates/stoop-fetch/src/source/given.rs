//! Jobs that a program gives: by an iterator, or by a channel of `std`.

use std::io;
use std::ops::ControlFlow;
use std::sync::mpsc;

use bytes::Bytes;

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
/// for its next item: a job that it gave starts after that. What waits is for [`queue`](super::queue), or a channel.
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

/// The jobs that come by a channel, until all its senders are dropped. [`queue`](super::queue) is one that
/// tasks can send to.
impl<T: IntoJob + Send> JobSource for mpsc::Receiver<T> {
    fn read(&mut self, take: &mut Take<'_>) -> io::Result<bool> {
        match self.recv() {
            Ok(first) => Ok(give_batch(first, || self.try_recv().ok(), take).is_continue()),
            Err(_) => Ok(false),
        }
    }
}

/// Reports `first`, and those behind it that are there.
pub(super) fn give_batch<T: IntoJob>(
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

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// The URLs that each read reports, and their ids.
    pub(in crate::source) fn reads(mut source: impl JobSource) -> Vec<Vec<String>> {
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
    }
}
