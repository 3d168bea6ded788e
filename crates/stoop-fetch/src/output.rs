//! The buffer from which records are written: in order of completion, never torn, and never more of them in
//! memory than a slow reader of the output justifies.
//!
//! Workers append to one buffer; one thread writes it. The thread waits a little between a line's
//! arrival and the write, so that a fast run costs a hundred wake-ups a second, and not one a line.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::capture::Reservation;
use crate::sink::{Done, RecordSink};

/// Lines wait this long for others to share a write.
const GATHER_TIME: Duration = Duration::from_millis(10);

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
    lines: Vec<u8>,
    /// The memory of content that is among the lines.
    reservations: Vec<Arc<Reservation>>,
    /// The jobs that are done with the lines, where a journal is kept of them.
    done: Vec<Done>,
    /// No lines will follow.
    is_closed: bool,
    /// The writer ended; lines are discarded.
    is_discarding: bool,
    is_writer_asleep: bool,
}

impl OutputBuffer {
    /// The buffer of records that have content, or are lines.
    pub(crate) fn new(has_content: bool) -> Self {
        let bounds = if has_content { Bounds::CONTENT } else { Bounds::LINES };
        Self { bounds, ..Self::default() }
    }

    /// Adds a whole line, or several, with the memory that is reserved for them until they are written. Never blocks: a
    /// URL in flight can always be answered. `done` is the line's job, where a journal is kept; it may have no line.
    pub(crate) fn append(
        &self,
        line: &[u8],
        reservation: Option<Arc<Reservation>>,
        done: Option<Done>,
    ) {
        let mut state = self.lock();
        if state.is_discarding {
            return;
        }
        state.reservations.extend(reservation);
        state.done.extend(done);
        let before = state.lines.len();
        state.lines.extend_from_slice(line);
        let now = state.lines.len();
        if now >= self.bounds.full {
            self.is_full.store(true, Relaxed);
        }
        let is_due = before < self.bounds.write_at && now >= self.bounds.write_at;
        let wake = std::mem::take(&mut state.is_writer_asleep) || is_due;
        drop(state);
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
        let mut lines = Vec::new();
        let mut reservations = Vec::new();
        let mut done = Vec::new();
        let result = loop {
            let more = self.wait_for_lines(&mut lines, &mut reservations, &mut done);
            if self.is_full.swap(false, Relaxed) {
                has_room();
            }
            if !more {
                break Ok(());
            }
            if let Err(error) = sink.put(&lines, &mut done) {
                break Err(error);
            }
            if !reservations.is_empty() {
                reservations.clear();
                has_room();
            }
        };
        let mut state = self.lock();
        state.is_discarding = true;
        state.lines = Vec::new();
        state.reservations = Vec::new();
        state.done = Vec::new();
        drop(state);
        // A full buffer that is discarded has room, too.
        if self.is_full.swap(false, Relaxed) {
            has_room();
        }
        result
    }

    /// Waits for lines, and swaps `lines` for them; false at the end.
    fn wait_for_lines(
        &self,
        lines: &mut Vec<u8>,
        reservations: &mut Vec<Arc<Reservation>>,
        done: &mut Vec<Done>,
    ) -> bool {
        lines.clear();
        done.clear();
        lines.shrink_to(4 * self.bounds.full);
        let mut state = self.lock();
        while state.is_empty() && !state.is_closed {
            state.is_writer_asleep = true;
            state = self.writer_wake.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        if !state.is_closed && state.lines.len() < self.bounds.write_at {
            let is_gathering = |state: &mut OutputState| {
                !state.is_closed && state.lines.len() < self.bounds.write_at
            };
            let waited = self.writer_wake.wait_timeout_while(state, GATHER_TIME, is_gathering);
            (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        }
        std::mem::swap(&mut state.lines, lines);
        std::mem::swap(&mut state.reservations, reservations);
        std::mem::swap(&mut state.done, done);
        !lines.is_empty() || !done.is_empty()
    }

    fn lock(&self) -> MutexGuard<'_, OutputState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl OutputState {
    fn is_empty(&self) -> bool {
        self.lines.is_empty() && self.done.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader, ErrorKind};
    use std::sync::atomic::AtomicUsize;
    use std::thread;

    use super::*;
    use crate::sink::Plain;

    fn pipe() -> (BufReader<io::PipeReader>, io::PipeWriter) {
        let (reader, writer) = io::pipe().expect("a pipe");
        (BufReader::new(reader), writer)
    }

    #[test]
    fn lines_are_written_in_order_and_soon() {
        let output = Arc::new(OutputBuffer::default());
        let (mut reader, sink) = pipe();
        let writer = thread::spawn({
            let output = Arc::clone(&output);
            move || output.write_to(&mut Plain(sink), || ())
        });
        for n in 0..3 {
            output.append(format!("{n}\n").as_bytes(), None, None);
            let mut line = String::new();
            reader.read_line(&mut line).expect("readable");
            assert_eq!(line, format!("{n}\n"), "before there is more");
        }
        output.append(b"last\n", None, None);
        output.close();
        assert_eq!(reader.lines().map(|l| l.expect("readable")).collect::<Vec<_>>(), ["last"]);
        writer.join().expect("no panic").expect("no error");
    }

    #[test]
    fn a_slow_reader_fills_the_buffer_and_a_fast_one_empties_it() {
        let output = Arc::new(OutputBuffer::default());
        let (reader, sink) = pipe();
        let rooms = Arc::new(AtomicUsize::new(0));
        let writer = thread::spawn({
            let (output, rooms) = (Arc::clone(&output), Arc::clone(&rooms));
            move || {
                output.write_to(&mut Plain(sink), || {
                    rooms.fetch_add(1, Relaxed);
                })
            }
        });
        let line = [b"x".repeat(1023), b"\n".to_vec()].concat();
        let mut appended = 0;
        // The lines that wait, that are being written, and that the pipe holds: then it stays full.
        while !output.is_full() || appended < 3 * Bounds::LINES.full / line.len() {
            output.append(&line, None, None);
            appended += 1;
        }
        output.close();
        assert_eq!(reader.lines().count(), appended);
        writer.join().expect("no panic").expect("no error");
        assert!(!output.is_full());
        assert!(rooms.load(Relaxed) >= 1);
    }

    #[test]
    fn a_reader_that_closes_the_output_ends_the_writing() {
        let output = OutputBuffer::default();
        let (reader, sink) = pipe();
        drop(reader);
        output.append(b"a\n", None, None);
        let error = output.write_to(&mut Plain(sink), || ()).expect_err("the reader closed it");
        assert_eq!(error.kind(), ErrorKind::BrokenPipe);
        output.append(&vec![b'\n'; 2 * Bounds::LINES.full], None, None);
        assert!(!output.is_full(), "discarded");
    }
}
