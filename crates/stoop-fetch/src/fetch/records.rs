//! The ways to begin a run whose records the caller takes as values.

use std::io;
use std::sync::Arc;

use super::Fetch;
use crate::error::FetchError;
use crate::records::{OwnedRecord, Records, hand_over};
use crate::run::{Finished, Resumed, Run};
use crate::source::JobSource;

impl Fetch {
    /// Fetches all jobs of `source`, and calls `take` with the record of each, in order of completion, on this thread. While
    /// `take` is busy, the run goes on until some hundred records wait, and then starts no more jobs.
    ///
    /// It blocks its thread, and must not be called inside a runtime of tokio: see [`start_records`](Self::start_records).
    ///
    /// ```
    /// use stoop_fetch::{Fetch, source::Lines};
    ///
    /// let urls = Lines::new(&b"http://example.com/a\nhttp://example.com/b\n"[..]);
    /// let fetch = Fetch::new().keep_content(true);
    /// # let fetch = fetch.client(|client| client.handler(|request: stoop::Request| request.path().to_owned()));
    /// let mut bytes = 0;
    /// fetch.run_records(urls, |record| {
    ///     bytes += record.outcome.capture.map_or(0, |response| response.content.len());
    ///     Ok(())
    /// })?;
    /// # assert_eq!(bytes, 4);
    /// # Ok::<(), stoop_fetch::FetchError>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`run`](Self::run). An error of `take` ends the run, and is returned as [`FetchError::Record`]; `take` is
    /// not called again.
    pub fn run_records(
        self,
        source: impl JobSource + 'static,
        mut take: impl FnMut(OwnedRecord) -> io::Result<()>,
    ) -> Result<Finished, FetchError> {
        let (run, mut records) = self.start_records(source)?;
        if let Err(error) = records.try_for_each(&mut take) {
            run.stop();
            drop(records);
            let _ = run.wait();
            return Err(FetchError::Record(error));
        }
        let finished = run.wait();
        finished.check()?;
        Ok(finished)
    }

    /// Starts the threads of a run whose records the caller takes one by one, blocking or not: [`Records`] says how, and
    /// what happens while none are taken.
    ///
    /// [`Run::wait`] returns only when all records were taken, or [`Records`] was dropped.
    ///
    /// ```
    /// use stoop_fetch::{Fetch, source::Lines};
    ///
    /// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
    /// let urls = Lines::new(&b"http://127.0.0.1:1/\n"[..]);
    /// let (run, mut records) = Fetch::new().start_records(urls)?;
    /// while let Some(record) = records.recv().await {
    ///     let url = String::from_utf8_lossy(&record.url);
    ///     println!("{url} {:?}", record.outcome.code);
    /// }
    /// run.finished().await.check()?;
    /// # Ok::<(), stoop_fetch::FetchError>(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// Those of [`start`](Self::start). What goes wrong later is in [`Finished`].
    pub fn start_records(
        self,
        source: impl JobSource + 'static,
    ) -> Result<(Run, Records), FetchError> {
        let (format, sink, taking) = hand_over();
        let run = self.begin(Box::new(source), format, |_| Ok((sink, Resumed::default())))?;
        let records = taking.of(Arc::clone(&run.state));
        Ok((run, records))
    }
}
