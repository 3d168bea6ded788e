//! The records of a file that cannot be cut, beside it: where a run goes on, the file is made again of them.

use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::Path;

use crate::format::frames::{Frame, Frames, read_frame};
use crate::format::pieces;
use crate::journal::cut;

/// How much is gathered for one write, or read at once.
const BUFFER_BYTES: usize = 256 << 10;

/// The records of a file, one after the other.
#[derive(Debug)]
pub(super) struct Spool {
    file: BufWriter<File>,
    /// Its length.
    pub(super) bytes: u64,
}

impl Spool {
    /// Begins one.
    ///
    /// # Errors
    /// The system's.
    pub(super) fn create(path: &Path) -> io::Result<Self> {
        let file = BufWriter::with_capacity(BUFFER_BYTES, File::create(path)?);
        Ok(Self { file, bytes: 0 })
    }

    /// Cuts one to the length that it had, and calls `take` with each record, to go on behind them.
    ///
    /// # Errors
    /// It is shorter, or has something else; those of `take`; the system's.
    pub(super) fn reopen(
        path: &Path,
        length: u64,
        mut take: impl FnMut(&Frame<'_>) -> io::Result<()>,
    ) -> io::Result<Self> {
        let mut file = OpenOptions::new().read(true).write(true).open(path)?;
        cut(&mut file, length)?;
        file.seek(SeekFrom::Start(0))?;
        let mut records = BufReader::with_capacity(BUFFER_BYTES, (&file).take(length));
        let mut frame = Vec::new();
        while read_frame(&mut records, &mut frame)? {
            for frame in Frames(&frame) {
                take(&frame?)?;
            }
        }
        drop(records);
        file.seek(SeekFrom::Start(length))?;
        Ok(Self { file: BufWriter::with_capacity(BUFFER_BYTES, file), bytes: length })
    }

    /// Adds a record.
    ///
    /// # Errors
    /// The system's.
    pub(super) fn push(&mut self, frame: &Frame<'_>) -> io::Result<()> {
        self.bytes += pieces::write_all(&mut self.file, frame.whole)?;
        Ok(())
    }

    /// Has what was added outlive the process.
    ///
    /// # Errors
    /// The system's.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }

    /// Has what was added outlive a loss of power, too.
    ///
    /// # Errors
    /// The system's.
    pub(super) fn sync(&mut self) -> io::Result<()> {
        self.flush()?;
        self.file.get_ref().sync_data()
    }
}
