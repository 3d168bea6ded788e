//! A queue of jobs that tasks and threads send to.

use std::error::Error;
use std::fmt::{self, Display, Formatter};
use std::io;

use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TrySendError;

use super::given::{IntoJob, give_batch};
use super::{JobSource, Take};

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
///
/// A task that takes records and sends the jobs that they lead to must not wait in [`send`](JobSender::send): where the queue
/// is full, the run starts no job before a record is taken, which that task would do next. Both would stand still. A crawler
/// keeps what has no room by itself, sends it by [`try_send`](JobSender::try_send), and waits for records alone. It counts the
/// jobs that have no record yet, of which each gets one unless a [`filter`](crate::Fetch::filter) leaves it out, and drops the
/// sender with the last:
///
/// ```
/// use std::collections::{HashSet, VecDeque};
///
/// use stoop_fetch::source::{NotSent, queue};
/// use stoop_fetch::{Fetch, OwnedRecord};
///
/// fn links(record: OwnedRecord) -> Vec<String> {
///     let content = record.outcome.capture.map(|response| response.content);
///     String::from_utf8_lossy(&content.unwrap_or_default()).lines().map(str::to_owned).collect()
/// }
///
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// let fetch = Fetch::new().keep_content(true);
/// # let fetch = fetch.client(|client| {
/// #     client.handler(|request: stoop::Request| match request.path() {
/// #         "/" => (0..500).map(|n| format!("https://example.com/{n}\n")).collect::<String>(),
/// #         _ => "https://example.com/".to_owned(),
/// #     })
/// # });
/// let first = "https://example.com/".to_owned();
/// let (mut seen, mut found) = (HashSet::from([first.clone()]), VecDeque::from([first]));
/// let (jobs, queued) = queue(100);
/// let (run, mut records) = fetch.start_records(queued)?;
/// let (mut open, mut done) = (0, 0);
/// loop {
///     while let Some(url) = found.pop_front() {
///         match jobs.try_send(url) {
///             Ok(()) => open += 1,
///             Err(NotSent::Full(url)) => {
///                 found.push_front(url);
///                 break;
///             }
///             Err(NotSent::Ended(_)) => found.clear(),
///         }
///     }
///     if open == 0 {
///         break;
///     }
///     let Some(record) = records.recv().await else { break };
///     (open, done) = (open - 1, done + 1);
///     found.extend(links(record).into_iter().filter(|link| seen.insert(link.clone())));
/// }
/// drop(jobs);
/// run.finished().await.check()?;
/// assert_eq!(done, 501);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # }).unwrap();
/// ```
pub fn queue<T: IntoJob + Send>(capacity: usize) -> (JobSender<T>, JobQueue<T>) {
    let (jobs, queue) = mpsc::channel(capacity.clamp(1, tokio::sync::Semaphore::MAX_PERMITS));
    (JobSender(jobs), JobQueue(queue))
}

/// The end of a [`queue`] that a run takes jobs from.
#[derive(Debug)]
pub struct JobQueue<T>(mpsc::Receiver<T>);

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
pub struct JobSender<T>(mpsc::Sender<T>);

impl<T> Clone for JobSender<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T> JobSender<T> {
    /// Sends a job, and waits while the queue is full: not for the task that takes the records of the run, see [`queue`].
    /// Where the future is dropped, it was not sent.
    ///
    /// # Errors
    /// The run takes no more jobs.
    pub async fn send(&self, job: T) -> Result<(), NotTaken<T>> {
        self.0.send(job).await.map_err(|error| NotTaken(error.0))
    }

    /// Sends a job if there is room for it, and does not wait.
    ///
    /// # Errors
    /// The queue is full, or the run takes no more jobs.
    pub fn try_send(&self, job: T) -> Result<(), NotSent<T>> {
        self.0.try_send(job).map_err(|error| match error {
            TrySendError::Full(job) => NotSent::Full(job),
            TrySendError::Closed(job) => NotSent::Ended(job),
        })
    }

    /// The same as [`send`](Self::send) for a thread, which it blocks. It must not be called inside a runtime of tokio.
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

/// The error for a job that [`try_send`](JobSender::try_send) has not sent. It has the job.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum NotSent<T> {
    /// The queue is full: there is room once the run has taken a job.
    Full(T),
    /// The run takes no more jobs.
    Ended(T),
}

impl<T> NotSent<T> {
    /// The job.
    pub fn into_job(self) -> T {
        match self {
            Self::Full(job) | Self::Ended(job) => job,
        }
    }
}

impl<T> fmt::Debug for NotSent<T> {
    /// Without the job, whose fields may be secret.
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let name = match self {
            Self::Full(_) => "Full",
            Self::Ended(_) => "Ended",
        };
        f.debug_struct(name).finish_non_exhaustive()
    }
}

impl<T> Display for NotSent<T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full(_) => f.write_str("the queue is full"),
            Self::Ended(job) => NotTaken(job).fmt(f),
        }
    }
}

impl<T> Error for NotSent<T> {}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;
    use std::thread;

    use super::super::given::tests::reads;
    use super::*;

    #[test]
    fn what_threads_send_is_read_until_the_senders_are_gone() {
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

    #[test]
    fn a_job_for_which_there_is_no_room_comes_back_at_once() {
        let (jobs, mut receiver) = queue(1);
        assert_eq!(jobs.try_send("http://a/"), Ok(()));
        let full = jobs.try_send("http://b/").expect_err("there is no room");
        assert_eq!((full, full.into_job()), (NotSent::Full("http://b/"), "http://b/"));
        assert_eq!(
            (full.to_string().as_str(), format!("{full:?}").as_str()),
            ("the queue is full", "Full { .. }")
        );
        assert!(receiver.read(&mut |_| ControlFlow::Continue(())).expect("no error"));
        assert_eq!(jobs.try_send("http://b/"), Ok(()));
        drop(receiver);
        let ended = jobs.try_send("http://c/").expect_err("there is no run");
        assert_eq!((ended, ended.into_job()), (NotSent::Ended("http://c/"), "http://c/"));
        assert_eq!(ended.to_string(), "the run takes no more jobs");
        assert_eq!(format!("{ended:?}"), "Ended { .. }");
    }
}
