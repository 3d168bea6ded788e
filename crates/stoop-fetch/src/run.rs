//! A run: the start and the end of its threads, and the handle to it.

mod threads;

use std::fmt;
use std::fs::File;
use std::io;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Weak};
use std::thread::JoinHandle;

use self::threads::{run_reader, run_worker, run_writer, spawn};
use crate::addresses::run_sorter;
use crate::error::{FetchError, copy};
use crate::fetcher::Fetchers;
use crate::format::RecordFormat;
use crate::journal::Numbering;
use crate::nested_sitemaps::RunLink;
use crate::output::RecordParts;
use crate::progress::Progress;
use crate::run_state::{RunState, WorkerGauge};
use crate::settings::Settings;
use crate::sink::RecordSink;
use crate::source::JobSource;
use crate::statistics::Statistics;
use crate::summary::{Figures, Summary};
use crate::tuning;

/// A run that goes on: its progress, and the way to end it early. Dropping it ends nothing, and leaves untold what came of it.
#[must_use = "`wait` and `finished` wait for its end, and tell whether all records were written"]
pub struct Run {
    pub(crate) state: Arc<RunState>,
    workers: Vec<JoinHandle<Summary>>,
    writer: JoinHandle<io::Result<()>>,
    resumed: Resumed,
}

/// What a run has that goes on where another ended, or that can.
#[derive(Default)]
pub(crate) struct Resumed {
    pub(crate) numbering: Option<Numbering>,
    /// The output has records, and what stands before them.
    pub(crate) has_output: bool,
    /// How many jobs were done before.
    pub(crate) jobs: u64,
    /// Locked until the run is over.
    pub(crate) lock: Option<File>,
}

/// A run whose threads have all ended.
#[derive(Debug)]
#[non_exhaustive]
pub struct Finished {
    /// The counters of all records.
    pub summary: Summary,
    /// The statistics of all records, if [`Fetch::statistics`](crate::Fetch::statistics) asks for them.
    pub statistics: Option<Statistics>,
    /// Whether all records that the summary counts were written.
    pub written: io::Result<()>,
    /// Whether the input was read to its end, or to that of the run.
    pub read: io::Result<()>,
    /// Whether all content that was to be saved is.
    pub saved: io::Result<()>,
    /// Whether the [`filter`](crate::Fetch::filter) returned for all records; those at which it panicked were written.
    pub filtered: io::Result<()>,
    /// Whether all workers could begin.
    pub started: io::Result<()>,
    /// How many jobs were done before the run was resumed. The counters have none of them.
    pub resumed: u64,
    /// Jobs that were cut off because the client missed their deadline, which is a defect of its own.
    pub overdue: u64,
}

impl Finished {
    /// The figures of the summary.
    pub fn figures(&self) -> Figures<'_> {
        self.summary.figures()
    }

    /// The first thing that went wrong with the run itself. An error of the system is
    /// [told as such](FetchError#errors-of-the-system).
    ///
    /// # Errors
    /// All kinds of [`FetchError`] but [`FetchError::Client`] and [`FetchError::Record`].
    pub fn check(&self) -> Result<(), FetchError> {
        let check = |result: &io::Result<()>, kind: fn(io::Error) -> FetchError| match result {
            Ok(()) => Ok(()),
            Err(error) => Err(kind(copy(error))),
        };
        check(&self.started, FetchError::Start)?;
        check(&self.saved, FetchError::Save)?;
        check(&self.written, FetchError::Write)?;
        check(&self.read, FetchError::Read)?;
        check(&self.filtered, FetchError::Filter)
    }
}

impl fmt::Debug for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Run").field("progress", &self.progress()).finish_non_exhaustive()
    }
}

