//! Standard output for whole lines: none is torn when the process is killed.

use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use indicatif::ProgressBar;
use memchr::memrchr;

use crate::failure::CommandFailure;
use crate::streams;

/// How long to wait for room in an output that another process made non-blocking.
const ROOM_TIME: Duration = Duration::from_millis(10);
/// The longest write that a pipe takes whole or not at all (POSIX asks for 512, Linux has 4,096), so that
/// a process that is killed leaves no half line in it.
const PIPE_WRITE_BYTES: usize = if cfg!(target_os = "linux") { 4096 } else { 512 };
const FILE_WRITE_BYTES: usize = 64 << 10;
/// Content is written up to multiples of this: the kernel has a third less to do for it than in pieces of 64 KiB that begin
/// anywhere.
const BLOCK_BYTES: usize = 256 << 10;

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

/// The failure for an output that cannot be opened, before anything is fetched.
pub(super) fn cannot_open(output: &RecordOutput, error: &io::Error) -> CommandFailure {
    let name = output.name();
    let failure = CommandFailure::io(&format!("cannot write to {name}"), error);
    let CommandFailure::Io(text) = failure else { return failure };
    // An error of the library names its file, which may be the output itself.
    let text = text.replacen(&format!("{name}: {name}: "), &format!("{name}: "), 1);
    let folder = match output {
        RecordOutput::File(path) if error.kind() == ErrorKind::NotFound => path.parent(),
        _ => None,
    };
    CommandFailure::Io(match folder.filter(|folder| !folder.exists()) {
        Some(folder) => {
            format!("{text}; nothing was fetched: 'mkdir -p {}' makes the folder", folder.display())
        }
        None => format!("{text}; nothing was fetched"),
    })
}

/// The file that lines are written to: standard output without the standard library's buffer, since
/// the writes are of whole lines already.
pub(super) struct LineSink {
    /// `None` discards the lines.
    file: Option<File>,
    pieces: Pieces,
    /// A progress display on the same terminal, hidden while lines are written.
    progress: Option<ProgressBar>,
}

/// How what is there is divided into writes.
#[derive(Clone, Copy)]
enum Pieces {
    /// Whole lines of so many bytes, or a longer one.
    Lines(usize),
    /// Blocks of content, to which lines mean nothing, after so many bytes.
    Blocks { written: usize },
}

impl LineSink {
    /// Opens an output, of records that have content or are lines. The library writes the file where the run can be resumed,
    /// and where it has an index beside it.
    ///
    /// # Errors
    /// The system's.
    pub(super) fn open(
        output: &RecordOutput,
        progress: Option<ProgressBar>,
        is_of_library: bool,
        has_content: bool,
    ) -> io::Result<Self> {
        let sink = match output {
            RecordOutput::Stdout => Self::stdout(progress)?,
            RecordOutput::File(path) if !is_of_library => Self::file(path)?,
            // Files in a folder are written by the library.
            RecordOutput::File(_) | RecordOutput::Folder(_) | RecordOutput::Nowhere => {
                Self::discard()
            }
        };
        let pieces = if has_content { Pieces::Blocks { written: 0 } } else { sink.pieces };
        Ok(Self { pieces, ..sink })
    }

    fn file(path: &Path) -> io::Result<Self> {
        let file = File::create(path)?;
        Ok(Self { file: Some(file), ..Self::discard() })
    }

    fn stdout(progress: Option<ProgressBar>) -> io::Result<Self> {
        let file = streams::output()?;
        let is_pipe = file.metadata()?.file_type().is_fifo();
        let write_bytes = if is_pipe { PIPE_WRITE_BYTES } else { FILE_WRITE_BYTES };
        Ok(Self { file: Some(file), pieces: Pieces::Lines(write_bytes), progress })
    }

    fn discard() -> Self {
        Self { file: None, pieces: Pieces::Lines(FILE_WRITE_BYTES), progress: None }
    }
}

impl Write for LineSink {
    /// Writes all of `lines`, which are whole ones.
    fn write(&mut self, lines: &[u8]) -> io::Result<usize> {
        if let Some(file) = &self.file {
            let pieces = &mut self.pieces;
            match &self.progress {
                Some(bar) => bar.suspend(|| pieces.write(file, lines))?,
                None => pieces.write(file, lines)?,
            }
        }
        Ok(lines.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Pieces {
    fn write(&mut self, file: &File, mut lines: &[u8]) -> io::Result<()> {
        while !lines.is_empty() {
            let (piece, rest) = lines.split_at(self.next_end(lines));
            write_piece(file, piece)?;
            lines = rest;
        }
        Ok(())
    }

    /// The end of the next write.
    fn next_end(&mut self, lines: &[u8]) -> usize {
        match self {
            Self::Lines(bytes) => piece_end(lines, *bytes),
            Self::Blocks { written } => {
                let end = lines.len().min(BLOCK_BYTES - *written % BLOCK_BYTES);
                *written = written.wrapping_add(end);
                end
            }
        }
    }
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
    fn an_output_that_cannot_be_opened_is_named_once() {
        for (output, error) in [
            (RecordOutput::Folder("d/".into()), "d/: read-only"),
            (RecordOutput::File("d/".into()), "read-only"),
        ] {
            let CommandFailure::Io(text) = cannot_open(&output, &io::Error::other(error)) else {
                panic!("{error}")
            };
            assert_eq!(text, "cannot write to d/: read-only; nothing was fetched");
        }
    }

    #[test]
    fn a_piece_is_whole_lines() {
        assert_eq!(piece_end(b"aa\nbb\n", 100), 6);
        assert_eq!(piece_end(b"aa\nbb\n", 4), 3);
        assert_eq!(piece_end(b"aa\nbb\n", 3), 3);
        assert_eq!(piece_end(b"aaaaaa\nbb\n", 3), 7, "longer than a piece");
    }

    #[test]
    fn content_is_written_up_to_multiples_of_a_block() {
        let mut pieces = Pieces::Blocks { written: 0 };
        let content = vec![b'\n'; 3 * BLOCK_BYTES];
        assert_eq!(pieces.next_end(&content[..10]), 10);
        assert_eq!(pieces.next_end(&content), BLOCK_BYTES - 10);
        assert_eq!(pieces.next_end(&content), BLOCK_BYTES);
    }
}
