//! The index of a single archive: its lines as they come, and sorted once all are there.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, BufWriter, ErrorKind, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use memchr::memchr_iter;

use crate::journal::cut;

/// How much of the lines is sorted in memory at once.
const SORTED_BYTES: usize = 16 << 20;
/// What is read at once of each part that was sorted.
const PART_READ_BYTES: usize = 16 << 10;
const WRITE_BYTES: usize = 256 << 10;

/// The lines of an index as they come, in `INDEX.lines.partial`, and what makes the index of them.
#[derive(Debug)]
pub(super) struct IndexFile {
    path: PathBuf,
    lines: Option<BufWriter<File>>,
    /// The length of the lines.
    pub(super) bytes: u64,
    sorted_bytes: usize,
}

impl IndexFile {
    /// The index at a path, of which nothing is there yet.
    pub(super) fn new(path: PathBuf) -> Self {
        Self { path, lines: None, bytes: 0, sorted_bytes: SORTED_BYTES }
    }

    /// Begins an index, in place of one that is there.
    ///
    /// # Errors
    /// The system's.
    pub(super) fn begin(&mut self) -> io::Result<()> {
        let lines = File::create(self.beside("lines.partial"))?;
        (self.lines, self.bytes) = (Some(buffered(lines)), 0);
        remove(&self.path)
    }

    /// Goes on behind the first lines, which have that length, and calls `take` with each.
    ///
    /// # Errors
    /// There are fewer; or the system's.
    pub(super) fn reopen(&mut self, length: u64, mut take: impl FnMut(&[u8])) -> io::Result<()> {
        let path = self.beside("lines.partial");
        let open = || OpenOptions::new().read(true).write(true).open(&path);
        let mut lines = match open() {
            // All of them are in the index, which is complete.
            Err(error) if error.kind() == ErrorKind::NotFound => {
                fs::rename(&self.path, &path).and_then(|()| open())
            }
            opened => opened,
        }
        .map_err(|error| {
            io::Error::new(error.kind(), format!("its index, {}: {error}", self.path.display()))
        })?;
        cut(&mut lines, length)?;
        lines.seek(SeekFrom::Start(0))?;
        let mut reader = BufReader::with_capacity(WRITE_BYTES, (&lines).take(length));
        let mut line = Vec::new();
        while reader.read_until(b'\n', &mut line)? > 0 {
            take(&line);
            line.clear();
        }
        drop(reader);
        lines.seek(SeekFrom::Start(length))?;
        (self.lines, self.bytes) = (Some(buffered(lines)), length);
        remove(&self.path)
    }

    /// Adds a line.
    ///
    /// # Errors
    /// The system's.
    pub(super) fn push(&mut self, line: &[u8]) -> io::Result<()> {
        self.bytes += line.len() as u64;
        self.lines.as_mut().map_or(Ok(()), |lines| lines.write_all(line))
    }

    /// Has what was added outlive the process.
    ///
    /// # Errors
    /// The system's.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        self.lines.as_mut().map_or(Ok(()), Write::flush)
    }

    /// Has what was added outlive a loss of power, too.
    ///
    /// # Errors
    /// The system's.
    pub(super) fn sync(&mut self) -> io::Result<()> {
        self.flush()?;
        self.lines.as_ref().map_or(Ok(()), |lines| lines.get_ref().sync_data())
    }

    /// Writes the index of all lines. They stay, so that more can be added.
    ///
    /// # Errors
    /// The system's.
    pub(super) fn write_sorted(&mut self) -> io::Result<()> {
        self.flush()?;
        let lines =
            BufReader::with_capacity(WRITE_BYTES, File::open(self.beside("lines.partial"))?);
        let partial = self.beside("partial");
        let mut index = buffered(File::create(&partial)?);
        match self.bytes <= self.sorted_bytes as u64 {
            true => drop(sort_into(lines, self.sorted_bytes, &mut index)?),
            false => {
                let path = self.beside("parts.partial");
                let mut parts = buffered(File::create(&path)?);
                let ends = sort_into(lines, self.sorted_bytes, &mut parts)?;
                parts.flush()?;
                merge(&File::open(&path)?, &ends, &mut index)?;
                fs::remove_file(&path)?;
            }
        }
        index.flush()?;
        index.get_ref().sync_data()?;
        fs::rename(partial, &self.path)
    }

    /// Removes the lines: the index has them.
    ///
    /// # Errors
    /// The system's.
    pub(super) fn remove_lines(&mut self) -> io::Result<()> {
        self.lines = None;
        remove(&self.beside("lines.partial"))
    }

    /// A file beside the index.
    fn beside(&self, what: &str) -> PathBuf {
        let mut path = self.path.clone().into_os_string();
        path.push(".");
        path.push(what);
        path.into()
    }
}

