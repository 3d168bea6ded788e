//! The log of the servers: a line for each exchange, connection and DNS query.
//!
//! A client's own clock cannot prove that it keeps its deadlines. The log can: for each URL it holds
//! the first sign of it (a DNS query, or a connection) and the last (the end of the response, or the
//! client's close). [`Spans`] joins them.

mod entry;
mod spans;
mod text;

use std::fmt::{self, Write as _};
use std::io::{self, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

pub use entry::{EntryEnd, EntryKind, LogEntry};
pub use spans::{LogSpan, Spans};
pub use text::{COLUMNS, MalformedEntry};

/// How many entries a log in memory keeps; later ones are only counted.
pub const MEMORY_ENTRIES_MAX: usize = 100_000;

/// A log. Cheap to clone: all clones are the same log.
#[derive(Clone)]
pub struct Log(Arc<LogState>);

struct LogState {
    start: Instant,
    started: jiff::Timestamp,
    sink: Mutex<LogSink>,
}

enum LogSink {
    None,
    Memory { entries: Vec<LogEntry>, lost: u64 },
    Text { writer: Box<dyn Write + Send>, line: String, failed: Option<io::Error> },
}

impl Log {
    /// A log that forgets everything.
    pub fn none() -> Self {
        Self::new(LogSink::None)
    }

    /// A log in memory, for tests: see [`Log::entries`]. Keeps the first [`MEMORY_ENTRIES_MAX`].
    pub fn memory() -> Self {
        Self::new(LogSink::Memory { entries: Vec::new(), lost: 0 })
    }

    /// A log written as text: the line [`COLUMNS`], then one line an entry, the first of which is
    /// [`EntryKind::Start`]. Each line is one call of `write`, so give it something buffered.
    ///
    /// # Errors
    /// If `writer` fails for the first two lines. Later failures are kept for [`Log::flush`].
    pub fn text(writer: impl Write + Send + 'static) -> io::Result<Self> {
        let log = Self::new(LogSink::Text {
            writer: Box::new(writer),
            line: String::new(),
            failed: None,
        });
        if let LogSink::Text { writer, .. } = &mut *log.sink() {
            writeln!(writer, "{COLUMNS}")?;
            writeln!(writer, "{}", log.mark(EntryKind::Start))?;
        }
        Ok(log)
    }

    fn new(sink: LogSink) -> Self {
        let started = jiff::Timestamp::now();
        Self(Arc::new(LogState { start: Instant::now(), started, sink: Mutex::new(sink) }))
    }

    /// The time of day the log began, as RFC 3339: what 0 ms means.
    pub fn started(&self) -> String {
        self.0.started.to_string()
    }

    /// The time since the log began.
    pub fn now(&self) -> Duration {
        self.0.start.elapsed()
    }

    /// The entries of a log in memory; empty for any other.
    pub fn entries(&self) -> Vec<LogEntry> {
        match &*self.sink() {
            LogSink::Memory { entries, .. } => entries.clone(),
            _ => Vec::new(),
        }
    }

    /// How many entries did not fit into a log in memory.
    pub fn lost(&self) -> u64 {
        match &*self.sink() {
            LogSink::Memory { lost, .. } => *lost,
            _ => 0,
        }
    }

    /// Flushes the writer.
    ///
    /// # Errors
    /// The first failure to write since the last call, or that of flushing.
    pub fn flush(&self) -> io::Result<()> {
        match &mut *self.sink() {
            LogSink::Text { writer, failed, .. } => {
                failed.take().map_or_else(|| writer.flush(), Err)
            }
            _ => Ok(()),
        }
    }

    /// A line of the log's own, [`EntryKind::Start`] or [`EntryKind::Stop`].
    pub(crate) fn mark(&self, kind: EntryKind) -> LogEntry {
        let at = if kind == EntryKind::Start { Duration::ZERO } else { self.now() };
        LogEntry {
            kind,
            url: None,
            host: String::new(),
            connection: None,
            accepted: at,
            begin: at,
            head: None,
            end: at,
            sent: 0,
            status: None,
            ended: EntryEnd::Complete,
            target: if kind == EntryKind::Start { self.started() } else { String::new() },
        }
    }

    pub(crate) fn add(&self, entry: LogEntry) {
        match &mut *self.sink() {
            LogSink::None => {}
            LogSink::Memory { entries, lost } if entries.len() >= MEMORY_ENTRIES_MAX => *lost += 1,
            LogSink::Memory { entries, .. } => entries.push(entry),
            LogSink::Text { writer, line, failed } => {
                line.clear();
                // Writing to a string cannot fail.
                let _ = writeln!(line, "{entry}");
                if let Err(error) = writer.write_all(line.as_bytes()) {
                    failed.get_or_insert(error);
                }
            }
        }
    }

    /// A panic while writing a line leaves at worst a torn line: the log stays usable.
    fn sink(&self) -> MutexGuard<'_, LogSink> {
        self.0.sink.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for Log {
    fn default() -> Self {
        Self::none()
    }
}

impl fmt::Debug for Log {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Log").field("started", &self.0.started).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A writer whose content can be looked at.
    #[derive(Clone, Default)]
    struct SharedBuffer(Arc<Mutex<Vec<u8>>>);

    impl Write for SharedBuffer {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_text_log_begins_with_its_columns_and_its_time() {
        let text = SharedBuffer::default();
        let log = Log::text(text.clone()).unwrap();
        log.add(log.mark(EntryKind::Stop));
        log.flush().unwrap();
        let text = String::from_utf8(text.0.lock().unwrap().clone()).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], COLUMNS);
        let start: LogEntry = lines[1].parse().unwrap();
        assert_eq!((start.kind, start.target), (EntryKind::Start, log.started()));
        assert_eq!(lines[2].parse::<LogEntry>().unwrap().kind, EntryKind::Stop);
    }

    #[test]
    fn a_log_in_memory_is_bounded() {
        let log = Log::memory();
        for _ in 0..MEMORY_ENTRIES_MAX + 2 {
            log.add(log.mark(EntryKind::Stop));
        }
        assert_eq!((log.entries().len(), log.lost()), (MEMORY_ENTRIES_MAX, 2));
    }
}
