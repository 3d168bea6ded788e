//! A run from its first thread to its last line: reader, cores and writer, and the main thread,
//! which waits for signals, the clock, and the end.

use std::future::pending;
use std::io::{self, ErrorKind};
use std::process::exit;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use tokio::time::{Instant, interval, sleep_until};

use super::core;
use super::exchange::Exchanges;
use super::input;
use super::lane::Lane;
use super::output::Sink;
use super::plan::{Plan, Source};
use super::progress::Progress;
use super::run_state::{EndCause, RunState};
use super::source::{Input, Reader};
use crate::failure::Failure;
use crate::signals::{self, Signals};
use crate::streams;
use crate::summary::Summary;

/// How often the progress display changes.
const PROGRESS_EVERY: Duration = Duration::from_millis(100);

/// What comes so soon after a signal is the same: `timeout` sends each to its child and then to the
/// group that the child is of.
const SAME_SIGNAL: Duration = Duration::from_millis(100);

/// What is left when all threads are gone.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) summary: Summary,
    /// All lines that the summary counts were written.
    pub(crate) written: bool,
    /// How it ends for the exit code.
    pub(crate) result: Result<(), Failure>,
    /// URLs that had to be cut off because the client missed their deadline.
    pub(crate) overdue: u64,
}

/// Does what `plan` says.
///
/// # Errors
/// The run could not begin; nothing was fetched.
pub(crate) fn run(plan: Plan) -> Result<Ended, Failure> {
    let name = source_name(&plan.source);
    let cannot_read = |error: &io::Error| Failure::io(&format!("cannot read {name}"), error);
    let (input, total_bytes) = Input::open(&plan.source).map_err(|error| cannot_read(&error))?;
    let exchanges = Exchanges::new(&plan)?;
    let run = Arc::new(RunState::new(plan, exchanges, total_bytes));
    let progress = run.plan.progress.then(|| Progress::new(&run));
    let cannot_write = |error: &io::Error| match Failure::io(streams::CANNOT_WRITE, error) {
        Failure::Io(text) => Failure::Io(text + "; the run ended there, without all its lines"),
        quiet => quiet,
    };
    let sink = if run.plan.lines {
        Sink::stdout(progress.as_ref().map(Progress::bar)).map_err(|error| cannot_write(&error))?
    } else {
        Sink::nowhere()
    };
    let cannot_start = |error: io::Error| Failure::Io(format!("cannot start: {error}"));

    let control = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let control = control.map_err(cannot_start)?;
    let signals = control.block_on(async { Signals::new() }).map_err(cannot_start)?;
    // Meanwhile, and never waited for: where nothing needs TLS it costs no time. What does waits.
    spawn(&run, "stoop-tls", |run| run.exchanges.warm_up()).map_err(cannot_start)?;
    let writer = spawn(&run, "stoop-write", move |run| write(run, sink)).map_err(cannot_start)?;
    let cores: Result<Vec<_>, _> = (0..run.plan.cores)
        .map(|index| spawn(&run, "stoop-core", move |run| work(run, index)))
        .collect();
    let cores = cores.map_err(cannot_start)?;
    // Never waited for: it may sleep in a read, however much is done against that.
    spawn(&run, "stoop-read", move |run| read(run, input)).map_err(cannot_start)?;

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
        // What ended us may have ended our reader with us, or the terminal.
        (Some(EndCause::Signal(number)), Err(error)) if is_gone(error) => {
            Err(Failure::Signal(number))
        }
        (_, Err(error)) => Err(cannot_write(error)),
        (Some(EndCause::Signal(number)), Ok(())) => Err(Failure::Signal(number)),
        (Some(EndCause::Core(error)), Ok(())) => Err(cannot_start(error)),
        (Some(EndCause::Duration | EndCause::Output) | None, Ok(())) => match input_error {
            Some(error) => Err(cannot_read(&error)),
            None => Ok(()),
        },
    };
    let overdue = run.overdue.load(Relaxed);
    Ok(Ended { summary, written: written.is_ok(), result, overdue })
}

/// Whether nothing reads what was written any more: a closed pipe, or (EIO) a closed terminal.
fn is_gone(error: &io::Error) -> bool {
    error.kind() == ErrorKind::BrokenPipe || error.raw_os_error() == Some(5)
}

fn source_name(source: &Source) -> String {
    match source {
        Source::Stdin => "standard input".to_owned(),
        Source::File(path) => path.display().to_string(),
        Source::Text(_) => "the arguments".to_owned(),
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
fn read(run: &RunState, input: Input) {
    /// Closes the lanes however the reader ends, so that the cores come to an end without it.
    struct CloseLanes<'a>(&'a [Lane]);
    impl Drop for CloseLanes<'_> {
        fn drop(&mut self) {
            self.0.iter().for_each(Lane::close);
        }
    }
    let _at_the_end = CloseLanes(&run.lanes);
    let read = Reader::new(input, &run.stop).and_then(|source| {
        let warm_up = || run.exchanges.warm_up();
        input::feed(source, run.plan.limit, &run.lanes, &run.input, &run.stop, warm_up)
    });
    if let Err(error) = read {
        run.set_input_error(error);
    }
}

/// The thread of core `index`.
fn work(run: &Arc<RunState>, index: usize) -> Summary {
    /// Notes the end of the core however it comes.
    struct NoteEnd<'a>(&'a RunState, usize);
    impl Drop for NoteEnd<'_> {
        fn drop(&mut self) {
            self.0.core_ended(self.1);
        }
    }
    let _at_the_end = NoteEnd(run, index);
    core::work(run, index).unwrap_or_else(|error| {
        run.stop(EndCause::Core(error));
        Summary::default()
    })
}

/// The thread of the writer.
fn write(run: &RunState, sink: Sink) -> io::Result<()> {
    let written = run.output.write_to(sink, || run.ring_all());
    if written.is_err() {
        run.stop(EndCause::Output);
    }
    run.written.notify_one();
    written
}

/// Waits for the last line to be written, and for reasons to end the run before.
async fn watch(run: &RunState, mut signals: Signals, progress: Option<&Progress>) {
    let begin = Instant::now();
    let mut ticks = interval(PROGRESS_EVERY);
    let mut interrupted = None;
    loop {
        let time_over = async {
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
                if first.elapsed() >= SAME_SIGNAL && number != signals::HANGUP {
                    exit(i32::from(Failure::Signal(number).exit_code()));
                }
                run.stop(EndCause::Signal(number));
            }
            () = time_over => run.stop(EndCause::Duration),
            _ = ticks.tick(), if progress.is_some() => {
                if let Some(progress) = progress {
                    progress.show(run);
                }
            }
        }
    }
}
