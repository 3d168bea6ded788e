//! The sitemaps of an index as a run with a folder has read them: their copies, and a list that says in which order
//! they were read and which could not be. A run that goes on reads the same pages in the same order, whatever the
//! sites say now, and what could not be read comes behind all that was.

use std::fmt::{self, Display, Formatter};
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::error::in_context;
use crate::mask;
use crate::source::is_compressed;

/// What sitemaps.org allows a sitemap to have. Those of an index are read no further.
pub(super) const NESTED_BYTES_MAX: u64 = 50 << 20;

const FOLDER: &str = "stoop.sitemaps";
const LIST: &str = "list";

/// A line of the list: a sitemap that was read, or could not be.
#[derive(Debug, Deserialize, Serialize)]
struct Event {
    /// Without a password.
    url: String,
    /// Why it could not be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    failed: Option<Box<str>>,
    /// It was read behind the index, because it could not be where the index names it.
    #[serde(default, rename = "late", skip_serializing_if = "std::ops::Not::not")]
    is_late: bool,
}

/// What becomes of a sitemap that the index names.
pub(super) enum Next {
    /// This one comes first: it was read before.
    First(NestedCopy),
    /// It was read before.
    Read(NestedCopy),
    /// It could not be read before.
    Failed(Box<str>),
    /// It was not tried yet.
    New,
}

/// The copy of a sitemap.
pub(super) struct NestedCopy {
    pub(super) url: String,
    pub(super) file: File,
}

/// Why there is no copy.
pub(super) enum CopyError {
    /// The sitemap could not be read.
    Read(io::Error),
    /// The copy could not be written.
    Write(io::Error),
}

/// The sitemaps of an index that were read before, and those that are.
pub(super) struct KeptSitemaps {
    folder: PathBuf,
    /// The lines that were there when the run began.
    before: BufReader<io::Take<File>>,
    /// The next of them.
    next: Option<Event>,
    list: File,
    /// The place in the list, and its length.
    at: u64,
    length: u64,
    /// Sitemaps that could not be read before the run began, nor since then, in the order of the list.
    failed: Vec<String>,
}

impl KeptSitemaps {
    /// Those in the folder of a run.
    pub(super) fn open(run: &Path) -> io::Result<Self> {
        let folder = run.join(FOLDER);
        fs::create_dir_all(&folder)?;
        let path = folder.join(LIST);
        let list = OpenOptions::new().append(true).create(true).open(&path)?;
        let (length, bytes) = whole_lines(BufReader::new(File::open(&path)?))?;
        // What the end of a process has cut is as if it were not there.
        list.set_len(bytes)?;
        let before = BufReader::new(File::open(&path)?.take(bytes));
        let mut kept = Self { folder, before, next: None, list, at: 0, length, failed: Vec::new() };
        kept.next = kept.read_event()?;
        Ok(kept)
    }

    /// What becomes of the sitemap that the index names next.
    ///
    /// # Errors
    /// It named another before, or the list cannot be read.
    pub(super) fn next(&mut self, url: &str) -> io::Result<Next> {
        match &self.next {
            None => Ok(Next::New),
            Some(event) if event.is_late => self.replay().map(Next::First),
            Some(event) if mask::text(&event.url) != mask::text(url) => {
                Err(self.changed(Some(url)))
            }
            Some(Event { failed: Some(_), .. }) => {
                let event = self.take()?;
                self.failed.push(url.to_owned());
                Ok(Next::Failed(event.failed.unwrap_or_default()))
            }
            Some(_) => self.replay().map(Next::Read),
        }
    }

    /// What was read before behind the index, one after the other.
    ///
    /// # Errors
    /// The index named more before, or a copy cannot be read.
    pub(super) fn next_late(&mut self) -> io::Result<Option<NestedCopy>> {
        match &self.next {
            None => Ok(None),
            Some(event) if event.is_late => self.replay().map(Some),
            Some(_) => Err(self.changed(None)),
        }
    }

    /// A sitemap to be tried again.
    pub(super) fn next_failed(&mut self) -> Option<String> {
        (!self.failed.is_empty()).then(|| self.failed.remove(0))
    }

