//! Gives the jobs of a source their numbers, passes over those that are done, and notices jobs that are others than
//! before.

use std::fs::File;
use std::io::{self, BufReader, ErrorKind, Read, Write};
use std::path::PathBuf;
use std::sync::Arc;

use super::ranges::Ranges;
use crate::format::Printable;
use crate::job::{Extent, Job};
use crate::mask;

/// How much of a URL an error shows.
const SHOWN_BYTES: usize = 200;

/// What becomes of a job of the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Admission {
    /// It is fetched, under this number.
    Fetch(u64),
    /// It is done already, or was read in part, and so comes again when the run is resumed.
    Skip,
    /// It is not what it was: the source is another.
    Changed,
}

/// The numbers of jobs, in the order of the source, and the checksums of the jobs that had them before.
///
/// A checksum takes four bytes in a file of its own. Those of new jobs are in it before the jobs are fetched.
#[derive(Debug)]
pub(crate) struct Numbering {
    /// The folder of the run, for errors.
    folder: PathBuf,
    done: Ranges,
    next: u64,
    /// How many jobs have a checksum from before.
    known: u64,
    before: BufReader<File>,
    checks: Arc<File>,
    /// Checksums of new jobs that are not in the file yet.
    new: Vec<u8>,
    fault: Option<io::Error>,
}

impl Numbering {
    /// Begins with the first job. `before` and `checks` are the file of checksums at its beginning and at its end,
    /// which `known` jobs have.
    pub(super) fn new(
        folder: PathBuf,
        done: Ranges,
        known: u64,
        before: File,
        checks: Arc<File>,
    ) -> Self {
        let before = BufReader::new(before);
        Self { folder, done, next: 0, known, before, checks, new: Vec::new(), fault: None }
    }

    /// Numbers the next job of the source.
    pub(crate) fn admit(&mut self, job: &Job<'_>) -> Admission {
        if matches!(job.extent, Extent::Interrupted | Extent::InputFailed) {
            return Admission::Skip;
        }
        // What a source reports after it was told to stop is no job.
        if self.fault.is_some() {
            return Admission::Changed;
        }
        let (number, check) = (self.next, checksum(job));
        if number < self.known {
            let mut before = [0; 4];
            if let Err(error) = self.before.read_exact(&mut before) {
                self.fault = Some(error);
                return Admission::Changed;
            }
            if before != check {
                self.fault = Some(self.changed(number, job));
                return Admission::Changed;
            }
        } else {
            self.new.extend_from_slice(&check);
        }
        self.next += 1;
        match self.done.has(number) {
            true => Admission::Skip,
            false => Admission::Fetch(number),
        }
    }

    /// Writes the checksums of the jobs that were admitted. They are not fetched before.
    ///
    /// # Errors
    /// The source is another, or the system's.
    pub(crate) fn commit(&mut self) -> io::Result<()> {
        (&*self.checks).write_all(&self.new)?;
        self.new.clear();
        self.fault.take().map_or(Ok(()), Err)
    }

    /// The source is at its end.
    ///
    /// # Errors
    /// It had more jobs before.
    pub(crate) fn end(&self) -> io::Result<()> {
        if self.next >= self.known {
            return Ok(());
        }
        let (now, before, folder) = (self.next, self.known, self.folder.display());
        let text =
            format!("it ends after {now} URLs, and had {before} when the run in {folder} began");
        Err(io::Error::new(ErrorKind::InvalidData, text))
    }

    fn changed(&self, number: u64, job: &Job<'_>) -> io::Error {
        let url = mask::line(job.url, job.extent == Extent::Whole);
        let shown = String::from_utf8_lossy(&url[..url.len().min(SHOWN_BYTES)]).into_owned();
        let (number, folder) = (number + 1, self.folder.display());
        let text = format!(
            "it has changed since the run in {folder} began: URL number {number}, {}, was another one",
            Printable(&shown)
        );
        io::Error::new(ErrorKind::InvalidData, text)
    }
}

/// A checksum of all that makes a job what it is.
fn checksum(job: &Job<'_>) -> [u8; 4] {
    let hash = match (&job.options, job.extent) {
        (None, Extent::Whole) => blake3::hash(job.url),
        (options, extent) => {
            let mut hasher = blake3::Hasher::new();
            let mut add = |bytes: Option<&[u8]>| {
                hasher.update(&bytes.map_or(u64::MAX, |bytes| bytes.len() as u64).to_le_bytes());
                hasher.update(bytes.unwrap_or_default());
            };
            add(Some(job.url));
            add((extent == Extent::Whole).then_some(&[]));
            if let Some(options) = options {
                add(options.id.as_deref().map(str::as_bytes));
                add(options.metadata.as_deref().map(|value| value.get().as_bytes()));
                add(options.method.as_ref().map(|method| method.as_str().as_bytes()));
                for field in options.fields.iter() {
                    add(Some(field.name_bytes()));
                    add(Some(field.value()));
                }
                add(options.content.as_deref());
                add(options.fault.as_deref().map(str::as_bytes));
            }
            hasher.finalize()
        }
    };
    *hash.as_bytes().first_chunk().expect("32 bytes")
}
