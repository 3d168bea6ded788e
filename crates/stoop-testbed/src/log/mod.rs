//! What the servers saw: a line for each exchange, connection and name.
//!
//! A client's own clock cannot be the judge of its deadlines. These lines are: for each URL they
//! hold the first sign of it (a DNS query, or a connection) and the last (the answer's end, or the
//! client's close). [`Spans`] joins them.

mod entry;
mod spans;
mod text;

use std::fmt::{self, Write as _};
use std::io::{self, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

pub use entry::{Ended, Entry, Kind};
pub use spans::{Span, Spans};
pub use text::{COLUMNS, Malformed};

/// How many entries a log in memory keeps; later ones are only counted.
pub const MEMORY_ENTRIES_MAX: usize = 100_000;

/// Where the lines go. Cheap to clone: all clones are the same log.
#[derive(Clone)]
pub struct Log(Arc<Inner>);

struct Inner {
    start: Instant,
    started: jiff::Timestamp,
    sink: Mutex<Sink>,
}

enum Sink {
    None,
    Memory { entries: Vec<Entry>, lost: u64 },
    Text { writer: Box<dyn Write + Send>, line: String, failed: Option<io::Error> },
}

impl Log {
    /// A log that forgets everything.
    pub fn none() -> Self {
        Self::new(Sink::None)
    }

    /// A log in memory, for tests: see [`Log::entries`]. Keeps the first [`MEMORY_ENTRIES_MAX`].
    pub fn memory() -> Self {
        Self::new(Sink::Memory { entries: Vec::new(), lost: 0 })
    }

    /// A log written as text: the line [`COLUMNS`], then one line an entry, the first of which is
    /// [`Kind::Start`]. Each line is one call of `write`, so give it something buffered.
    ///
    /// # Errors
    /// What `writer` says to the first two lines. Later failures are kept for [`Log::flush`].
    pub fn text(writer: impl Write + Send + 'static) -> io::Result<Self> {
        let log =
            Self::new(Sink::Text { writer: Box::new(writer), line: String::new(), failed: None });
        if let Sink::Text { writer, .. } = &mut *log.sink() {
            writeln!(writer, "{COLUMNS}")?;
            writeln!(writer, "{}", log.mark(Kind::Start))?;
        }
        Ok(log)
    }

    fn new(sink: Sink) -> Self {
        let started = jiff::Timestamp::now();
        Self(Arc::new(Inner { start: Instant::now(), started, sink: Mutex::new(sink) }))
    }

    /// The time of day the log began, as RFC 3339: what 0 ms means.
    pub fn started(&self) -> String {
        self.0.started.to_string()
    }

    /// The time since the log began.
    pub fn now(&self) -> Duration {
        self.0.start.elapsed()
    }

    /// What a log in memory holds; empty for any other.
    pub fn entries(&self) -> Vec<Entry> {
        match &*self.sink() {
            Sink::Memory { entries, .. } => entries.clone(),
            _ => Vec::new(),
        }
    }

    /// How many entries did not fit into a log in memory.
    pub fn lost(&self) -> u64 {
        match &*self.sink() {
            Sink::Memory { lost, .. } => *lost,
            _ => 0,
        }
    }

    /// Hands everything written so far to whoever is behind the writer.
    ///
    /// # Errors
    /// The first failure to write since the last call, or that of flushing.
    pub fn flush(&self) -> io::Result<()> {
        match &mut *self.sink() {
            Sink::Text { writer, failed, .. } => failed.take().map_or_else(|| writer.flush(), Err),
            _ => Ok(()),
        }
    }

    /// A line of the log's own, [`Kind::Start`] or [`Kind::Stop`].
    pub(crate) fn mark(&self, kind: Kind) -> Entry {
        let at = if kind == Kind::Start { Duration::ZERO } else { self.now() };
        Entry {
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
            ended: Ended::Complete,
            target: if kind == Kind::Start { self.started() } else { String::new() },
        }
    }

    pub(crate) fn add(&self, entry: Entry) {
        match &mut *self.sink() {
            Sink::None => {}
            Sink::Memory { entries, lost } if entries.len() >= MEMORY_ENTRIES_MAX => *lost += 1,
            Sink::Memory { entries, .. } => entries.push(entry),
            Sink::Text { writer, line, failed } => {
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
    fn sink(&self) -> MutexGuard<'_, Sink> {
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
    struct Shared(Arc<Mutex<Vec<u8>>>);

    impl Write for Shared {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_text_log_begins_with_its_columns_and_its_time() {
        let text = Shared::default();
        let log = Log::text(text.clone()).unwrap();
        log.add(log.mark(Kind::Stop));
        log.flush().unwrap();
        let text = String::from_utf8(text.0.lock().unwrap().clone()).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], COLUMNS);
        let start: Entry = lines[1].parse().unwrap();
        assert_eq!((start.kind, start.target), (Kind::Start, log.started()));
        assert_eq!(lines[2].parse::<Entry>().unwrap().kind, Kind::Stop);
    }

    #[test]
    fn a_log_in_memory_is_bounded() {
        let log = Log::memory();
        for _ in 0..MEMORY_ENTRIES_MAX + 2 {
            log.add(log.mark(Kind::Stop));
        }
        assert_eq!((log.entries().len(), log.lost()), (MEMORY_ENTRIES_MAX, 2));
    }
}
