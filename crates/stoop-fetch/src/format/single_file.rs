//! Records in one file of a format that writes them otherwise than one after the other.

use std::io::{self, Write};

use super::frames::Frames;
use super::shards::{ShardFormat, ShardRecords};

/// Writes the records of a run as one file. It takes what a run writes in the format that it was made with, and nothing
/// else.
#[cfg_attr(docsrs, doc(cfg(feature = "parquet")))]
#[derive(Debug)]
pub struct SingleFile<F, W> {
    format: F,
    writer: W,
    has_begun: bool,
}

impl<F: ShardFormat, W: Write> SingleFile<F, W> {
    /// The format and the writer of a run. They belong together.
    pub(super) fn open(format: F, writer: W) -> (ShardRecords<F>, Self) {
        let records = ShardRecords::new(format.clone());
        (records, Self { format, writer, has_begun: false })
    }

    /// What the file was written to.
    pub fn into_inner(self) -> W {
        self.writer
    }

    fn push(&mut self, record: Option<&[u8]>) -> io::Result<()> {
        if !std::mem::replace(&mut self.has_begun, true) {
            let mut begin = Vec::new();
            self.format.begin(&mut begin);
            self.writer.write_all(&begin)?;
        }
        match record {
            Some(record) => self.format.encode(record, &mut self.writer)?,
            None => self.format.end_shard(&mut self.writer)?,
        };
        Ok(())
    }
}

impl<F: ShardFormat, W: Write> Write for SingleFile<F, W> {
    /// Writes whole records, as a run does.
    fn write(&mut self, frames: &[u8]) -> io::Result<usize> {
        for frame in Frames(frames) {
            let frame = frame?;
            self.push((!frame.is_end()).then_some(frame.record))?;
        }
        Ok(frames.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}
