//! The queue of lines, and the thread that writes them.
//!
//! Each core has a queue of its own, which it appends to; the thread takes all of a queue by swapping it for an empty
//! one, so that nothing that a core waits for happens under a lock.

use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::collect::keep_used;
use super::entry::LogEntry;
use super::format::LogFormat;
use crate::shards::Shards;

/// Bytes of lines that may wait of each core: some three thousand lines of JSON, and a writer that stands still for
/// long must not fill the memory.
pub(super) const QUEUE_BYTES_MAX: usize = 1024 * 1024;

/// Bytes in a queue for which the thread is woken before its time. Measured, a line in a write of so many costs a file
/// an eighth less than in one of 64 KiB, and the change to the thread is paid once a thousand lines.
const WAKE_BYTES: usize = 256 * 1024;

/// How long a line waits at most before it is written.
const FLUSH_INTERVAL: Duration = Duration::from_secs(1);

/// What a caller gives to write to.
pub(super) type Writer = Box<dyn Write + Send>;

#[derive(Default)]
struct Queue {
    lines: Vec<u8>,
    /// The thread was woken for it already.
    is_told: bool,
}

#[derive(Default)]
struct Progress {
    /// Passes over all queues that were begun, and ended.
    begun: u64,
    ended: u64,
    /// The thread is to make a pass now.
    is_wanted: bool,
    /// The thread is to make a last one.
    is_over: bool,
    /// The thread is gone.
    is_gone: bool,
}

/// What the middleware and the thread share.
pub(super) struct LogShared {
    pub(super) format: LogFormat,
    pub(super) queue_bytes_max: AtomicUsize,
    queues: Shards<Queue>,
    progress: Mutex<Progress>,
    changed: Condvar,
    replacement: Mutex<Option<Writer>>,
    dropped: AtomicU64,
    failures: AtomicU64,
}

impl LogShared {
    pub(super) fn new(format: LogFormat, queue_bytes_max: usize, writer: Writer) -> Self {
        Self {
            format,
            queue_bytes_max: AtomicUsize::new(queue_bytes_max),
            queues: Shards::new(),
            progress: Mutex::default(),
            changed: Condvar::new(),
            replacement: Mutex::new(Some(writer)),
            dropped: AtomicU64::new(0),
            failures: AtomicU64::new(0),
        }
    }

    /// Queues the line of an entry, or counts it where there is no room.
    pub(super) fn put(&self, entry: Box<LogEntry>) {
        let max = self.queue_bytes_max.load(Ordering::Relaxed);
        let mut queue = self.queues.mine();
        let len = queue.lines.len();
        let is_put = len < max && self.format.put(&entry, &mut queue.lines);
        if !is_put || queue.lines.len() > max {
            queue.lines.truncate(len);
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
        keep_used(entry);
        let wakes = queue.lines.len() >= WAKE_BYTES.min(max / 2);
        if wakes && !std::mem::replace(&mut queue.is_told, true) {
            drop(queue);
            self.progress().is_wanted = true;
            self.changed.notify_all();
        }
    }

    fn progress(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn replacement(&self) -> MutexGuard<'_, Option<Writer>> {
        self.replacement.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The work of the thread: a pass each second, or when one is wanted.
    fn run(&self) {
        let Some(mut writer) = self.replacement().take() else { return };
        let mut lines = Vec::new();
        loop {
            let is_over = {
                let mut progress = self.progress();
                if !progress.is_wanted && !progress.is_over {
                    let waited = self.changed.wait_timeout(progress, FLUSH_INTERVAL);
                    progress = waited.unwrap_or_else(PoisonError::into_inner).0;
                }
                progress.is_wanted = false;
                progress.begun += 1;
                progress.is_over
            };
            // What was queued before the writer was replaced goes to the old one.
            let next = self.replacement().take();
            let write = || self.write_all(&mut writer, &mut lines);
            if catch_unwind(AssertUnwindSafe(write)).is_err() {
                self.failures.fetch_add(1, Ordering::Relaxed);
                lines.clear();
            }
            if let Some(next) = next {
                writer = next;
            }
            let mut progress = self.progress();
            progress.ended = progress.begun;
            progress.is_gone = is_over;
            drop(progress);
            self.changed.notify_all();
            if is_over {
                return;
            }
        }
    }

    /// Writes what is in the queues.
    fn write_all(&self, writer: &mut Writer, lines: &mut Vec<u8>) {
        let mut has_written = false;
        for mut queue in self.queues.all() {
            queue.is_told = false;
            if queue.lines.is_empty() {
                continue;
            }
            std::mem::swap(&mut queue.lines, lines);
            drop(queue);
            has_written = true;
            if writer.write_all(lines).is_err() {
                self.failures.fetch_add(1, Ordering::Relaxed);
            }
            lines.clear();
        }
        if has_written && writer.flush().is_err() {
            self.failures.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// The owner of the thread, which ends when it is dropped: by the log, its handles and the exchanges whose lines are to
/// come.
pub(super) struct LogOwner {
    pub(super) shared: Arc<LogShared>,
    thread: Option<JoinHandle<()>>,
}

impl LogOwner {
    /// Starts the thread. Without one, lines are dropped and counted.
    pub(super) fn start(shared: Arc<LogShared>) -> Self {
        let work = shared.clone();
        let named = thread::Builder::new().name("stoop-access-log".to_owned());
        let thread = named.spawn(move || work.run()).ok();
        Self { shared, thread }
    }
}

impl Drop for LogOwner {
    /// The thread writes what is queued and ends. It is not waited for: a writer may stand still, as a pipe that is not
    /// read does, and the last owner may be dropped on a core.
    fn drop(&mut self) {
        self.shared.progress().is_over = true;
        self.shared.changed.notify_all();
    }
}

/// A handle of an [`AccessLog`](super::AccessLog), for the program around the server.
#[derive(Clone)]
pub struct LogHandle(pub(super) Arc<LogOwner>);

impl LogHandle {
    /// Writes to `writer` from now on: after logrotate has renamed the file, open it again and give it here. Lines that
    /// were queued before may go to either; each goes to one, whole. The old writer is flushed and dropped, which is waited
    /// for: it blocks as [`flush`](Self::flush) does.
    pub fn replace(&self, writer: impl Write + Send + 'static) {
        *self.0.shared.replacement() = Some(Box::new(writer));
        self.flush();
    }

    /// Waits until everything that was queued before has been written and flushed: at the end of a program. It blocks,
    /// and so does not belong in a handler.
    pub fn flush(&self) {
        let shared = &self.0.shared;
        let mut progress = shared.progress();
        // The pass that runs may have been at a queue already.
        let pass = progress.begun + 1;
        while progress.ended < pass && !progress.is_gone {
            if self.0.thread.as_ref().is_none_or(JoinHandle::is_finished) {
                return;
            }
            progress.is_wanted = true;
            shared.changed.notify_all();
            let waited = shared.changed.wait_timeout(progress, FLUSH_INTERVAL);
            progress = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// How many lines were dropped because the queue was full, or the function that writes them has panicked.
    pub fn dropped_lines(&self) -> u64 {
        self.0.shared.dropped.load(Ordering::Relaxed)
    }

    /// How often the writer has failed, or panicked; what it was to write is lost then.
    pub fn write_failures(&self) -> u64 {
        self.0.shared.failures.load(Ordering::Relaxed)
    }
}

impl std::fmt::Debug for LogHandle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LogHandle")
            .field("dropped_lines", &self.dropped_lines())
            .finish_non_exhaustive()
    }
}
