//! Standard output for whole lines: none is torn when the process is killed.

use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use indicatif::ProgressBar;
use memchr::memrchr;

use crate::streams;

/// How long to wait for room in an output that another process made non-blocking.
const ROOM_TIME: Duration = Duration::from_millis(10);
/// The longest write that a pipe takes whole or not at all (POSIX asks for 512, Linux has 4,096), so that
/// a process that is killed leaves no half line in it.
const PIPE_WRITE_BYTES: usize = if cfg!(target_os = "linux") { 4096 } else { 512 };
const FILE_WRITE_BYTES: usize = 64 << 10;

/// Where records are written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RecordOutput {
    Stdout,
    File(PathBuf),
    /// Files in a folder.
    Folder(PathBuf),
    Nowhere,
}

impl RecordOutput {
    /// What a message calls it.
    pub(super) fn name(&self) -> String {
        match self {
            Self::File(path) | Self::Folder(path) => path.display().to_string(),
            Self::Stdout | Self::Nowhere => "standard output".to_owned(),
        }
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
    /// Opens an output. `input` is a file that is read, and must not be written. Where the run can be resumed, the library
    /// writes the file.
    ///
    /// # Errors
    /// The system's.
    pub(super) fn open(
        output: &RecordOutput,
        input: Option<&Path>,
        progress: Option<ProgressBar>,
        is_resumable: bool,
    ) -> io::Result<Self> {
        match output {
            RecordOutput::Stdout => Self::stdout(progress),
            RecordOutput::File(path) => {
                check_is_not(path, input)?;
                if is_resumable { Ok(Self::discard()) } else { Self::file(path) }
            }
            // Files in a folder are written by the library.
            RecordOutput::Folder(_) | RecordOutput::Nowhere => Ok(Self::discard()),
        }
    }

    fn file(path: &Path) -> io::Result<Self> {
        let file = File::create(path)?;
        Ok(Self { file: Some(file), write_bytes: FILE_WRITE_BYTES, progress: None })
    }

    fn stdout(progress: Option<ProgressBar>) -> io::Result<Self> {
        let file = streams::output()?;
        let is_pipe = file.metadata()?.file_type().is_fifo();
        let write_bytes = if is_pipe { PIPE_WRITE_BYTES } else { FILE_WRITE_BYTES };
        Ok(Self { file: Some(file), write_bytes, progress })
    }

    fn discard() -> Self {
        Self { file: None, write_bytes: FILE_WRITE_BYTES, progress: None }
    }
}

impl Write for LineSink {
    /// Writes all of `lines`, which are whole ones.
    fn write(&mut self, lines: &[u8]) -> io::Result<usize> {
        if let Some(file) = &self.file {
            match &self.progress {
                Some(bar) => bar.suspend(|| write_pieces(file, lines, self.write_bytes))?,
                None => write_pieces(file, lines, self.write_bytes)?,
            }
        }
        Ok(lines.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Whether a file can be written without losing the input.
///
/// # Errors
/// It is the input.
pub(super) fn check_is_not(path: &Path, input: Option<&Path>) -> io::Result<()> {
    match input {
        Some(input) if is_same_file(path, input) => {
            Err(io::Error::other("it is the input, which would be lost"))
        }
        _ => Ok(()),
    }
}

/// Whether two paths lead to one file that is there.
pub(super) fn is_same_file(one: &Path, other: &Path) -> bool {
    let id = |path: &Path| std::fs::metadata(path).map(|about| (about.dev(), about.ino())).ok();
    id(one).is_some_and(|one| id(other) == Some(one))
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
            Err(error) if error.kind() == ErrorKind::WouldBlock => std::thread::sleep(ROOM_TIME),
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
    use super::*;

    #[test]
    fn a_piece_is_whole_lines() {
        assert_eq!(piece_end(b"aa\nbb\n", 100), 6);
        assert_eq!(piece_end(b"aa\nbb\n", 4), 3);
        assert_eq!(piece_end(b"aa\nbb\n", 3), 3);
        assert_eq!(piece_end(b"aaaaaa\nbb\n", 3), 7, "longer than a piece");
    }
}
