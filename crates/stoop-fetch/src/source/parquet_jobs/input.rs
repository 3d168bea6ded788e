//! The file that is read, of which nothing is asked that it does not have.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use bytes::Bytes;
use parquet::errors::{ParquetError, Result};
use parquet::file::reader::{ChunkReader, Length};

/// A part that is read at once is at most so long: footers and pages are shorter.
const PART_BYTES_MAX: usize = 256 << 20;
const READ_BYTES: usize = 64 << 10;

/// A file, read by positions.
#[derive(Clone, Debug)]
pub(super) struct Input {
    file: Arc<File>,
    length: u64,
}

/// Reads from a position on.
pub(super) struct FromPosition {
    file: Arc<File>,
    position: u64,
}

impl Input {
    /// # Errors
    /// It is no file with a length, such as a pipe.
    pub(super) fn new(file: File) -> io::Result<Self> {
        let about = file.metadata()?;
        if !about.is_file() {
            let text =
                "Parquet has its directory at its end: it is read from a file, not from a pipe";
            return Err(io::Error::new(io::ErrorKind::Unsupported, text));
        }
        Ok(Self { file: Arc::new(file), length: about.len() })
    }
}

impl Read for FromPosition {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read_at(into, self.position)?;
        self.position += read as u64;
        Ok(read)
    }
}

impl Length for Input {
    fn len(&self) -> u64 {
        self.length
    }
}

impl ChunkReader for Input {
    type T = BufReader<FromPosition>;

    fn get_read(&self, start: u64) -> Result<Self::T> {
        let from = FromPosition { file: Arc::clone(&self.file), position: start };
        Ok(BufReader::with_capacity(READ_BYTES, from))
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        let end = start.checked_add(length as u64);
        if end.is_none_or(|end| end > self.length) {
            return Err(ParquetError::EOF("a part is said to be behind its end".to_owned()));
        }
        if length > PART_BYTES_MAX {
            return Err(ParquetError::General("a part is longer than 256 MiB".to_owned()));
        }
        let mut bytes = vec![0; length];
        self.file.read_exact_at(&mut bytes, start)?;
        Ok(bytes.into())
    }
}