fn buffered(file: File) -> BufWriter<File> {
    BufWriter::with_capacity(WRITE_BYTES, file)
}

fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Writes lines in parts of about `bytes`, each sorted, and returns where each ends.
fn sort_into(mut lines: impl BufRead, bytes: usize, into: &mut impl Write) -> io::Result<Vec<u64>> {
    let (mut ends, mut end) = (Vec::new(), 0);
    let mut part = Vec::new();
    loop {
        part.clear();
        while part.len() < bytes && lines.read_until(b'\n', &mut part)? > 0 {}
        if part.is_empty() {
            return Ok(ends);
        }
        let mut line_start = 0;
        let mut sorted: Vec<_> = memchr_iter(b'\n', &part)
            .map(|at| &part[std::mem::replace(&mut line_start, at + 1)..=at])
            .collect();
        debug_assert_eq!(line_start, part.len(), "lines are written whole");
        sorted.sort_unstable();
        sorted.iter().try_for_each(|line| into.write_all(line))?;
        end += part.len() as u64;
        ends.push(end);
    }
}

/// Writes the lines of sorted parts in the order of all.
fn merge(parts: &File, ends: &[u64], into: &mut impl Write) -> io::Result<()> {
    let mut start = 0;
    let mut readers: Vec<_> = ends
        .iter()
        .map(|end| {
            let part = Part { file: parts, at: std::mem::replace(&mut start, *end), end: *end };
            BufReader::with_capacity(PART_READ_BYTES, part)
        })
        .collect();
    let mut next = BinaryHeap::new();
    for (at, reader) in readers.iter_mut().enumerate() {
        let mut line = Vec::new();
        reader.read_until(b'\n', &mut line)?;
        next.push(Reverse((line, at)));
    }
    while let Some(Reverse((mut line, at))) = next.pop() {
        into.write_all(&line)?;
        line.clear();
        if readers[at].read_until(b'\n', &mut line)? > 0 {
            next.push(Reverse((line, at)));
        }
    }
    Ok(())
}

/// A part of a file.
struct Part<'a> {
    file: &'a File,
    at: u64,
    end: u64,
}

impl Read for Part<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.end - self.at).unwrap_or(usize::MAX).min(into.len());
        let read = self.file.read_at(&mut into[..left], self.at)?;
        self.at += read as u64;
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_sorted_within_little_memory() {
        let path = std::env::temp_dir().join(format!("stoop-index-{}.cdxj", std::process::id()));
        let mut lines: Vec<_> = (0..1000_u32)
            .map(|n| format!("{} {n}\n", n.wrapping_mul(2_654_435_761) >> 8))
            .collect();
        for sorted_bytes in [100, 5_000, SORTED_BYTES] {
            let mut index = IndexFile { sorted_bytes, ..IndexFile::new(path.clone()) };
            index.begin().expect("writable");
            lines.iter().try_for_each(|line| index.push(line.as_bytes())).expect("writable");
            index.write_sorted().expect("writable");
            index.remove_lines().expect("ours");
            lines.sort();
            assert_eq!(fs::read_to_string(&path).expect("written"), lines.concat());
            lines.reverse();
        }
        // It goes on behind the first lines.
        let first = (lines[999].len() + lines[998].len()) as u64;
        let mut index = IndexFile::new(path.clone());
        let mut taken = Vec::new();
        index.reopen(first, |line| taken.push(line.to_vec())).expect("there");
        assert_eq!(taken, [lines[999].as_bytes(), lines[998].as_bytes()]);
        assert!(!path.exists(), "it would be of what is not there any more");
        index.push(b"more\n").expect("writable");
        index.write_sorted().expect("writable");
        index.remove_lines().expect("ours");
        let text = fs::read_to_string(&path).expect("written");
        assert_eq!(text, lines[999].clone() + &lines[998] + "more\n");
        IndexFile::new(path.clone()).reopen(1_000, |_| ()).expect_err("it is shorter");
        let mut lines = path.clone().into_os_string();
        lines.push(".lines.partial");
        fs::remove_file(lines).expect("ours");
    }
}
