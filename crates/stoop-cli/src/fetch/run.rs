//! A run from its first thread to its last line: reader, cores and writer, and the main thread,
//! which waits for signals, the clock, and the end.

use std::future::pending;
use std::io::{self, ErrorKind};
use std::process::exit;
use std::sync::atomic::{AtomicIsize, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, interval, sleep_until};

use super::core;
use super::exchange::Exchanges;
use super::input::{self, InputGauge};
use super::lane::Lane;
use super::output::{Output, Sink};
use super::permits::Permits;
use super::plan::{Plan, Source};
use super::progress::Progress;
use super::source::{Input, Reader, Stop};
use crate::failure::Failure;
use crate::signals::{self, Signals};
use crate::streams;
use crate::summary::Summary;

/// How often the progress display changes.
const PROGRESS_EVERY: Duration = Duration::from_millis(100);

/// What comes so soon after a signal is the same: `timeout` sends each to its child and then to the
/// group that the child is of.
const SAME_SIGNAL: Duration = Duration::from_millis(100);

/// What the threads of a run share.
pub(super) struct Run {
    pub(super) plan: Plan,
    pub(super) exchanges: Exchanges,
    pub(super) lanes: Vec<Lane>,
    pub(super) permits: Permits,
    pub(super) output: Output,
    pub(super) input: InputGauge,
    pub(super) gauges: Vec<Gauge>,
    /// URLs the client held beyond their deadline.
    pub(super) overdue: AtomicU64,
    stop: Stop,
    cause: Mutex<Option<Cause>>,
    input_error: Mutex<Option<io::Error>>,
    cores_left: AtomicUsize,
    written: Notify,
}

/// How far one core is. Written by that core alone; a line of cache to itself.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(super) struct Gauge {
    pub(super) done: AtomicU64,
    pub(super) errors: AtomicU64,
    pub(super) in_flight: AtomicIsize,
}

