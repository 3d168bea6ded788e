//! The buffer from which finished lines are written to standard output: in order of completion, never
//! torn, and never more of them in memory than a slow reader of the output justifies.
//!
//! Cores append to one buffer; one thread writes it. The thread waits a little between a line's
//! arrival and the write, so that a fast run costs a hundred wake-ups a second, and not one a line.

use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::FileTypeExt;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use indicatif::ProgressBar;
use memchr::memrchr;

use crate::streams;

/// Lines wait this long for others to share a write.
const GATHER_TIME: Duration = Duration::from_millis(10);
/// The writer does not wait for more lines when it has this much.
const WRITE_AT_BYTES: usize = 128 << 10;
/// No URL is started while this much waits: about 4,000 lines.
const FULL_BYTES: usize = 256 << 10;
/// The longest write that a pipe takes whole or not at all (POSIX asks for 512, Linux has 4,096), so that
/// a process that is killed leaves no half line in it.
const PIPE_WRITE_BYTES: usize = if cfg!(target_os = "linux") { 4096 } else { 512 };
const FILE_WRITE_BYTES: usize = 64 << 10;

/// The lines of all cores that are not written yet.
#[derive(Debug, Default)]
pub(super) struct OutputBuffer {
    state: Mutex<OutputState>,
    /// Wakes the writer: there are lines, enough of them to write at once, or the end.
    writer_wake: Condvar,
    is_full: AtomicBool,
}

#[derive(Debug, Default)]
struct OutputState {
    lines: Vec<u8>,
    /// No lines will follow.
    is_closed: bool,
    /// The writer ended; lines are discarded.
    is_discarding: bool,
    is_writer_asleep: bool,
}

impl OutputBuffer {
    /// Adds a whole line, or several. Never blocks: a URL in flight can always be answered.
    pub(super) fn append(&self, line: &[u8]) {
        let mut state = self.lock();
        if state.is_discarding {
            return;
        }
        let before = state.lines.len();
        state.lines.extend_from_slice(line);
        let now = state.lines.len();
        if now >= FULL_BYTES {
            self.is_full.store(true, Relaxed);
        }
        let is_due = before < WRITE_AT_BYTES && now >= WRITE_AT_BYTES;
        let wake = std::mem::take(&mut state.is_writer_asleep) || is_due;
        drop(state);
        if wake {
            self.writer_wake.notify_one();
        }
    }

    /// Whether so much waits to be written that no URL should start. The cores are woken when that ends.
    pub(super) fn is_full(&self) -> bool {
        self.is_full.load(Relaxed)
    }

    /// Closes the buffer: all lines have been added.
    pub(super) fn close(&self) {
        self.lock().is_closed = true;
        self.writer_wake.notify_one();
    }

    /// Writes the lines that are added until the buffer is closed or a write fails. `has_room` is called
    /// when a full buffer is not full any more.
    pub(super) fn write_to(&self, sink: LineSink, has_room: impl Fn()) -> io::Result<()> {
        let mut lines = Vec::new();
        let result = loop {
            let more = self.wait_for_lines(&mut lines);
            if self.is_full.swap(false, Relaxed) {
                has_room();
            }
            if !more {
                break Ok(());
            }
            if let Err(error) = sink.write(&lines) {
                break Err(error);
            }
        };
        let mut state = self.lock();
        state.is_discarding = true;
        state.lines = Vec::new();
        drop(state);
        // A full buffer that is discarded has room, too.
        if self.is_full.swap(false, Relaxed) {
            has_room();
        }
        result
    }

