//! The ways to begin a run.

use std::io::Write;

use super::Fetch;
use crate::error::FetchError;
use crate::fetcher::Fetchers;
use crate::format::RecordFormat;
use crate::journal::{Begun, ResumableWriter, RunFolder, SyncContent};
use crate::means::Means;
use crate::run::{Finished, Resumed, Run};
use crate::settings::Settings;
use crate::sink::{Plain, RecordSink};
use crate::source::JobSource;

impl Fetch {
    /// Fetches all jobs of `source`, and writes the record of each to `writer` in `format`, in order of
    /// completion. Returns once the last is written. The writer gets whole records between two flushes; what completes
    /// within 10 ms comes in one write, but for records of more than 64 KiB, which come in writes of their own, each in up
    /// to three.
    ///
    /// It blocks its thread, and must not be called inside a runtime of tokio; [`start`](Self::start) does not.
    ///
    /// # Errors
    /// The run could not begin, or its input could not be read to the end, or its output not be written.
    pub fn run<F: RecordFormat>(
        self,
        source: impl JobSource + 'static,
        format: F,
        writer: impl Write + Send + 'static,
    ) -> Result<Finished, FetchError> {
        let finished = self.start(source, format, writer)?.wait();
        finished.check()?;
        Ok(finished)
    }

    /// Starts the threads of a run, which goes on by itself.
    ///
    /// # Errors
    /// [`FetchError::Client`] for settings with which no request can be made, [`FetchError::Start`] where
    /// there are no threads. Nothing was fetched then.
    pub fn start<F: RecordFormat>(
        self,
        source: impl JobSource + 'static,
        format: F,
        writer: impl Write + Send + 'static,
    ) -> Result<Run, FetchError> {
        self.begin(Box::new(source), format, |_| Ok((Plain(writer), Resumed::default())))
    }

    /// The same as [`start`](Self::start), with a folder for the run: if it ends before its source does, however it ends,
    /// it goes on where it was when it is started again with the same source, format and writer.
    ///
    /// Jobs that are done are passed over, and those that were in flight are fetched again: their records were not
    /// written, or are cut off. What ended with the run, by [`stop`](Run::stop) or because content could not be saved,
    /// has no record, and is not done. After a loss of power, as opposed to the end of the process, up to 30 s of work may
    /// be lost, and the journal may tell of output that is not there any more; the run cannot go on then. Of the files of
    /// [`save`](Self::save), those of that time may be missing or empty though their jobs are done; the content of earlier
    /// ones is there, unless a folder on the way is on another file system.
    ///
    /// The source must report the jobs that it reported before, in the same order; it may have more behind them. One that
    /// is another is noticed ([`FetchError::Read`]).
    ///
    /// ```
    /// use stoop_fetch::{Fetch, OutputFile, RunFolder, format::JsonLines, source::Lines};
    ///
    /// # let folder = std::env::temp_dir().join(format!("stoop-fetch-run-example-{}", std::process::id()));
    /// # let list = &b"http://127.0.0.1:1/\n"[..];
    /// for done_before in [0, 1] {
    ///     let run = RunFolder::open(&folder, [("format", "jsonl")])?;
    ///     let output = OutputFile::open(folder.join("answers.jsonl"))?;
    ///     let run = Fetch::new().start_in(run, Lines::new(list), JsonLines::new(), output)?;
    ///     let finished = run.wait();
    ///     finished.check()?;
    ///     assert_eq!(finished.resumed, done_before);
    /// }
    /// # std::fs::remove_dir_all(&folder).ok();
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`start`](Self::start), and [`FetchError::Write`] where the output or the folder is not as it was.
    pub fn start_in<F: RecordFormat>(
        self,
        folder: RunFolder,
        source: impl JobSource + 'static,
        format: F,
        writer: impl ResumableWriter + Send + 'static,
    ) -> Result<Run, FetchError> {
        self.begin(Box::new(source), format, |settings| {
            let save = settings.processing.save.clone();
            let sync_content = save.map(|save| Box::new(move || save.sync()) as SyncContent);
            let begun = folder.begin(writer, sync_content).map_err(FetchError::Write)?;
            let Begun { numbering, sink, has_output, round, resumed: jobs, lock } = begun;
            settings.round = Some(round);
            let (numbering, lock) = (Some(numbering), Some(lock));
            Ok((sink, Resumed { numbering, has_output, jobs, lock }))
        })
    }

    /// Checks the settings, and starts the threads.
    pub(super) fn begin<F: RecordFormat, S: RecordSink + Send + 'static>(
        mut self,
        source: Box<dyn JobSource>,
        format: F,
        sink: impl FnOnce(&mut Settings) -> Result<(S, Resumed), FetchError>,
    ) -> Result<Run, FetchError> {
        let settings = &mut self.settings;
        let means = Means::of_process(settings.idle_max());
        (settings.concurrency, settings.ceiling) = means.fit(settings.concurrency);
        settings.workers = settings.workers.min(settings.concurrency.max());
        if let Some(misuse) = self.misuse {
            return Err(FetchError::Client(misuse.into()));
        }
        if let Some(agent) = settings.politeness.as_ref().and_then(|it| it.robots.as_deref()) {
            let processing = &mut settings.processing;
            processing.extraction = std::mem::take(&mut processing.extraction).for_agent(agent);
        }
        settings.template.request("http://localhost/", None).map_err(FetchError::Client)?;
        let mut fetchers = Fetchers::new(settings);
        fetchers.for_worker(settings, false, None, None).map_err(FetchError::Client)?;
        fetchers.find_addresses(settings).map_err(FetchError::Client)?;
        if let Some(folder) = &mut settings.processing.save {
            folder.prepare().map_err(FetchError::Save)?;
        }
        if let Some(sitemaps) = &self.sitemaps {
            sitemaps.begin(&mut self.settings);
        }
        let (sink, resumed) = sink(&mut self.settings)?;
        Run::start(self.settings, fetchers, source, format, sink, resumed, self.sitemaps)
            .map_err(FetchError::Start)
    }
}
