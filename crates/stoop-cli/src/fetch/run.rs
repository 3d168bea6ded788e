//! Runs a plan: starts the threads of reader, cores and writer, waits in the main thread for signals,
//! `--duration` and the last line, and joins the threads.

use std::future::pending;
use std::io::{self, ErrorKind};
use std::process::exit;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use tokio::time::{Instant, interval, sleep_until};

use super::core;
use super::fetcher::Fetchers;
use super::input;
use super::lane::Lane;
use super::output::LineSink;
use super::plan::{FetchPlan, UrlSource};
use super::progress::ProgressDisplay;
use super::run_state::{EndCause, RunState};
use super::source::{OpenSource, SourceReader};
use crate::failure::CommandFailure;
use crate::signals::{self, Signals};
use crate::streams;
use crate::summary::Summary;

/// How often the progress display changes.
const PROGRESS_EVERY: Duration = Duration::from_millis(100);

/// A signal that comes this soon after another is the same one: `timeout` sends each to its child, and
/// then to the process group of the child.
const SAME_SIGNAL_WINDOW: Duration = Duration::from_millis(100);

/// The result of a run whose threads have all ended.
#[derive(Debug)]
pub(crate) struct FinishedRun {
    pub(crate) summary: Summary,
    /// All lines that the summary counts were written.
    pub(crate) is_written: bool,
    /// The failure that the exit code stands for, if there was one.
    pub(crate) result: Result<(), CommandFailure>,
    /// URLs that had to be cut off because the client missed their deadline.
    pub(crate) overdue: u64,
}

/// Runs `plan` to its end.
///
/// # Errors
/// The run could not begin; nothing was fetched.
pub(crate) fn run(plan: FetchPlan) -> Result<FinishedRun, CommandFailure> {
    let name = source_name(&plan.source);
    let cannot_read = |error: &io::Error| CommandFailure::io(&format!("cannot read {name}"), error);
    let (input, total_bytes) =
        OpenSource::open(&plan.source).map_err(|error| cannot_read(&error))?;
    let fetchers = Fetchers::new(&plan)?;
    let run = Arc::new(RunState::new(plan, fetchers, total_bytes));
    let progress = run.plan.has_progress.then(|| ProgressDisplay::new(&run));
    let cannot_write = |error: &io::Error| match CommandFailure::io(streams::CANNOT_WRITE, error) {
        CommandFailure::Io(text) => {
            CommandFailure::Io(text + "; the run ended there, without all its lines")
        }
        quiet => quiet,
    };
    let sink = if run.plan.has_lines {
        LineSink::stdout(progress.as_ref().map(ProgressDisplay::bar))
            .map_err(|error| cannot_write(&error))?
    } else {
        LineSink::discard()
    };
    let cannot_start = |error: io::Error| CommandFailure::Io(format!("cannot start: {error}"));

    let control = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let control = control.map_err(cannot_start)?;
    let signals = control.block_on(async { Signals::new() }).map_err(cannot_start)?;
    // Beside the others, and never joined: where no URL needs TLS it costs no time. Those that do wait.
    spawn(&run, "stoop-tls", |run| run.fetchers.warm_up()).map_err(cannot_start)?;
    let writer =
        spawn(&run, "stoop-write", move |run| run_writer(run, sink)).map_err(cannot_start)?;
    let cores: Result<Vec<_>, _> = (0..run.plan.cores)
        .map(|index| spawn(&run, "stoop-core", move |run| run_core(run, index)))
        .collect();
    let cores = cores.map_err(cannot_start)?;
    // Never joined: it may be blocked in a read, in spite of all precautions.
    spawn(&run, "stoop-read", move |run| run_reader(run, input)).map_err(cannot_start)?;

    control.block_on(watch(&run, signals, progress.as_ref()));
    if let Some(progress) = progress {
        progress.clear();
    }
    let mut summary = Summary::default();
    for core in cores {
        if let Ok(part) = core.join() {
            summary.merge(&part);
        }
    }
    let written = writer.join().unwrap_or_else(|_| Err(io::Error::other("the writer failed")));

    let input_error = run.take_input_error();
    let result = match (run.take_cause(), &written) {
        // The signal may also have ended the process that reads the output, or the terminal.
        (Some(EndCause::Signal(number)), Err(error)) if is_reader_gone(error) => {
            Err(CommandFailure::Signal(number))
        }
        (_, Err(error)) => Err(cannot_write(error)),
        (Some(EndCause::Signal(number)), Ok(())) => Err(CommandFailure::Signal(number)),
        (Some(EndCause::CoreFailed(error)), Ok(())) => Err(cannot_start(error)),
        (Some(EndCause::Duration | EndCause::OutputFailed) | None, Ok(())) => match input_error {
            Some(error) => Err(cannot_read(&error)),
            None => Ok(()),
        },
    };
    let overdue = run.overdue.load(Relaxed);
    Ok(FinishedRun { summary, is_written: written.is_ok(), result, overdue })
}

