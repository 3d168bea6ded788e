//! Writes records to files, one after the other.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::PathBuf;

use super::parts::{
    Counts, FinishedShard, ManifestLine, Origin, Resumable, Shard, buffered, with_path,
};
use super::spool::Spool;
use super::{ShardFormat, ShardRecords, Shards};
use crate::format::frames::{Frame, OpenFrame, not_whole};
use crate::format::pieces;

impl Shards {
    /// The format and the writer of a run whose records are written so. They belong together.
    ///
    /// # Errors
    /// The folder cannot be made or read.
    pub fn open<F: ShardFormat>(
        mut self,
        format: F,
    ) -> io::Result<(ShardRecords<F>, ShardWriter<F>)> {
        if let Some(shard) = self.shard.take() {
            self.prefix = format!("{}-{}", self.prefix, shard.label());
        }
        let of = |error: io::Error| with_path(&error, &self.folder);
        fs::create_dir_all(&self.folder).map_err(of)?;
        let next = self.next_number().map_err(of)?;
        let records = ShardRecords::new(format.clone());
        Ok((records, ShardWriter::new(self, format, next)))
    }
}

/// The index of a file is sorted in memory. Before it takes more than this, the next file begins.
const INDEX_BYTES_MAX: usize = 16 << 20;

/// A record of which a part is in the file.
#[derive(Debug)]
struct SplitRecord {
    frame: OpenFrame,
    /// Where it begins in the file.
    start: u64,
}

/// Writes the records of a run to [`Shards`]. It takes what a run writes in the format that it was made with, and
/// nothing else.
#[derive(Debug)]
pub struct ShardWriter<F> {
    pub(super) shards: Shards,
    pub(super) format: F,
    /// That of the files that are begun.
    pub(super) origin: Origin,
    pub(super) next: u64,
    pub(super) current: Option<Shard>,
    /// The record that is being written in parts.
    split: Option<SplitRecord>,
    /// What is kept where the run can be resumed.
    pub(super) resumable: Option<Resumable>,
}

impl<F: ShardFormat> Write for ShardWriter<F> {
    /// Writes records, as a run does: whole ones, and those whose content was left out in parts.
    fn write(&mut self, frames: &[u8]) -> io::Result<usize> {
        let mut rest = frames;
        while !rest.is_empty() {
            let whole = if self.split.is_none() { Frame::split(rest) } else { None };
            match whole {
                Some((frame, after)) => {
                    rest = after;
                    if frame.is_end() { self.close()? } else { self.push(&frame)? }
                }
                None => self.push_part(&mut rest)?,
            }
        }
        Ok(frames.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.check_whole()?;
        match &mut self.current {
            Some(shard) => shard.file.flush(),
            None => Ok(()),
        }
    }
}

impl<F: ShardFormat> ShardWriter<F> {
    /// Writes files from the number `next` on.
    pub(super) fn new(shards: Shards, format: F, next: u64) -> Self {
        let origin = Origin::of_now();
        Self { shards, format, origin, next, current: None, split: None, resumable: None }
    }

    /// Begins the next file if there is none, or if it has no room for a record of that length.
    fn make_room(&mut self, record_bytes: usize) -> io::Result<()> {
        let held = self.format.held_bytes();
        let is_full = self.current.as_ref().is_some_and(|shard| {
            shard.counts.records > 0
                && (shard.bytes + held + record_bytes as u64 > self.shards.bytes_max
                    || shard.index_bytes > INDEX_BYTES_MAX)
        });
        if is_full {
            self.close()?;
        }
        if self.current.is_none() {
            self.current = Some(self.begin()?);
        }
        Ok(())
    }

    fn push(&mut self, frame: &Frame<'_>) -> io::Result<()> {
        self.make_room(frame.record.len())?;
        let shard = self.current.as_mut().expect("begun");
        add(&mut self.format, shard, frame)?;
        match &mut shard.spool {
            Some(spool) => spool.push(frame),
            None => Ok(()),
        }
    }

    /// Writes what the next record has in `bytes`, and leaves there what follows it.
    fn push_part(&mut self, bytes: &mut &[u8]) -> io::Result<()> {
        let SplitRecord { mut frame, start } = match self.split.take() {
            Some(split) => split,
            None => {
                let (frame, after) = OpenFrame::begin(bytes)?;
                *bytes = after;
                self.make_room(frame.record_bytes)?;
                let start = self.current.as_ref().map_or(0, |shard| shard.bytes);
                SplitRecord { frame, start }
            }
        };
        let shard = self.current.as_mut().expect("begun");
        shard.bytes += pieces::write_all(&mut shard.file, frame.take(bytes))?;
        if frame.is_whole() {
            return count(&mut self.format, shard, &frame.entry, start, frame.result);
        }
        self.split = Some(SplitRecord { frame, start });
        Ok(())
    }

