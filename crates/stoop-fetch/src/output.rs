//! The buffer from which records are written: in order of completion, never torn, and never more of them in
//! memory than a slow reader of the output justifies.
//!
//! Workers append to one buffer; one thread writes it. The thread waits a little between a line's
//! arrival and the write, so that a fast run costs a hundred wake-ups a second, and not one a line. Long content is not
//! copied to the buffer: it is written from where it is, and its memory is free before the next is written.

mod parts;

use std::io;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use self::parts::PlacedContent;
pub(crate) use self::parts::RecordParts;
use crate::capture::Reservation;
use crate::sink::{Done, RecordSink};

/// Lines wait this long for others to share a write.
const GATHER_TIME: Duration = Duration::from_millis(10);

/// Content up to this length is copied among the lines: in a write of its own it would cost more.
const COPIED_BYTES_MAX: usize = 64 << 10;

/// From how many bytes on something is done.
#[derive(Clone, Copy, Debug)]
struct Bounds {
    /// The writer does not wait for more.
    write_at: usize,
    /// No URL is started while this much waits.
    full: usize,
}

impl Bounds {
    /// About 4,000 lines.
    const LINES: Self = Self { write_at: 128 << 10, full: 256 << 10 };
    /// Of content the same would be some 25 pages, fewer than are in flight.
    const CONTENT: Self = Self { write_at: 512 << 10, full: 1 << 20 };
}

impl Default for Bounds {
    fn default() -> Self {
        Self::LINES
    }
}

/// The lines of all workers that are not written yet.
#[derive(Debug, Default)]
pub(crate) struct OutputBuffer {
    bounds: Bounds,
    state: Mutex<OutputState>,
    /// Wakes the writer: there are lines, enough of them to write at once, or the end.
    writer_wake: Condvar,
    is_full: AtomicBool,
}

#[derive(Debug, Default)]
struct OutputState {
    waiting: Records,
    /// No lines will follow.
    is_closed: bool,
    /// The writer ended; lines are discarded.
    is_discarding: bool,
    is_writer_asleep: bool,
}

/// Records that are not written yet.
#[derive(Debug, Default)]
struct Records {
    lines: Vec<u8>,
    /// The memory of content that is among the lines.
    reservations: Vec<Arc<Reservation>>,
    /// The content that belongs among the lines, in its order.
    contents: Vec<PlacedContent>,
    content_bytes: usize,
    /// The jobs that are done with all of them, where a journal is kept of them.
    done: Vec<Done>,
}

impl OutputBuffer {
    /// The buffer of records that have content, or are lines.
    pub(crate) fn new(has_content: bool) -> Self {
        let bounds = if has_content { Bounds::CONTENT } else { Bounds::LINES };
        Self { bounds, ..Self::default() }
    }

    /// Adds a whole record, or several, with the memory that is reserved for them until they are written. Never blocks: a
    /// URL in flight can always be answered. `done` is the record's job, where a journal is kept; it may have no record.
    pub(crate) fn append(
        &self,
        record: RecordParts<'_>,
        reservation: Option<Arc<Reservation>>,
        done: Option<Done>,
    ) {
        let mut state = self.lock();
        if state.is_discarding {
            return;
        }
        let waiting = &mut state.waiting;
        let before = waiting.len();
        waiting.done.extend(done);
        let (before_content, after_content) = record.around_content();
        waiting.lines.extend_from_slice(before_content);
        // Its memory is given back behind the lock.
        let mut copied = None;
        match record.content {
            Some((_, bytes)) if bytes.len() > COPIED_BYTES_MAX => {
                let at = waiting.lines.len();
                waiting.content_bytes += bytes.len();
                waiting.contents.push(PlacedContent { at, bytes, reservation });
            }
            content => {
                waiting.lines.extend_from_slice(content.as_ref().map_or(&[], |(_, bytes)| bytes));
                waiting.reservations.extend(reservation);
                copied = content;
            }
        }
        waiting.lines.extend_from_slice(after_content);
        let now = waiting.len();
        if now >= self.bounds.full {
            self.is_full.store(true, Relaxed);
        }
        let is_due = before < self.bounds.write_at && now >= self.bounds.write_at;
        let wake = std::mem::take(&mut state.is_writer_asleep) || is_due;
        drop(state);
        drop(copied);
        if wake {
            self.writer_wake.notify_one();
        }
    }

    /// Whether so much waits to be written that no URL should start. The workers are woken when that ends.
    pub(crate) fn is_full(&self) -> bool {
        self.is_full.load(Relaxed)
    }

    /// Closes the buffer: all lines have been added.
    pub(crate) fn close(&self) {
        self.lock().is_closed = true;
        self.writer_wake.notify_one();
    }

    /// Writes the lines that are added until the buffer is closed or a write fails. `has_room` is called
    /// when a full buffer is not full any more, and when reserved memory was given back.
    pub(crate) fn write_to(
        &self,
        sink: &mut impl RecordSink,
        has_room: impl Fn(),
    ) -> io::Result<()> {
        let mut records = Records::default();
        let result = loop {
            let more = self.wait_for_records(&mut records);
            if self.is_full.swap(false, Relaxed) {
                has_room();
            }
            if !more {
                break Ok(());
            }
            if let Err(error) = records.write_to(sink, &has_room) {
                break Err(error);
            }
            if !records.reservations.is_empty() {
                records.reservations.clear();
                has_room();
            }
        };
        let mut state = self.lock();
        state.is_discarding = true;
        state.waiting = Records::default();
        drop(state);
        // A full buffer that is discarded has room, too.
        if self.is_full.swap(false, Relaxed) {
            has_room();
        }
        result
    }

    /// Waits for records, and swaps `records` for them; false at the end.
    fn wait_for_records(&self, records: &mut Records) -> bool {
        records.lines.clear();
        records.done.clear();
        records.lines.shrink_to(4 * self.bounds.full);
        let mut state = self.lock();
        while state.waiting.is_empty() && !state.is_closed {
            state.is_writer_asleep = true;
            state = self.writer_wake.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        let is_gathering = |state: &mut OutputState| {
            !state.is_closed && state.waiting.len() < self.bounds.write_at
        };
        if is_gathering(&mut state) {
            let waited = self.writer_wake.wait_timeout_while(state, GATHER_TIME, is_gathering);
            (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        }
        std::mem::swap(&mut state.waiting, records);
        !records.is_empty()
    }

    fn lock(&self) -> MutexGuard<'_, OutputState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Records {
    fn is_empty(&self) -> bool {
        self.lines.is_empty() && self.contents.is_empty() && self.done.is_empty()
    }

    /// How many bytes they have.
    fn len(&self) -> usize {
        self.lines.len() + self.content_bytes
    }

    /// Writes them in their order. The memory of each content is given back, and `has_room` called, before the next is
    /// written.
    fn write_to(&mut self, sink: &mut impl RecordSink, has_room: &impl Fn()) -> io::Result<()> {
        let mut written = 0;
        self.content_bytes = 0;
        for PlacedContent { at, bytes, reservation } in self.contents.drain(..) {
            sink.put(&self.lines[written..at])?;
            written = at;
            sink.put(&bytes)?;
            drop((bytes, reservation));
            has_room();
        }
        sink.put(&self.lines[written..])?;
        sink.flush(&mut self.done)
    }
}

#[cfg(test)]
mod tests;
