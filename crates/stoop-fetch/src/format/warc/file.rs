//! An archive in one file, with its index beside it.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::Warc;
use super::index_file::IndexFile;
use crate::format::blocks::BlockFile;
use crate::format::frames::{OpenFrame, not_whole};
use crate::format::{ShardFormat, ShardRecords, pieces};
use crate::journal::{Checkpoint, ResumableWriter, cut, no_state, removed};

/// Writes the records of a run to one archive, and its index in CDXJ beside it: `crawl.warc.gz.cdxj` beside `crawl.warc.gz`. It
/// takes what a run writes in the format that it was made with ([`Warc::open`]), and nothing else.
///
/// Both files are made anew, unless a run with a [`RunFolder`](crate::RunFolder) goes on. The index is there when the run
/// has ended; until then its lines are in `crawl.warc.gz.cdxj.lines.partial`, in their order, and 16 MiB of memory are taken to sort
/// them, and 16 KiB more for each 16 MiB of them.
#[cfg_attr(docsrs, doc(cfg(feature = "warc")))]
#[derive(Debug)]
pub struct WarcFile {
    format: Warc,
    name: String,
    file: BlockFile,
    bytes: u64,
    index: IndexFile,
    /// Where the archive is, if it was not there before.
    made: Option<PathBuf>,
    /// The record of which a part is in the file, with where it begins.
    open: Option<(OpenFrame, u64)>,
    has_begun: bool,
    is_resumable: bool,
    has_ended: bool,
}

impl Warc {
    /// The format and the writer of a run whose records are one file at `path`, with its index beside it: `crawl.warc.gz.cdxj` beside
    /// `crawl.warc.gz`. They belong together. What is there is made anew, unless a run with a
    /// [`RunFolder`](crate::RunFolder) goes on.
    ///
    /// ```
    /// use stoop_fetch::{Fetch, format::Warc, source::Lines};
    ///
    /// # let folder = std::env::temp_dir().join(format!("stoop-fetch-warc-example-{}", std::process::id()));
    /// # std::fs::create_dir_all(&folder)?;
    /// let (format, writer) = Warc::new().open(folder.join("crawl.warc.gz"))?;
    /// Fetch::new().run(Lines::new(&b"http://127.0.0.1:1/\n"[..]), format, writer)?;
    /// assert!(folder.join("crawl.warc.gz.cdxj").exists());
    /// # std::fs::remove_dir_all(&folder).ok();
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// It cannot be opened, or is no file.
    pub fn open(self, path: impl AsRef<Path>) -> io::Result<(ShardRecords<Self>, WarcFile)> {
        WarcFile::open(self, path.as_ref())
    }
}

impl WarcFile {
    /// The archive at a path.
    ///
    /// # Errors
    /// The system's.
    fn open(format: Warc, path: &Path) -> io::Result<(ShardRecords<Warc>, Self)> {
        let made = (!path.exists()).then(|| path.to_owned());
        let file = OpenOptions::new().write(true).create(true).truncate(false).open(path)?;
        if !file.metadata()?.is_file() {
            return Err(io::Error::other("it is no file, and has no place for an index beside it"));
        }
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let records = ShardRecords::new(format.clone());
        let writer = Self {
            format,
            name,
            file: BlockFile::new(file),
            bytes: 0,
            index: IndexFile::new(index_path(path)),
            made,
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
        self.file.go_to(0, cut)?;
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
        if let Some(path) = self.made.take().filter(|_| bytes > 0) {
            return Err(removed(&path, bytes));
        }
        self.file.go_to(bytes, cut)?;
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
        self.file.file().sync_data()?;
        self.index.sync()
    }
}

/// The lengths of both files that a state has.
fn places(state: &[u8]) -> Option<(u64, u64)> {
    let (bytes, index_bytes) = state.split_first_chunk::<8>()?;
    Some((u64::from_le_bytes(*bytes), u64::from_le_bytes(index_bytes.try_into().ok()?)))
}

/// Where the index of an archive is.
fn index_path(path: &Path) -> PathBuf {
    let mut path = path.as_os_str().to_owned();
    path.push(".cdxj");
    path.into()
}

#[cfg(test)]
mod tests;
