//! The log of a simulated connection: what was sent and delivered.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use bytes::Bytes;

use crate::timer::now;

/// A direction of a simulated connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// From the first end of the pair to the second.
    There,
    /// From the second to the first.
    Back,
}

/// One write that a connection accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Write {
    /// The time since the connection was made.
    pub at: Duration,
    /// The bytes of the write.
    pub bytes: Bytes,
}

/// The log of a simulated connection, in both directions. It records until the last clone is dropped.
#[derive(Clone)]
pub struct SimLog {
    start: Instant,
    lines: Arc<Mutex<[DirectionRecord; 2]>>,
}

#[derive(Default)]
struct DirectionRecord {
    writes: Vec<Write>,
    delivered: Vec<u8>,
}

impl SimLog {
    /// All bytes that were sent this way, also those that never arrived.
    pub fn sent(&self, way: Way) -> Bytes {
        self.lock()[way as usize].writes.iter().flat_map(|write| write.bytes.clone()).collect()
    }

    /// The writes that were accepted this way: what leaves in one call is one.
    pub fn writes(&self, way: Way) -> Vec<Write> {
        self.lock()[way as usize].writes.clone()
    }

    /// All bytes that were received at the end of this way.
    pub fn delivered(&self, way: Way) -> Bytes {
        Bytes::copy_from_slice(&self.lock()[way as usize].delivered)
    }

    pub(super) fn new(start: Instant) -> Self {
        Self { start, lines: Arc::default() }
    }

    /// A writer to this log, for the directions of the connection.
    pub(super) fn writer(&self) -> LogWriter {
        LogWriter { start: self.start, lines: Arc::downgrade(&self.lines) }
    }

    fn lock(&self) -> MutexGuard<'_, [DirectionRecord; 2]> {
        lock(&self.lines)
    }
}

fn lock(lines: &Mutex<[DirectionRecord; 2]>) -> MutexGuard<'_, [DirectionRecord; 2]> {
    lines.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Writes to a log for as long as the log exists: what passes after it was dropped is not kept.
#[derive(Clone)]
pub(super) struct LogWriter {
    start: Instant,
    lines: Weak<Mutex<[DirectionRecord; 2]>>,
}

impl LogWriter {
    pub(super) fn note_sent(&self, way: Way, bytes: &[u8]) {
        if let Some(lines) = self.lines.upgrade() {
            let bytes = Bytes::copy_from_slice(bytes);
            lock(&lines)[way as usize].writes.push(Write { at: now() - self.start, bytes });
        }
    }

    pub(super) fn note_delivered(&self, way: Way, bytes: &[u8]) {
        if let Some(lines) = self.lines.upgrade() {
            lock(&lines)[way as usize].delivered.extend_from_slice(bytes);
        }
    }
}

/// The conversation, a line for each write: `+0.100s > GET / HTTP/1.1\r\n`.
impl fmt::Display for SimLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines = self.lock();
        let mut all: Vec<_> = ['>', '<']
            .into_iter()
            .zip(&*lines)
            .flat_map(|(way, lines)| lines.writes.iter().map(move |write| (way, write)))
            .collect();
        all.sort_by_key(|(_, write)| write.at);
        for (way, write) in all {
            let seconds = write.at.as_secs_f64();
            writeln!(f, "+{seconds:.3}s {way} {}", write.bytes.escape_ascii())?;
        }
        Ok(())
    }
}
