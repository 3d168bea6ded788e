//! A folder in which the content of responses is saved, one file for each.

mod content;
mod last_modified;
mod link;
mod names;
mod partial_folder;
mod place;
mod unnamed;

use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

pub(crate) use self::content::Content;
use self::names::{hash_name, id_name, url_name};
use self::partial_folder::{PartialFolder, with_path};
use self::place::{Manner, place};
pub(crate) use self::unnamed::UnnamedFile;
use crate::schedule::Started;
use crate::summary::ResultCode;

/// A folder for content: a file for each response with a status of 2xx whose content was received.
///
/// A file is there with all its content or not at all, also if the process is killed; only where the file system has
/// neither hard links nor a rename that replaces nothing, an empty one may be left then. None that is there is
/// overwritten, unless [`replace_files`](Self::replace_files) says so: where one with other content has the name already,
/// `~` and the first 16 digits of the content's BLAKE3 follow it; a name that the system does not take is replaced by
/// that of [`FileNames::Hash`] at the last. The record of a job says in `saved` which file is its own, relative to the
/// folder.
///
/// A file was modified when its response says so, in Last-Modified: tools that compare times, such as rsync, copy what
/// is new. Where it says nothing of it, or a time to come, that is when the file was written.
///
/// Content of more than 1 MiB is written while it arrives, so that a file may be longer than memory is, unless all of
/// it is needed there: for a format that writes it, or as [UTF-8](crate::Fetch::text_as_utf8). What is being written is
/// in the folder `.partial`, in one of its own for each run. It is removed when its job fails or is cancelled, and what
/// a process that was killed has left by the next run that begins; where the file system has no locks, by one that
/// begins an hour later. A folder on the way to a name that is on another file system gets a copy first, whose name
/// begins with a dot and ends with `.partial`; one that a killed process was writing is left there.
///
/// ```
/// use stoop_fetch::{Fetch, FileNames, SaveFolder, format::JsonLines, source::Lines};
///
/// # let out = std::env::temp_dir().join("stoop-fetch-save-example");
/// let fetch = Fetch::new().save(SaveFolder::new(&out).names(FileNames::UrlPath));
/// let finished = fetch.run(Lines::new(&b"http://127.0.0.1:1/a/b.html\n"[..]), JsonLines::new(), std::io::sink())?;
/// # assert_eq!(finished.figures().total_urls, 1);
/// # std::fs::remove_dir_all(&out).ok();
/// # Ok::<(), stoop_fetch::FetchError>(())
/// ```
#[derive(Clone, Debug)]
pub struct SaveFolder {
    folder: PathBuf,
    names: FileNames,
    has_any_status: bool,
    replaces_files: bool,
    /// What is being written, once the run has begun.
    partial: Option<Arc<PartialFolder>>,
}

/// How files are named, in a [`SaveFolder`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum FileNames {
    /// By the BLAKE3 of the content, as `ab/cd/abcd….`: equal content is saved once.
    #[default]
    Hash,
    /// By the job's identifier, as `ab/ID`, where `ab` begins the BLAKE3 of the identifier; by that of the URL where
    /// there is none. Slashes, control characters and a leading dot are percent-encoded, and a long one is cut.
    Id,
    /// By the URL that the job asks for, as `HOST/PATH`, `HOST:PORT/PATH` and `HOST/PATH?QUERY`; `index.html` where
    /// the path ends with `/`.
    UrlPath,
}

impl SaveFolder {
    /// Files named by their content in `folder`, which is made if it is not there.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        let folder = folder.into();
        Self {
            folder,
            names: FileNames::Hash,
            has_any_status: false,
            replaces_files: false,
            partial: None,
        }
    }

    /// How files are named. By default by their content.
    #[must_use]
    pub fn names(self, names: FileNames) -> Self {
        Self { names, ..self }
    }

    /// Whether the content of responses with another status than 2xx is saved, too. Off by default.
    #[must_use]
    pub fn any_status(self, has_any_status: bool) -> Self {
        Self { has_any_status, ..self }
    }

    /// Whether a file replaces one that has its name, as in a copy of a site that is brought up to date: at once, so that
    /// a program that opens it gets the old content or the new. Where two jobs of a run have one name, the file is that of the job that
    /// was done last. A folder that has the name stays. Off by default.
    #[must_use]
    pub fn replace_files(self, replaces_files: bool) -> Self {
        Self { replaces_files, ..self }
    }

    /// Makes the folder, for a run that begins, and removes what a process that was killed left in it half-written.
    ///
    /// # Errors
    /// The system's, with the path.
    pub(crate) fn prepare(&mut self) -> io::Result<()> {
        self.partial = Some(Arc::new(PartialFolder::begin(&self.folder)?));
        Ok(())
    }

    /// Removes what is needed while files are written only.
    pub(crate) fn finish(&self) {
        self.partial.iter().for_each(|partial| partial.remove());
    }

    /// Has what was saved outlive a loss of power, with all else on its file system: one call for any number of files.
    ///
    /// # Errors
    /// The system's, with the path; also that an earlier write was lost.
    pub(crate) fn sync(&self) -> io::Result<()> {
        let synced = File::open(&self.folder).and_then(|folder| sync_file_system(&folder));
        synced.map_err(|error| with_path(&error, &self.folder))
    }

    /// Where files of this run are that are being written.
    ///
    /// # Errors
    /// The run has not begun: a defect.
    fn partial(&self) -> io::Result<&PartialFolder> {
        self.partial.as_deref().ok_or_else(|| io::Error::other("saved before the run: a defect"))
    }

    /// Whether the content of a response with this status is saved.
    pub(crate) fn takes(&self, status: u16) -> bool {
        self.has_any_status || matches!(status, 200..=299)
    }

    /// Whether the names of files depend on their content.
    pub(crate) fn is_named_by_content(&self) -> bool {
        self.names == FileNames::Hash
    }

    /// Begins a file for content that arrives.
    ///
    /// # Errors
    /// The system's, with the path.
    pub(crate) fn begin_file(&self) -> io::Result<UnnamedFile> {
        UnnamedFile::begin(self.partial()?)
    }

    /// Saves the content of a job's response, whose Last-Modified is `modified`, and returns the file's path relative to
    /// the folder; none if it is not one to save.
    ///
    /// # Errors
    /// The system's, with the path.
    pub(crate) fn save(
        &self,
        job: &Started,
        code: ResultCode,
        content: Content<'_>,
        modified: Option<&[u8]>,
    ) -> io::Result<Option<String>> {
        if !matches!(code, ResultCode::Status(status) if self.takes(status)) {
            return Ok(None);
        }
        let name = match self.names {
            FileNames::Hash => {
                let hash = content.blake3();
                hash_name(hash.map_err(|error| with_path(&error, &self.folder))?)
            }
            FileNames::Id => {
                let id = job.options.as_ref().and_then(|options| options.id.as_deref());
                id_name(id, &job.url)
            }
            FileNames::UrlPath => url_name(&job.url),
        };
        let modified = modified.and_then(last_modified::last_modified);
        let manner = Manner { replaces: self.replaces_files, modified };
        let placed = place(&self.folder, self.partial()?, &name, content, manner);
        placed.map(Some)
    }
}

/// Waits until all that was written to the file system of `file` is on its disk.
#[cfg(target_os = "linux")]
fn sync_file_system(file: &File) -> io::Result<()> {
    Ok(rustix::fs::syncfs(file)?)
}

/// Has all that was written be put on its disk: other systems have no call for one file system.
#[cfg(not(target_os = "linux"))]
fn sync_file_system(_: &File) -> io::Result<()> {
    rustix::fs::sync();
    Ok(())
}