impl Run {
    /// Starts the threads of reader, workers and writer. By `link` the sitemaps of the source find the run.
    ///
    /// # Errors
    /// A thread could not be started. Those that could end at once.
    pub(crate) fn start<F: RecordFormat>(
        settings: Settings,
        fetchers: Fetchers,
        source: Box<dyn JobSource>,
        format: F,
        sink: impl RecordSink + Send + 'static,
        mut resumed: Resumed,
        link: Option<Arc<RunLink>>,
    ) -> io::Result<Self> {
        let state = Arc::new(RunState::new(settings, fetchers, format.needs_content()));
        let weak: Weak<RunState> = Arc::downgrade(&state);
        state.stop.wake(weak);
        if let Some(link) = link {
            let _ = link.run.set(Arc::downgrade(&state));
        }
        let (mut format, mut begin, mut end) = (format, Vec::new(), Vec::new());
        format.begin(&mut begin);
        format.end(&mut end);
        if !resumed.has_output {
            state.output.append(RecordParts::borrowed(&begin), None, None);
        }
        let numbering = resumed.numbering.take();
        // Beside the others, and never joined: where no URL needs TLS it costs no time. Those that do wait.
        spawn(&state, "stoop-tls", |run| run.fetchers.warm_up())?;
        let writer = spawn(&state, "stoop-write", move |run| run_writer(run, sink, &end))?;
        let workers = (0..state.settings.workers).map(|index| {
            let format = format.clone();
            spawn(&state, "stoop-worker", move |run| run_worker(run, index, format))
        });
        let workers: io::Result<Vec<_>> = workers.collect();
        let started = workers.and_then(|workers| {
            if state.settings.concurrency.is_auto() {
                // Never joined: it ends after the last worker.
                spawn(&state, "stoop-tune", |run| tuning::tune(run))?;
            }
            if state.by_address.is_some() {
                // Never joined: it ends after the reader, and before the workers.
                spawn(&state, "stoop-names", |run| run_sorter(run))?;
            }
            // Never joined: it may be blocked in a read, in spite of all precautions.
            spawn(&state, "stoop-read", move |run| run_reader(run, source, numbering))?;
            Ok(workers)
        });
        match started {
            Ok(workers) => Ok(Self { state, workers, writer, resumed }),
            Err(error) => {
                state.stop();
                state.close_lanes();
                state.output.close();
                Err(error)
            }
        }
    }

    /// How far the run is.
    pub fn progress(&self) -> Progress {
        let sum = |count: fn(&WorkerGauge) -> u64| self.state.gauges.iter().map(count).sum::<u64>();
        Progress {
            read: self.state.input.urls.load(Relaxed),
            read_bytes: self.state.input.bytes.load(Relaxed),
            done: sum(|gauge| gauge.done.load(Relaxed)),
            errors: sum(|gauge| gauge.errors.load(Relaxed)),
            content_bytes: sum(|gauge| gauge.content_bytes.load(Relaxed)),
            resumed: self.resumed.jobs,
            in_flight: sum(|gauge| gauge.in_flight() as u64),
            waiting: sum(|gauge| gauge.waiting.load(Relaxed) as u64),
            in_flight_max: self.state.permits.limit() as u64,
            bottleneck: tuning::bottleneck(&self.state),
        }
    }

    /// The statistics of all records so far, if [`Fetch::statistics`](crate::Fetch::statistics) asks for them. They are a
    /// copy, of up to 1 MiB for each worker: to be asked for once a second rather than more often.
    pub fn statistics(&self) -> Option<Statistics> {
        self.state.statistics()
    }

    /// Ends the run early: jobs that were read and are unfinished get records of the kind `cancelled`, and the
    /// run finishes soon.
    pub fn stop(&self) {
        self.state.stop();
    }

    /// Whether the run was told to end early.
    pub fn is_stopping(&self) -> bool {
        self.state.is_stopping()
    }

    /// Waits for the end as [`wait`](Self::wait) does, for a task: it does not block its thread while the run goes on. Where
    /// the future is dropped, the run goes on, and what came of it stays untold.
    #[must_use = "`check` tells whether the run itself failed, as where records could not be written"]
    pub async fn finished(self) -> Finished {
        self.ended().await;
        // Its threads are at their ends.
        self.wait()
    }

    /// Waits until the last record is written. It may be called again, and by several tasks at once.
    pub async fn ended(&self) {
        let written = &self.state.written;
        written.notified().await;
        // One notification wakes one waiter, and is kept for the next call where there is none.
        written.notify_one();
    }

    /// Waits for the end, blocking the thread. Where the caller takes the [`Records`](crate::Records), they have to be taken
    /// first, or dropped.
    #[must_use = "`check` tells whether the run itself failed, as where records could not be written"]
    pub fn wait(self) -> Finished {
        let mut summary = Summary::default();
        for worker in self.workers {
            if let Ok(part) = worker.join() {
                summary.merge(&part);
            }
        }
        let written = self.writer.join();
        let Resumed { jobs: resumed, lock, .. } = self.resumed;
        summary.add_resumed(resumed);
        drop(lock);
        let state = self.state;
        if let Some(save) = &state.settings.processing.save {
            save.finish();
        }
        Finished {
            summary,
            statistics: state.statistics(),
            written: written.unwrap_or_else(|_| Err(io::Error::other("the writer failed"))),
            read: state.take_input_error().map_or(Ok(()), Err),
            saved: state.take_save_error().map_or(Ok(()), Err),
            filtered: state.filter_error().map_or(Ok(()), Err),
            started: state.take_worker_error().map_or(Ok(()), Err),
            resumed,
            overdue: state.overdue.load(Relaxed),
        }
    }
}
