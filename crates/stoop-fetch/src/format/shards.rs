//! Records in files of a length, each there whole or not at all, with an index and a manifest.

mod parts;
mod records;
mod resume;
#[cfg(test)]
mod resume_tests;
mod shard_format;
#[cfg(all(test, feature = "tar", feature = "warc"))]
mod split_tests;
mod spool;

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::PathBuf;

use self::parts::{Counts, ManifestLine, Resumable, Shard, buffered, with_path};
pub use self::records::ShardRecords;
pub use self::shard_format::ShardFormat;
use self::spool::Spool;
use super::frames::{Frame, OpenFrame, not_whole};
use super::pieces;

/// A folder of files, each with the records of a format up to a length: `PREFIX-00000.EXTENSION` and so on, after those
/// that are there. No file is overwritten.
///
/// A file that is being written has `.partial` after its name; it gets its name with its last record. In a run with a
/// [`RunFolder`](crate::RunFolder) it does so after the journal says that it is complete, and never changes then. The manifest,
/// `PREFIX.manifest.jsonl`, has a line of JSON for each file that is complete: `file`, `bytes`, `records`, `ok` (a
/// status of 2xx), `errors`, and `index`, if it has one.
///
/// ```
/// use stoop_fetch::{Fetch, format::{Shards, Warc}, source::Lines};
///
/// # let out = std::env::temp_dir().join(format!("stoop-fetch-shards-example-{}", std::process::id()));
/// let (format, writer) = Shards::new(&out).bytes_max(100 << 20).open(Warc::new())?;
/// let finished = Fetch::new().run(Lines::new(&b"http://127.0.0.1:1/\n"[..]), format, writer)?;
/// # assert_eq!(finished.figures().total_urls, 1);
/// # assert!(out.join("part-00000.warc.gz").exists() && out.join("part.manifest.jsonl").exists());
/// # std::fs::remove_dir_all(&out).ok();
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Shards {
    folder: PathBuf,
    prefix: String,
    bytes_max: u64,
    is_exclusive: bool,
}

impl Shards {
    /// Files of 1 GiB in `folder`, which is made if it is not there.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self {
            folder: folder.into(),
            prefix: "part".to_owned(),
            bytes_max: 1 << 30,
            is_exclusive: false,
        }
    }

    /// What the names of the files begin with. By default `part`.
    #[must_use]
    pub fn prefix(self, prefix: impl Into<String>) -> Self {
        Self { prefix: prefix.into(), ..self }
    }

    /// The length that a file has at most, in bytes, unless a single record is longer; what stands at its end comes on
    /// top. By default 1 GiB. A file whose index has 16 MiB is not filled further.
    #[must_use]
    pub fn bytes_max(self, bytes_max: u64) -> Self {
        Self { bytes_max, ..self }
    }

    /// Whether nothing else ever writes to the folder than the run whose [`RunFolder`](crate::RunFolder) belongs to these
    /// files. Files that it had just begun when it was killed, and knows nothing of, are removed then when it is resumed;
    /// otherwise they stay there, with `.partial` after their names. Off by default.
    #[must_use]
    pub fn exclusive(self, is_exclusive: bool) -> Self {
        Self { is_exclusive, ..self }
    }

    /// The format and the writer of a run whose records are written so. They belong together.
    ///
    /// # Errors
    /// The folder cannot be made or read.
    pub fn open<F: ShardFormat>(self, format: F) -> io::Result<(ShardRecords<F>, ShardWriter<F>)> {
        let of = |error: io::Error| with_path(&error, &self.folder);
        fs::create_dir_all(&self.folder).map_err(of)?;
        let next = self.next_number().map_err(of)?;
        let records = ShardRecords::new(format.clone());
        let (current, split, resumable) = (None, None, None);
        Ok((records, ShardWriter { shards: self, format, next, current, split, resumable }))
    }

    /// The first number that no file has.
    fn next_number(&self) -> io::Result<u64> {
        let mut next = 0;
        for entry in fs::read_dir(&self.folder)? {
            let number = entry?.file_name().to_str().and_then(|name| self.number(name));
            next = number.map_or(next, |number| next.max(number.saturating_add(1)));
        }
        Ok(next)
    }

    /// The number that a name has.
    fn number(&self, name: &str) -> Option<u64> {
        let rest = name.strip_prefix(&self.prefix)?.strip_prefix('-')?;
        rest.split('.').next()?.parse().ok()
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
    shards: Shards,
    format: F,
    next: u64,
    current: Option<Shard>,
    /// The record that is being written in parts.
    split: Option<SplitRecord>,
    /// What is kept where the run can be resumed.
    resumable: Option<Resumable>,
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
            return count(&self.format, shard, &frame.entry, start, frame.result);
        }
        self.split = Some(SplitRecord { frame, start });
        Ok(())
    }

    /// # Errors
    /// The last record is not whole.
    fn check_whole(&self) -> io::Result<()> {
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
    fn begin_with(&mut self, name: String, file: File) -> io::Result<Shard> {
        let mut shard = Shard {
            name,
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
    fn close(&mut self) -> io::Result<()> {
        let Some(mut shard) = self.current.take() else { return Ok(()) };
        shard.bytes += self.format.end_shard(&mut shard.file)?;
        shard.file.flush()?;
        if let Some(resumable) = &mut self.resumable {
            return resumable.close(shard);
        }
        self.publish(&shard.name, shard.bytes, shard.counts, shard.index)
    }

    /// Gives a file that is complete its name, its index, and its line of the manifest.
    fn publish(
        &self,
        name: &str,
        bytes: u64,
        counts: Counts,
        mut lines: Vec<Vec<u8>>,
    ) -> io::Result<()> {
        let index = self.format.index_extension().map(|extension| format!("{name}.{extension}"));
        if let Some(index) = &index {
            lines.sort_unstable();
            fs::write(self.path(index), lines.concat())?;
        }
        fs::rename(self.path(&format!("{name}.partial")), self.path(name))?;
        self.add_to_manifest(&ManifestLine { file: name, bytes, counts, index: index.as_deref() })
    }

    fn add_to_manifest(&self, line: &ManifestLine<'_>) -> io::Result<()> {
        let mut line = serde_json::to_vec(line)?;
        line.push(b'\n');
        OpenOptions::new().append(true).create(true).open(self.manifest())?.write_all(&line)
    }

    fn manifest(&self) -> PathBuf {
        self.path(&format!("{}.manifest.jsonl", self.shards.prefix))
    }

    /// Where the index of the file `name` is while that is written, by a run that can be resumed.
    fn index_partial(&self, name: &str) -> PathBuf {
        self.path(&format!("{name}.index.partial"))
    }

    /// Where the records of the file `name` are besides, if it cannot be cut.
    fn spool(&self, name: &str) -> PathBuf {
        self.path(&format!("{name}.records.partial"))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.shards.folder.join(name)
    }
}

/// Adds a record to a file, its index and its counts.
fn add<F: ShardFormat>(format: &mut F, shard: &mut Shard, frame: &Frame<'_>) -> io::Result<()> {
    count(format, shard, frame.entry, shard.bytes, frame.result)?;
    shard.bytes += format.encode(frame.record, &mut shard.file)?;
    Ok(())
}

/// Adds a record that begins at `start` of a file to the index and the counts of that.
fn count<F: ShardFormat>(
    format: &F,
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
    shard.counts.records += 1;
    shard.counts.ok += u64::from(result == 0);
    shard.counts.errors += u64::from(result == 2);
    Ok(())
}