/// Whether a write failed because the output has no reader any more: a closed pipe, or (EIO) a closed
/// terminal.
fn is_reader_gone(error: &io::Error) -> bool {
    error.kind() == ErrorKind::BrokenPipe || error.raw_os_error() == Some(5)
}

fn source_name(source: &UrlSource) -> String {
    match source {
        UrlSource::Stdin => "standard input".to_owned(),
        UrlSource::File(path) => path.display().to_string(),
        UrlSource::Text(_) => "the arguments".to_owned(),
    }
}

/// Starts a thread of the run.
fn spawn<T: Send + 'static>(
    run: &Arc<RunState>,
    name: &str,
    work: impl FnOnce(&Arc<RunState>) -> T + Send + 'static,
) -> io::Result<JoinHandle<T>> {
    let run = Arc::clone(run);
    thread::Builder::new().name(name.to_owned()).spawn(move || work(&run))
}

/// The thread of the reader.
fn run_reader(run: &RunState, input: OpenSource) {
    /// Closes the lanes however the reader ends, so that the cores come to an end without it.
    struct CloseLanes<'a>(&'a [Lane]);
    impl Drop for CloseLanes<'_> {
        fn drop(&mut self) {
            self.0.iter().for_each(Lane::close);
        }
    }
    let _close_lanes = CloseLanes(&run.lanes);
    let read = SourceReader::new(input, &run.stop).and_then(|source| {
        let warm_up = || run.fetchers.warm_up();
        input::distribute(source, run.plan.limit, &run.lanes, &run.input, &run.stop, warm_up)
    });
    if let Err(error) = read {
        run.set_input_error(error);
    }
}

/// The thread of core `index`.
fn run_core(run: &Arc<RunState>, index: usize) -> Summary {
    /// Notes the end of the core however it comes.
    struct NoteEnd<'a>(&'a RunState, usize);
    impl Drop for NoteEnd<'_> {
        fn drop(&mut self) {
            self.0.core_ended(self.1);
        }
    }
    let _note_end = NoteEnd(run, index);
    core::work(run, index).unwrap_or_else(|error| {
        run.stop(EndCause::CoreFailed(error));
        Summary::default()
    })
}

/// The thread of the writer.
fn run_writer(run: &RunState, sink: LineSink) -> io::Result<()> {
    let written = run.output.write_to(sink, || run.wake_cores());
    if written.is_err() {
        run.stop(EndCause::OutputFailed);
    }
    run.written.notify_one();
    written
}

/// Waits until the last line is written, and ends the run before that on a signal or by `--duration`.
async fn watch(run: &RunState, mut signals: Signals, progress: Option<&ProgressDisplay>) {
    let begin = Instant::now();
    let mut ticks = interval(PROGRESS_EVERY);
    let mut interrupted = None;
    loop {
        let duration_over = async {
            match run.plan.duration {
                Some(duration) if !run.is_stopping() => sleep_until(begin + duration).await,
                _ => pending().await,
            }
        };
        tokio::select! {
            biased;
            () = run.written.notified() => return,
            number = signals.next() => {
                let first = *interrupted.get_or_insert_with(Instant::now);
                if first.elapsed() >= SAME_SIGNAL_WINDOW && number != signals::HANGUP {
                    exit(i32::from(CommandFailure::Signal(number).exit_code()));
                }
                run.stop(EndCause::Signal(number));
            }
            () = duration_over => run.stop(EndCause::Duration),
            _ = ticks.tick(), if progress.is_some() => {
                if let Some(progress) = progress {
                    progress.show(run);
                }
            }
        }
    }
}
