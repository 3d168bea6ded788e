//! An archive in one file, with its index beside it.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use super::Warc;
use super::index_file::IndexFile;
use crate::format::frames::{OpenFrame, not_whole};
use crate::format::{ShardFormat, ShardRecords, pieces};
use crate::journal::{Checkpoint, ResumableWriter, cut, no_state};

/// Records are gathered to writes of this many bytes: those that are written at once are flushed then.
const BUFFER_BYTES: usize = 256 << 10;

/// Writes the records of a run to one archive, and its index in CDXJ beside it: `crawl.cdxj` beside `crawl.warc.gz`. It
/// takes what a run writes in the format that it was made with ([`Warc::open`]), and nothing else.
///
/// Both files are made anew, unless a run with a [`RunFolder`](crate::RunFolder) goes on. The index is there when the run
/// has ended; until then its lines are in `crawl.cdxj.lines.partial`, in their order, and 16 MiB of memory are taken to sort
/// them, however many they are.
#[cfg_attr(docsrs, doc(cfg(feature = "warc")))]
#[derive(Debug)]
pub struct WarcFile {
    format: Warc,
    name: String,
    file: BufWriter<File>,
    bytes: u64,
    index: IndexFile,
    /// The record of which a part is in the file, with where it begins.
    open: Option<(OpenFrame, u64)>,
    has_begun: bool,
    is_resumable: bool,
    has_ended: bool,
}

impl WarcFile {
    /// The archive at a path.
    ///
    /// # Errors
    /// The system's.
    pub(super) fn open(format: Warc, path: &Path) -> io::Result<(ShardRecords<Warc>, Self)> {
        let file = OpenOptions::new().write(true).create(true).truncate(false).open(path)?;
        if !file.metadata()?.is_file() {
            return Err(io::Error::other("it is no file, and has no place for an index beside it"));
        }
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let records = ShardRecords::new(format.clone());
        let writer = Self {
            format,
            name,
            file: BufWriter::with_capacity(BUFFER_BYTES, file),
            bytes: 0,
            index: IndexFile::new(index_path(path)),
            open: None,
            has_begun: false,
            is_resumable: false,
            has_ended: false,
        };
        Ok((records, writer))
    }

    /// Begins both files, unless that was done.
    fn begin(&mut self) -> io::Result<()> {
        if std::mem::replace(&mut self.has_begun, true) {
            return Ok(());
        }
        cut(self.file.get_mut(), 0)?;
        self.index.begin()?;
        let mut info = Vec::new();
        self.format.begin_shard(&self.name, &mut info);
        self.bytes = pieces::write_all(&mut self.file, &info)?;
        Ok(())
    }

    /// Ends the record whose last byte was written, or the archive.
    fn end_frame(&mut self, frame: &OpenFrame, start: u64) -> io::Result<()> {
        if !frame.is_end() {
            let lines = self.format.index_lines(&frame.entry, start, &self.name);
            self.format.written(&frame.entry);
            return lines.iter().try_for_each(|line| self.index.push(line));
        }
        self.file.flush()?;
        self.index.write_sorted()?;
        self.has_ended = true;
        if self.is_resumable { Ok(()) } else { self.index.remove_lines() }
    }

    fn check_whole(&self) -> io::Result<()> {
        if self.open.is_some() { Err(not_whole()) } else { Ok(()) }
    }
}

impl Write for WarcFile {
    /// Writes records, as a run does.
    fn write(&mut self, frames: &[u8]) -> io::Result<usize> {
        self.begin()?;
        let mut rest = frames;
        while !rest.is_empty() {
            let (mut frame, start) = match self.open.take() {
                Some(open) => open,
                None => {
                    let (frame, after) = OpenFrame::begin(rest)?;
                    rest = after;
                    (frame, self.bytes)
                }
            };
            self.bytes += pieces::write_all(&mut self.file, frame.take(&mut rest))?;
            match frame.is_whole() {
                true => self.end_frame(&frame, start)?,
                false => self.open = Some((frame, start)),
            }
        }
        Ok(frames.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.check_whole()?;
        self.file.flush()
    }
}

impl ResumableWriter for WarcFile {
    fn restore(&mut self, state: Option<&[u8]>) -> io::Result<()> {
        self.is_resumable = true;
        let remembers = self.format.begin_resumable();
        let Some(state) = state else { return self.begin() };
        let (bytes, index_bytes) = places(state).ok_or_else(no_state)?;
        cut(self.file.get_mut(), bytes)?;
        let format = &mut self.format;
        self.index.reopen(index_bytes, |line| {
            if remembers {
                format.remember(line);
            }
        })?;
        (self.bytes, self.has_begun) = (bytes, true);
        Ok(())
    }

    fn checkpoint(&mut self) -> io::Result<Checkpoint> {
        self.check_whole()?;
        self.file.flush()?;
        self.index.flush()?;
        let state = [self.bytes.to_le_bytes(), self.index.bytes.to_le_bytes()].concat();
        Ok(Checkpoint { state, records: None })
    }

    fn removes(&self) -> bool {
        self.has_ended
    }

    fn committed(&mut self) -> io::Result<()> {
        if self.has_ended { self.index.remove_lines() } else { Ok(()) }
    }

    fn end(&mut self, end: &[u8]) -> io::Result<()> {
        self.write_all(end)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.file.flush()?;
        self.file.get_ref().sync_data()?;
        self.index.sync()
    }
}

/// The lengths of both files that a state has.
fn places(state: &[u8]) -> Option<(u64, u64)> {
    let (bytes, index_bytes) = state.split_first_chunk::<8>()?;
    Some((u64::from_le_bytes(*bytes), u64::from_le_bytes(index_bytes.try_into().ok()?)))
}

/// Where the index of an archive is: `.cdxj` in place of `.warc` or `.warc.gz`, or behind another name.
fn index_path(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().as_encoded_bytes();
    let is_gzip = name.ends_with(b".warc.gz");
    let stem = if is_gzip { path.with_extension("") } else { path.to_owned() };
    if is_gzip || name.ends_with(b".warc") {
        return stem.with_extension("cdxj");
    }
    let mut path = stem.into_os_string();
    path.push(".cdxj");
    path.into()
}

#[cfg(test)]
mod tests;