    /// Copies a sitemap to where the next of the list has its copy, and opens that.
    pub(super) fn copy(&mut self, mut input: impl Read) -> Result<File, CopyError> {
        let path = self.copy_of(self.length);
        let partial = path.with_extension("partial");
        let write = CopyError::Write;
        let mut file = File::create(&partial).map_err(write)?;
        let mut begin = Vec::with_capacity(4);
        input.by_ref().take(4).read_to_end(&mut begin).map_err(CopyError::Read)?;
        // What is longer than a sitemap may be is noticed where it is read.
        let rest = input.take(NESTED_BYTES_MAX + 1);
        match is_compressed(&begin) {
            true => {
                file.write_all(&begin).map_err(write)?;
                copy(rest, &mut file)?;
            }
            false => {
                let mut encoder = zstd::Encoder::new(&mut file, 1).map_err(write)?;
                encoder.write_all(&begin).map_err(write)?;
                copy(rest, &mut encoder)?;
                encoder.finish().map_err(write)?;
            }
        }
        // The list tells of it also after a loss of power.
        file.sync_all().map_err(write)?;
        fs::rename(&partial, &path).map_err(write)?;
        File::open(&path).map_err(write)
    }

    /// Notes that a sitemap was read whose copy was made last.
    pub(super) fn add_read(&mut self, url: &str, is_late: bool) -> io::Result<()> {
        self.add(&Event { url: mask::text(url).into_owned(), failed: None, is_late })
    }

    /// Notes that a sitemap could not be read where the index names it.
    pub(super) fn add_failed(&mut self, url: &str, why: &str) -> io::Result<()> {
        // It can be one whose copy is no sitemap.
        let _ = fs::remove_file(self.copy_of(self.length));
        let url = mask::text(url).into_owned();
        self.add(&Event { url, failed: Some(why.into()), is_late: false })
    }

    fn add(&mut self, event: &Event) -> io::Result<()> {
        let line = serde_json::to_string(event).map_err(io::Error::other)? + "\n";
        self.list.write_all(line.as_bytes())?;
        self.list.sync_data()?;
        (self.length, self.at) = (self.length + 1, self.at + 1);
        Ok(())
    }

    fn replay(&mut self) -> io::Result<NestedCopy> {
        let path = self.copy_of(self.at);
        let Event { url, is_late, .. } = self.take()?;
        let is_it = |failed: &String| mask::text(failed) == mask::text(&url);
        if is_late && let Some(at) = self.failed.iter().position(is_it) {
            self.failed.remove(at);
        }
        let file = File::open(&path)
            .map_err(|error| in_context(format!("{}: {error}", path.display()), &error))?;
        Ok(NestedCopy { url, file })
    }

    fn take(&mut self) -> io::Result<Event> {
        let next = self.read_event()?;
        self.at += 1;
        let event = std::mem::replace(&mut self.next, next);
        event.ok_or_else(|| ErrorKind::UnexpectedEof.into())
    }

    fn read_event(&mut self) -> io::Result<Option<Event>> {
        let mut line = String::new();
        if self.before.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        let event = serde_json::from_str(&line).map_err(|error| {
            let list = self.folder.join(LIST);
            io::Error::new(ErrorKind::InvalidData, format!("{}: {error}", list.display()))
        });
        event.map(Some)
    }

    fn copy_of(&self, number: u64) -> PathBuf {
        self.folder.join(format!("{:06}.sitemap", number + 1))
    }

    /// The error for an index that names this sitemap in place of the one that it named before, or none.
    fn changed(&self, is: Option<&str>) -> io::Error {
        let was = self.next.as_ref().map(|event| mask::text(&event.url).into_owned());
        let was = was.unwrap_or_default();
        let changed = Changed { was: &was, is, folder: &self.folder };
        io::Error::new(ErrorKind::InvalidData, changed.to_string())
    }
}

/// What has changed of an index.
struct Changed<'a> {
    was: &'a str,
    is: Option<&'a str>,
    folder: &'a Path,
}

impl Display for Changed<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let run = self.folder.parent().unwrap_or(self.folder).display();
        write!(f, "the index has changed since the run in {run} began: it named {}", self.was)?;
        match self.is {
            Some(is) => write!(f, " where it names {} now", mask::text(is)),
            None => f.write_str(", and does not any more"),
        }
    }
}

/// How many lines are whole, and how many bytes those have.
fn whole_lines(mut list: impl BufRead) -> io::Result<(u64, u64)> {
    let (mut lines, mut bytes, mut line) = (0, 0, Vec::new());
    while list.read_until(b'\n', &mut line)? > 0 && line.ends_with(b"\n") {
        (lines, bytes) = (lines + 1, bytes + line.len() as u64);
        line.clear();
    }
    Ok((lines, bytes))
}

/// Copies, and tells which side failed.
fn copy(mut from: impl Read, to: &mut impl Write) -> Result<(), CopyError> {
    let mut piece = vec![0; 64 << 10];
    loop {
        match from.read(&mut piece) {
            Ok(0) => return Ok(()),
            Ok(n) => to.write_all(&piece[..n]).map_err(CopyError::Write)?,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(CopyError::Read(error)),
        }
    }
}
