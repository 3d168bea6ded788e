//! The threads of a run: the reader, the workers and the writer.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::thread::{self, JoinHandle};

use crate::distribute::{Reading, distribute};
use crate::format::RecordFormat;
use crate::guarded::guarded;
use crate::journal::Numbering;
use crate::lane::Lane;
use crate::run_state::RunState;
use crate::sink::{Guarded, RecordSink};
use crate::source::JobSource;
use crate::summary::Summary;
use crate::worker;

/// Starts a thread of the run.
pub(super) fn spawn<T: Send + 'static>(
    run: &Arc<RunState>,
    name: &str,
    work: impl FnOnce(&Arc<RunState>) -> T + Send + 'static,
) -> io::Result<JoinHandle<T>> {
    let run = Arc::clone(run);
    thread::Builder::new().name(name.to_owned()).spawn(move || work(&run))
}

/// The thread of the reader.
pub(super) fn run_reader(
    run: &RunState,
    mut source: Box<dyn JobSource>,
    numbering: Option<Numbering>,
) {
    /// Closes the lanes however the reader ends, so that the workers come to an end without it.
    struct CloseLanes<'a>(&'a [Lane]);
    impl Drop for CloseLanes<'_> {
        fn drop(&mut self) {
            self.0.iter().for_each(Lane::close);
        }
    }
    let lanes = run.intake();
    let _close_lanes = CloseLanes(lanes);
    let warm_up = || run.fetchers.warm_up();
    let limit = run.settings.limit;
    // There is one lane alone where they are sorted later.
    let politeness = run.settings.politeness.as_ref().filter(|_| run.by_address.is_none());
    let group = politeness.map(|politeness| politeness.group);
    let reading = Reading { limit, group, numbering };
    let source = source.as_mut();
    // Whatever panics here is an error, because the source may have had more.
    let read = guarded("the source", || {
        distribute(source, reading, lanes, &run.input, &run.stop, warm_up)
    });
    match read {
        Ok(()) => run.is_input_ended.store(true, Relaxed),
        Err(error) => run.set_input_error(error),
    }
}

/// The thread of worker `index`.
pub(super) fn run_worker<F: RecordFormat>(run: &Arc<RunState>, index: usize, format: F) -> Summary {
    /// Notes the end of the worker however it comes.
    struct NoteEnd<'a>(&'a RunState, usize);
    impl Drop for NoteEnd<'_> {
        fn drop(&mut self) {
            self.0.worker_ended(self.1);
        }
    }
    let _note_end = NoteEnd(run, index);
    worker::work(run, index, format).unwrap_or_else(|error| {
        run.worker_failed(error);
        Summary::default()
    })
}

/// The thread of the writer.
pub(super) fn run_writer(run: &RunState, sink: impl RecordSink, end: &[u8]) -> io::Result<()> {
    let mut sink = Guarded(sink);
    let written = run.output.write_to(&mut sink, || run.wake_workers());
    let written = written
        .and_then(|()| sink.end(end, run.is_input_ended.load(Relaxed) && !run.is_stopping()));
    if written.is_err() {
        run.stop();
    }
    run.written.notify_one();
    written
}
