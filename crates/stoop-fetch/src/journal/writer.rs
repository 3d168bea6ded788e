//! Where the records of a run go that can be resumed: what can go back to where it was.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// Where the output of a run is, so that it can go on there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Checkpoint {
    /// The place, in a form of the writer's own.
    pub state: Vec<u8>,
    /// How many records of those that were written since the writer was restored are certain to be in what that place
    /// leads back to; none for all of them. The jobs of the others are done again if the process ends before they are
    /// certain, so that a writer which cannot be cut within a file says here what its complete files have.
    pub records: Option<u64>,
}

/// A writer that a run with a [`RunFolder`](super::RunFolder) can write its records to: it can go back to where it was
/// before the process ended.
///
/// A run calls [`restore`](Self::restore) first, and [`begin_round`](Self::begin_round). Then it writes whole records and
/// flushes, asks for a [`checkpoint`](Self::checkpoint), writes that to its journal, and calls
/// [`committed`](Self::committed); and so on.
pub trait ResumableWriter: Write {
    /// Goes back to a checkpoint, by its state: everything that was written after it is taken away. None is the
    /// beginning, before anything was written.
    ///
    /// # Errors
    /// The output is not there any more, or not as it was.
    fn restore(&mut self, state: Option<&[u8]>) -> io::Result<()>;

    /// What is written from now on belongs to this round: 0 at first, and one more each time that failed jobs were begun
    /// anew ([`RunFolder::retry_failed`](super::RunFolder::retry_failed)), whose new records follow. It is called after
    /// [`restore`](Self::restore). By default nothing is done.
    ///
    /// # Errors
    /// The system's.
    fn begin_round(&mut self, round: u32) -> io::Result<()> {
        let _ = round;
        Ok(())
    }

    /// Where the output is now. What was written before must outlive the process.
    ///
    /// # Errors
    /// The system's.
    fn checkpoint(&mut self) -> io::Result<Checkpoint>;

    /// Whether [`committed`](Self::committed) will remove something that the checkpoint before the last leads back to: the
    /// journal is made to outlive a loss of power before that then. By default it will not.
    fn removes(&self) -> bool {
        false
    }

    /// The checkpoint that was asked for last is in the journal: what it says is complete may be told to others. By
    /// default nothing is done. It may not be called for the last one, where the process ended: `restore` does the same
    /// then.
    ///
    /// # Errors
    /// The system's.
    fn committed(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// Writes what stands at the end. A checkpoint after it leads back to where more records can be written.
    ///
    /// # Errors
    /// The system's.
    fn end(&mut self, end: &[u8]) -> io::Result<()>;

    /// Has what was written outlive a loss of power, too.
    ///
    /// # Errors
    /// The system's.
    fn sync(&mut self) -> io::Result<()>;
}

/// A file that the records of a run with a [`RunFolder`](super::RunFolder) are written to.
#[derive(Debug)]
pub struct OutputFile {
    file: File,
    /// Where it is, if it was not there before.
    made: Option<PathBuf>,
    /// Where records end.
    end: u64,
}

impl OutputFile {
    /// Opens a file, or makes it. Only when the run begins is it emptied, if that was not resumed.
    ///
    /// Where the run is resumed and its records are not in the file any more, because it was removed or became shorter,
    /// [`Fetch::start_in`](crate::Fetch::start_in) fails, and leaves what is there as it is.
    ///
    /// # Errors
    /// The system's.
    pub fn open(path: impl AsRef<Path>) -> io::Result<Self> {
        let path = path.as_ref();
        match OpenOptions::new().write(true).open(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                let file =
                    OpenOptions::new().write(true).create(true).truncate(false).open(path)?;
                Ok(Self { file, made: Some(path.to_owned()), end: 0 })
            }
            opened => Ok(Self { file: opened?, made: None, end: 0 }),
        }
    }
}

impl Write for OutputFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.end += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl ResumableWriter for OutputFile {
    fn restore(&mut self, state: Option<&[u8]>) -> io::Result<()> {
        let state = state.map(|state| state.try_into().map(u64::from_le_bytes));
        let end = state.transpose().map_err(|_| no_state())?.unwrap_or(0);
        if let Some(path) = self.made.take().filter(|_| end > 0) {
            return Err(removed(&path, end));
        }
        cut(&mut self.file, end)?;
        self.end = end;
        Ok(())
    }

    fn checkpoint(&mut self) -> io::Result<Checkpoint> {
        Ok(Checkpoint { state: self.end.to_le_bytes().to_vec(), records: None })
    }

    fn end(&mut self, end: &[u8]) -> io::Result<()> {
        // It does not count: what follows takes its place.
        self.file.write_all(end)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.file.sync_data()
    }
}

/// Cuts a file to its first `length` bytes, and goes to its end.
///
/// # Errors
/// It is shorter, or the system's.
pub(crate) fn cut(file: &mut File, length: u64) -> io::Result<()> {
    let about = file.metadata()?;
    if about.len() < length {
        let text = format!("it has {} bytes, and had {length} when the run ended", about.len());
        return Err(io::Error::new(ErrorKind::InvalidData, text));
    }
    // What is no file cannot be cut, and has nothing to be cut off.
    if about.is_file() {
        // ext4 writes a file that was cut to nothing out when it is closed, also where it had nothing.
        if about.len() > length {
            file.set_len(length)?;
        }
        file.seek(SeekFrom::Start(length))?;
    }
    Ok(())
}

/// The error for an output that was removed, which had so many bytes. The file that was made in its place is removed: a run
/// without its earlier records must not look like one that is whole.
pub(crate) fn removed(path: &Path, bytes: u64) -> io::Error {
    let _ = fs::remove_file(path);
    let text = format!("it is not there any more, and had {bytes} bytes when the run ended");
    io::Error::new(ErrorKind::NotFound, text)
}

/// The error for a state that this writer did not write.
pub(crate) fn no_state() -> io::Error {
    io::Error::new(ErrorKind::InvalidData, "the journal is of another output")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_was_removed_is_told_and_not_made_again() {
        let path = std::env::temp_dir().join(format!("stoop-output-{}", std::process::id()));
        let mut file = OutputFile::open(&path).expect("made");
        file.restore(None).expect("it begins");
        file.write_all(b"record\n").expect("written");
        let state = file.checkpoint().expect("a place").state;
        drop(file);
        let restore = || OutputFile::open(&path).expect("opened").restore(Some(&state));
        restore().expect("it is as it was");
        fs::remove_file(&path).expect("there");
        let error = restore().expect_err("it was removed");
        let text = "it is not there any more, and had 7 bytes when the run ended";
        assert_eq!((error.kind(), error.to_string().as_str()), (ErrorKind::NotFound, text));
        assert!(!path.exists());
        // Before there were records there was nothing to lose.
        OutputFile::open(&path).expect("made").restore(Some(&[0; 8])).expect("empty");
        fs::write(&path, b"other").expect("written");
        assert_eq!(restore().expect_err("it is shorter").kind(), ErrorKind::InvalidData);
        assert_eq!(fs::read(&path).expect("there"), b"other");
        fs::remove_file(&path).expect("there");
    }
}
