//! A queue of jobs that tasks and threads send to.

use std::error::Error;
use std::fmt::{self, Display, Formatter};
use std::io;

use tokio::sync::mpsc;

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
}
