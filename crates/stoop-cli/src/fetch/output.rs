//! From finished lines to standard output: in order of completion, never torn, and never more of
//! them in memory than a slow reader's pipe justifies.
//!
//! Cores append to one buffer; one thread writes it. The thread sleeps a little between a line's
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
const GATHER: Duration = Duration::from_millis(10);
/// The writer hurries when this much waits, and
const HURRY_BYTES: usize = 128 << 10;
/// no URL is started while this much waits: about 4,000 lines.
const FULL_BYTES: usize = 256 << 10;
/// What a pipe takes whole or not at all (POSIX asks for 512, Linux has 4,096), so that a process
/// that is killed leaves no half line in it.
const PIPE_ATOMIC_BYTES: usize = if cfg!(target_os = "linux") { 4096 } else { 512 };
const FILE_BYTES: usize = 64 << 10;

#[derive(Debug, Default)]
pub(super) struct Output {
    state: Mutex<State>,
    /// Something for the writer: lines, haste, or the end.
    news: Condvar,
    full: AtomicBool,
}

#[derive(Debug, Default)]
struct State {
    lines: Vec<u8>,
    /// No lines will follow.
    closed: bool,
    /// The writer stopped; lines are thrown away.
    broken: bool,
    writer_sleeps: bool,
}

impl Output {
    /// Adds a whole line, or several. Never blocks: those in flight can always be answered.
    pub(super) fn append(&self, line: &[u8]) {
        let mut state = self.lock();
        if state.broken {
            return;
        }
        let before = state.lines.len();
        state.lines.extend_from_slice(line);
        let now = state.lines.len();
        if now >= FULL_BYTES {
            self.full.store(true, Relaxed);
        }
        let hurry = before < HURRY_BYTES && now >= HURRY_BYTES;
        let wake = std::mem::take(&mut state.writer_sleeps) || hurry;
        drop(state);
        if wake {
            self.news.notify_one();
        }
    }

    /// Whether so much waits to be written that nothing new should start. The cores are told when
    /// that ends.
    pub(super) fn is_full(&self) -> bool {
        self.full.load(Relaxed)
    }

    /// All lines are here.
    pub(super) fn close(&self) {
        self.lock().closed = true;
        self.news.notify_one();
    }

    /// Writes what comes until the end or an error; `room` is called when a full buffer is full no
    /// more.
    pub(super) fn write_to(&self, sink: Sink, room: impl Fn()) -> io::Result<()> {
        let mut lines = Vec::new();
        let result = loop {
            let more = self.wait(&mut lines);
            if self.full.swap(false, Relaxed) {
                room();
            }
            if !more {
                break Ok(());
            }
            if let Err(error) = sink.write(&lines) {
                break Err(error);
            }
        };
        let mut state = self.lock();
        state.broken = true;
        state.lines = Vec::new();
        drop(state);
        // A full buffer that is thrown away has room, too.
        if self.full.swap(false, Relaxed) {
            room();
        }
        result
    }

    /// Changes `lines` for those that came meanwhile; false at the end.
    fn wait(&self, lines: &mut Vec<u8>) -> bool {
        lines.clear();
        lines.shrink_to(4 * FULL_BYTES);
        let mut state = self.lock();
        while state.lines.is_empty() && !state.closed {
            state.writer_sleeps = true;
            state = self.news.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        if !state.closed && state.lines.len() < HURRY_BYTES {
            let gathered = |state: &mut State| !state.closed && state.lines.len() < HURRY_BYTES;
            let waited = self.news.wait_timeout_while(state, GATHER, gathered);
            (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        }
        std::mem::swap(&mut state.lines, lines);
        !lines.is_empty()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Where lines go: standard output without the standard library's buffer, since ours are whole
/// lines already.
pub(super) struct Sink {
    /// `None` forgets what is written.
    file: Option<File>,
    piece_bytes: usize,
    /// A progress display on the same terminal, taken away while lines are written.
    progress: Option<ProgressBar>,
}

impl Sink {
    pub(super) fn stdout(progress: Option<ProgressBar>) -> io::Result<Self> {
        let file = streams::output()?;
        let is_pipe = file.metadata()?.file_type().is_fifo();
        let piece_bytes = if is_pipe { PIPE_ATOMIC_BYTES } else { FILE_BYTES };
        Ok(Self { file: Some(file), piece_bytes, progress })
    }

    pub(super) fn nowhere() -> Self {
        Self { file: None, piece_bytes: FILE_BYTES, progress: None }
    }

    fn write(&self, lines: &[u8]) -> io::Result<()> {
        let Some(file) = &self.file else { return Ok(()) };
        match &self.progress {
            Some(bar) => bar.suspend(|| write_pieces(file, lines, self.piece_bytes)),
            None => write_pieces(file, lines, self.piece_bytes),
        }
    }
}

fn write_pieces(file: &File, mut lines: &[u8], piece_bytes: usize) -> io::Result<()> {
    while !lines.is_empty() {
        let (piece, rest) = lines.split_at(piece_end(lines, piece_bytes));
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
            // Somebody who shares our terminal or pipe made it non-blocking.
            Err(error) if error.kind() == ErrorKind::WouldBlock => std::thread::sleep(GATHER),
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Where to end a write of at most `bytes`: after a line, or after the only one if it is longer.
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

    fn pipe() -> (BufReader<io::PipeReader>, Sink) {
        let (reader, writer) = io::pipe().expect("a pipe");
        let file = File::from(OwnedFd::from(writer));
        (
            BufReader::new(reader),
            Sink { file: Some(file), piece_bytes: PIPE_ATOMIC_BYTES, progress: None },
        )
    }

    #[test]
    fn lines_arrive_in_order_and_soon() {
        let output = Arc::new(Output::default());
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
    fn a_slow_reader_fills_the_buffer_and_a_reading_one_frees_it() {
        let output = Arc::new(Output::default());
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
        // What waits, what is being written, and what the pipe holds: then it is full for good.
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
    fn a_reader_that_leaves_ends_the_writing() {
        let output = Output::default();
        let (reader, sink) = pipe();
        drop(reader);
        output.append(b"a\n");
        let error = output.write_to(sink, || ()).expect_err("nobody reads");
        assert_eq!(error.kind(), ErrorKind::BrokenPipe);
        output.append(&vec![b'\n'; 2 * FULL_BYTES]);
        assert!(!output.is_full(), "thrown away");
    }
}