    /// # Errors
    /// The last record is not whole.
    pub(super) fn check_whole(&self) -> io::Result<()> {
        if self.split.is_some() { Err(not_whole()) } else { Ok(()) }
    }

    /// Begins the next file, whose number no other run has in this folder.
    fn begin(&mut self) -> io::Result<Shard> {
        let (name, file) = loop {
            let name =
                format!("{}-{:05}.{}", self.shards.prefix, self.next, self.format.extension());
            self.next += 1;
            let path = self.path(&(name.clone() + ".partial"));
            match OpenOptions::new().write(true).create_new(true).open(&path) {
                // A complete file has no partial one any more: it is looked for while this one is ours.
                Ok(file) if !self.path(&name).try_exists()? => break (name, file),
                Ok(_) => fs::remove_file(&path)?,
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(with_path(&error, &path)),
            }
        };
        let mut shard = self.begin_with(name, file)?;
        if self.resumable.is_some() && !self.format.can_be_cut() {
            shard.spool = Some(Spool::create(&self.spool(&shard.name))?);
        }
        Ok(shard)
    }

    /// Begins an empty file of that name.
    pub(super) fn begin_with(&mut self, name: String, file: File) -> io::Result<Shard> {
        let mut shard = Shard {
            name,
            origin: self.origin.clone(),
            file: buffered(file),
            bytes: 0,
            counts: Counts::default(),
            index: Vec::new(),
            index_bytes: 0,
            index_file: None,
            spool: None,
        };
        if self.resumable.is_some() && self.format.index_extension().is_some() {
            shard.index_file = Some(BufWriter::new(File::create(self.index_partial(&shard.name))?));
        }
        let mut begin = Vec::new();
        self.format.begin_shard(&shard.name, &mut begin);
        shard.file.write_all(&begin)?;
        shard.bytes = begin.len() as u64;
        Ok(shard)
    }

    /// Ends the file that is being written, and gives it its name.
    pub(super) fn close(&mut self) -> io::Result<()> {
        let Some(mut shard) = self.current.take() else { return Ok(()) };
        shard.bytes += self.format.end_shard(&mut shard.file)?;
        shard.file.flush()?;
        if let Some(resumable) = &mut self.resumable {
            return resumable.close(shard);
        }
        self.publish(&shard.finished(), shard.index)
    }

    /// Gives a file that is complete its name, its index, and its line of the manifest.
    pub(super) fn publish(&self, shard: &FinishedShard, mut lines: Vec<Vec<u8>>) -> io::Result<()> {
        let name = &shard.name;
        let index = self.format.index_extension().map(|extension| format!("{name}.{extension}"));
        if let Some(index) = &index {
            lines.sort_unstable();
            fs::write(self.path(index), lines.concat())?;
        }
        fs::rename(self.path(&format!("{name}.partial")), self.path(name))?;
        self.add_to_manifest(&shard.manifest_line(index.as_deref()))
    }

    pub(super) fn add_to_manifest(&self, line: &ManifestLine<'_>) -> io::Result<()> {
        let mut line = serde_json::to_vec(line)?;
        line.push(b'\n');
        OpenOptions::new().append(true).create(true).open(self.manifest())?.write_all(&line)
    }

    pub(super) fn manifest(&self) -> PathBuf {
        self.path(&format!("{}.manifest", self.shards.prefix))
    }

    /// Where the index of the file `name` is while that is written, by a run that can be resumed.
    pub(super) fn index_partial(&self, name: &str) -> PathBuf {
        self.path(&format!("{name}.index.partial"))
    }

    /// Where the records of the file `name` are besides, if it cannot be cut.
    pub(super) fn spool(&self, name: &str) -> PathBuf {
        self.path(&format!("{name}.records.partial"))
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.shards.folder.join(name)
    }
}

/// Adds a record to a file, its index and its counts.
pub(super) fn add<F: ShardFormat>(
    format: &mut F,
    shard: &mut Shard,
    frame: &Frame<'_>,
) -> io::Result<()> {
    count(format, shard, frame.entry, shard.bytes, frame.result)?;
    shard.bytes += format.encode(frame.record, &mut shard.file)?;
    Ok(())
}

/// Adds a record that begins at `start` of a file to the index and the counts of that.
fn count<F: ShardFormat>(
    format: &mut F,
    shard: &mut Shard,
    entry: &[u8],
    start: u64,
    result: u8,
) -> io::Result<()> {
    for line in format.index_lines(entry, start, &shard.name) {
        shard.index_bytes += line.len();
        match &mut shard.index_file {
            Some(file) => file.write_all(&line)?,
            None => shard.index.push(line),
        }
    }
    format.written(entry);
    shard.counts.records += 1;
    shard.counts.ok += u64::from(result == 0);
    shard.counts.errors += u64::from(result == 2);
    Ok(())
}