    /// Waits for lines, and swaps `lines` for them; false at the end.
    fn wait_for_lines(&self, lines: &mut Vec<u8>) -> bool {
        lines.clear();
        lines.shrink_to(4 * FULL_BYTES);
        let mut state = self.lock();
        while state.lines.is_empty() && !state.is_closed {
            state.is_writer_asleep = true;
            state = self.writer_wake.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        if !state.is_closed && state.lines.len() < WRITE_AT_BYTES {
            let is_gathering =
                |state: &mut OutputState| !state.is_closed && state.lines.len() < WRITE_AT_BYTES;
            let waited = self.writer_wake.wait_timeout_while(state, GATHER_TIME, is_gathering);
            (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        }
        std::mem::swap(&mut state.lines, lines);
        !lines.is_empty()
    }

    fn lock(&self) -> MutexGuard<'_, OutputState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The file that lines are written to: standard output without the standard library's buffer, since
/// the writes are of whole lines already.
pub(super) struct LineSink {
    /// `None` discards the lines.
    file: Option<File>,
    write_bytes: usize,
    /// A progress display on the same terminal, hidden while lines are written.
    progress: Option<ProgressBar>,
}

impl LineSink {
    /// Writes to standard output.
    pub(super) fn stdout(progress: Option<ProgressBar>) -> io::Result<Self> {
        let file = streams::output()?;
        let is_pipe = file.metadata()?.file_type().is_fifo();
        let write_bytes = if is_pipe { PIPE_WRITE_BYTES } else { FILE_WRITE_BYTES };
        Ok(Self { file: Some(file), write_bytes, progress })
    }

    /// Discards the lines.
    pub(super) fn discard() -> Self {
        Self { file: None, write_bytes: FILE_WRITE_BYTES, progress: None }
    }

    fn write(&self, lines: &[u8]) -> io::Result<()> {
        let Some(file) = &self.file else { return Ok(()) };
        match &self.progress {
            Some(bar) => bar.suspend(|| write_pieces(file, lines, self.write_bytes)),
            None => write_pieces(file, lines, self.write_bytes),
        }
    }
}

fn write_pieces(file: &File, mut lines: &[u8], write_bytes: usize) -> io::Result<()> {
    while !lines.is_empty() {
        let (piece, rest) = lines.split_at(piece_end(lines, write_bytes));
        write_piece(file, piece)?;
        lines = rest;
    }
    Ok(())
}

fn write_piece(mut file: &File, mut piece: &[u8]) -> io::Result<()> {
    while !piece.is_empty() {
        match file.write(piece) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(n) => piece = &piece[n..],
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            // Another process that shares the terminal or pipe made it non-blocking.
            Err(error) if error.kind() == ErrorKind::WouldBlock => std::thread::sleep(GATHER_TIME),
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// The end of a write of at most `bytes`: after a line, or after the first one if that is longer.
fn piece_end(lines: &[u8], bytes: usize) -> usize {
    if lines.len() <= bytes {
        return lines.len();
    }
    let line_end = memrchr(b'\n', &lines[..bytes]).or_else(|| memchr::memchr(b'\n', lines));
    line_end.map_or(lines.len(), |at| at + 1)
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader};
    use std::os::fd::OwnedFd;
    use std::sync::Arc;
    use std::sync::atomic::AtomicUsize;
    use std::thread;

    use super::*;

    #[test]
    fn a_piece_is_whole_lines() {
        assert_eq!(piece_end(b"aa\nbb\n", 100), 6);
        assert_eq!(piece_end(b"aa\nbb\n", 4), 3);
        assert_eq!(piece_end(b"aa\nbb\n", 3), 3);
        assert_eq!(piece_end(b"aaaaaa\nbb\n", 3), 7, "longer than a piece");
    }

    fn pipe() -> (BufReader<io::PipeReader>, LineSink) {
        let (reader, writer) = io::pipe().expect("a pipe");
        let file = File::from(OwnedFd::from(writer));
        (
            BufReader::new(reader),
            LineSink { file: Some(file), write_bytes: PIPE_WRITE_BYTES, progress: None },
        )
    }

    #[test]
    fn lines_are_written_in_order_and_soon() {
        let output = Arc::new(OutputBuffer::default());
        let (mut reader, sink) = pipe();
        let writer = thread::spawn({
            let output = Arc::clone(&output);
            move || output.write_to(sink, || ())
        });
        for n in 0..3 {
            output.append(format!("{n}\n").as_bytes());
            let mut line = String::new();
            reader.read_line(&mut line).expect("readable");
            assert_eq!(line, format!("{n}\n"), "before there is more");
        }
        output.append(b"last\n");
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
                output.write_to(sink, || {
                    rooms.fetch_add(1, Relaxed);
                })
            }
        });
        let line = [b"x".repeat(1023), b"\n".to_vec()].concat();
        let mut appended = 0;
        // The lines that wait, that are being written, and that the pipe holds: then it stays full.
        while !output.is_full() || appended < 3 * FULL_BYTES / line.len() {
            output.append(&line);
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
        output.append(b"a\n");
        let error = output.write_to(sink, || ()).expect_err("the reader closed it");
        assert_eq!(error.kind(), ErrorKind::BrokenPipe);
        output.append(&vec![b'\n'; 2 * FULL_BYTES]);
        assert!(!output.is_full(), "discarded");
    }
}