/// Why a run ended before its input did.
#[derive(Debug)]
pub(super) enum Cause {
    Signal(u8),
    /// The time of `--duration` was over.
    Duration,
    /// Lines could not be written; the writer says why.
    Output,
    /// A core could not begin.
    Core(io::Error),
}

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
    let run = Arc::new(Run::new(plan, exchanges, total_bytes));
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
    run.spawn("stoop-tls", |run| run.exchanges.warm_up()).map_err(cannot_start)?;
    let writer = run.spawn("stoop-write", move |run| run.write(sink)).map_err(cannot_start)?;
    let cores: Result<Vec<_>, _> = (0..run.plan.cores)
        .map(|index| run.spawn("stoop-core", move |run| run.core(index)))
        .collect();
    let cores = cores.map_err(cannot_start)?;
    // Never waited for: it may sleep in a read, however much is done against that.
    run.spawn("stoop-read", move |run| run.read(input)).map_err(cannot_start)?;

    control.block_on(run.watch(signals, progress.as_ref()));
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

    let input_error = take(&run.input_error);
    let result = match (take(&run.cause), &written) {
        // What ended us may have ended our reader with us, or the terminal.
        (Some(Cause::Signal(number)), Err(error)) if is_gone(error) => Err(Failure::Signal(number)),
        (_, Err(error)) => Err(cannot_write(error)),
        (Some(Cause::Signal(number)), Ok(())) => Err(Failure::Signal(number)),
        (Some(Cause::Core(error)), Ok(())) => Err(cannot_start(error)),
        (Some(Cause::Duration | Cause::Output) | None, Ok(())) => match input_error {
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

fn take<T>(place: &Mutex<Option<T>>) -> Option<T> {
    place.lock().unwrap_or_else(PoisonError::into_inner).take()
}

impl Run {
    fn new(plan: Plan, exchanges: Exchanges, total_bytes: u64) -> Self {
        let cores = plan.cores;
        Self {
            lanes: (0..cores).map(|_| Lane::default()).collect(),
            permits: Permits::new(plan.concurrency, cores),
            output: Output::default(),
            input: InputGauge { total_bytes: total_bytes.into(), ..InputGauge::default() },
            gauges: (0..cores).map(|_| Gauge::default()).collect(),
            overdue: AtomicU64::new(0),
            stop: Stop::default(),
            cause: Mutex::new(None),
            input_error: Mutex::new(None),
            cores_left: AtomicUsize::new(cores),
            written: Notify::new(),
            exchanges,
            plan,
        }
    }

    pub(super) fn is_stopping(&self) -> bool {
        self.stop.is_asked()
    }

    /// Ends the run: what is unfinished is answered as cancelled. The first cause counts.
    fn stop(&self, cause: Cause) {
        self.cause.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(cause);
        self.stop.ask();
        self.ring_all();
    }

    fn ring_all(&self) {
        self.lanes.iter().for_each(Lane::ring);
    }

    fn spawn<T: Send + 'static>(
        self: &Arc<Self>,
        name: &str,
        work: impl FnOnce(&Arc<Self>) -> T + Send + 'static,
    ) -> io::Result<JoinHandle<T>> {
        let run = Arc::clone(self);
        thread::Builder::new().name(name.to_owned()).spawn(move || work(&run))
    }

    fn read(&self, input: Input) {
        /// Without a reader the cores must come to an end, whatever became of it.
        struct NoMore<'a>(&'a [Lane]);
        impl Drop for NoMore<'_> {
            fn drop(&mut self) {
                self.0.iter().for_each(Lane::close);
            }
        }
        let _at_the_end = NoMore(&self.lanes);
        let read = Reader::new(input, &self.stop).and_then(|source| {
            let warm_up = || self.exchanges.warm_up();
            input::feed(source, self.plan.limit, &self.lanes, &self.input, &self.stop, warm_up)
        });
        if let Err(error) = read {
            *self.input_error.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
        }
    }

    fn core(self: &Arc<Self>, index: usize) -> Summary {
        /// Neither the reader nor the writer must wait for a core that is gone.
        struct Gone<'a>(&'a Run, usize);
        impl Drop for Gone<'_> {
            fn drop(&mut self) {
                self.0.lanes[self.1].close();
                if self.0.cores_left.fetch_sub(1, std::sync::atomic::Ordering::AcqRel) == 1 {
                    self.0.output.close();
                }
            }
        }
        let _at_the_end = Gone(self, index);
        core::work(self, index).unwrap_or_else(|error| {
            self.stop(Cause::Core(error));
            Summary::default()
        })
    }

    fn write(&self, sink: Sink) -> io::Result<()> {
        let written = self.output.write_to(sink, || self.ring_all());
        if written.is_err() {
            self.stop(Cause::Output);
        }
        self.written.notify_one();
        written
    }

    /// Waits for the last line to be written, and for reasons to end the run before.
    async fn watch(&self, mut signals: Signals, progress: Option<&Progress>) {
        let begin = Instant::now();
        let mut ticks = interval(PROGRESS_EVERY);
        let mut interrupted = None;
        loop {
            let time_over = async {
                match self.plan.duration {
                    Some(duration) if !self.is_stopping() => sleep_until(begin + duration).await,
                    _ => pending().await,
                }
            };
            tokio::select! {
                biased;
                () = self.written.notified() => return,
                number = signals.next() => {
                    let first = *interrupted.get_or_insert_with(Instant::now);
                    if first.elapsed() >= SAME_SIGNAL && number != signals::HANGUP {
                        exit(i32::from(Failure::Signal(number).exit_code()));
                    }
                    self.stop(Cause::Signal(number));
                }
                () = time_over => self.stop(Cause::Duration),
                _ = ticks.tick(), if progress.is_some() => {
                    if let Some(progress) = progress {
                        progress.show(self);
                    }
                }
            }
        }
    }
}
