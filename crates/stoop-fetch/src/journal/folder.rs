//! The folder of a run.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::{self, Display, Formatter};
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::log::JournalLog;
use super::numbering::Numbering;
use super::sink::{Journalled, SyncContent};
use super::state::JournalState;
use super::writer::ResumableWriter;
use crate::summary::ResultCode;

const LOCK: &str = "stoop.lock";
const JOURNAL: &str = "stoop.journal";
const CHECKS: &str = "stoop.checks";

/// The folder of a run that can be resumed: its journal says which jobs are done, and where the output is that has their
/// records.
///
/// A run that is started with the folder of one that ended before its input did, by whatever end, goes on with the jobs
/// that are not done: [`Fetch::start_in`](crate::Fetch::start_in) says how. One process at a time can have the folder.
///
/// The files in it are `stoop.journal`, to which an entry is appended after each write of records; `stoop.checks`, four
/// bytes for each job that was read, by which a source that is another than before is noticed; and `stoop.lock`;
/// [`Sitemap::keep_in`](crate::source::Sitemap::keep_in) has a folder of its own in it, `stoop.sitemaps`. When
/// the run is resumed, the journal is written anew as short as it can be.
#[derive(Debug)]
pub struct RunFolder {
    path: PathBuf,
    /// Locked as long as it is open.
    lock: File,
    state: JournalState,
    lost_bytes: u64,
}

/// What a run has of its folder.
pub(crate) struct Begun<W> {
    pub(crate) numbering: Numbering,
    pub(crate) sink: Journalled<W>,
    /// The output has records already, and what stands before them.
    pub(crate) has_output: bool,
    pub(crate) round: u32,
    /// How many jobs were done before.
    pub(crate) resumed: u64,
    /// Locked as long as it is open.
    pub(crate) lock: File,
}

impl RunFolder {
    /// Opens a folder, which is made if it is not there. `options` are what shapes the output, by names that
    /// [`RunFolderError::Different`] tells: they must be those with which the run began.
    ///
    /// Names and values are texts of the caller's own, which are compared as such, in any order; an empty value is another
    /// than none. A [`Fetch`](crate::Fetch) is not compared, as it has functions: what shapes requests and records in the
    /// program at hand belongs here, such as the format, the method, fields and content (by a hash where they are secret),
    /// [`body_bytes_max`](crate::Fetch::body_bytes_max), and where the output is. Concurrency, politeness and time limits
    /// may differ. The jobs of the source are compared without any option.
    ///
    /// # Errors
    /// Another process has the folder, or it is that of a run with other options, or cannot be read.
    pub fn open<N: Into<String>, V: Into<String>>(
        path: impl Into<PathBuf>,
        options: impl IntoIterator<Item = (N, V)>,
    ) -> Result<Self, RunFolderError> {
        let path = path.into();
        let of = |error| RunFolderError::Io(path.clone(), error);
        fs::create_dir_all(&path).map_err(of)?;
        let lock =
            OpenOptions::new().write(true).create(true).truncate(false).open(path.join(LOCK));
        let lock = lock.map_err(of)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(RunFolderError::InUse(path)),
            Err(TryLockError::Error(error)) => return Err(of(error)),
        }
        let options = options.into_iter().map(|(name, value)| (name.into(), value.into()));
        let options: BTreeMap<String, String> = options.collect();
        let (state, lost_bytes) = match File::open(path.join(JOURNAL)) {
            Ok(journal) => {
                let length = journal.metadata().map_err(of)?.len();
                match JournalState::read_counted(journal).map_err(of)? {
                    Some((state, bytes)) => (state, length.saturating_sub(bytes)),
                    None => return Err(RunFolderError::Unknown(path)),
                }
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {
                (JournalState { options: options.clone(), ..JournalState::default() }, 0)
            }
            Err(error) => return Err(of(error)),
        };
        if let Some((name, was, is)) = difference(&state.options, &options) {
            return Err(RunFolderError::Different { folder: path, name, was, is });
        }
        Ok(Self { path, lock, state, lost_bytes })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// How many jobs are done.
    pub fn done(&self) -> u64 {
        self.state.done.count()
    }

    /// How many of those failed: they came to an error, or to a status of 400 or more.
    pub fn failed(&self) -> u64 {
        self.state.failures.len() as u64
    }

    /// How many bytes at the end of the journal cannot be read: they were damaged, or lost with the power. The jobs
    /// that they said are done are done again, and have a second record where the first is in a file that has its
    /// name already.
    pub fn lost_bytes(&self) -> u64 {
        self.lost_bytes
    }

    /// Whether all jobs that were asked for are done.
    pub fn is_complete(&self) -> bool {
        self.state.is_complete
    }

    /// Has failed jobs done again, those for which `which` says so, by their status or kind of error. Their new records
    /// follow the others, so that such a job has several, of which the last counts. Returns how many they are.
    ///
    /// A second time failed jobs are only begun again when all are done: while some are not, a run that is resumed with the
    /// same call goes on with those, and none is returned.
    pub fn retry_failed(&mut self, which: impl Fn(ResultCode<'_>) -> bool) -> Option<u64> {
        let may_begin = self.state.round == 0 || self.state.is_complete;
        may_begin.then(|| self.state.retry(which))
    }

    /// Begins or resumes the run, whose records go to `writer`, and their content to files of its own if there is
    /// `sync_content`.
    pub(crate) fn begin<W: ResumableWriter>(
        self,
        mut writer: W,
        sync_content: Option<SyncContent>,
    ) -> io::Result<Begun<W>> {
        let Self { path, lock, state, .. } = self;
        writer.restore(state.output.as_deref())?;
        writer.begin_round(state.round)?;
        let append =
            |name: &str| OpenOptions::new().append(true).create(true).open(path.join(name));
        let checks = Arc::new(append(CHECKS)?);
        let known = (checks.metadata()?.len() / 4).min(state.done.end());
        checks.set_len(known * 4)?;
        let mut before = File::open(path.join(CHECKS))?;
        before.seek(SeekFrom::Start(0))?;
        write_anew(&path, &state)?;
        let JournalState { done, output, round, .. } = state;
        let (resumed, has_output) = (done.count(), output.is_some());
        let log = JournalLog::new(append(JOURNAL)?, Arc::clone(&checks), round, output);
        let numbering = Numbering::new(path, done, known, before, checks);
        let sink = Journalled::new(writer, sync_content, log);
        Ok(Begun { numbering, sink, has_output, round, resumed, lock })
    }
}

/// Replaces the journal by one that says the same.
fn write_anew(folder: &Path, state: &JournalState) -> io::Result<()> {
    let mut bytes = Vec::new();
    state.push(&mut bytes);
    let partial = folder.join(format!("{JOURNAL}.partial"));
    let mut file = File::create(&partial)?;
    file.write_all(&bytes)?;
    file.sync_all()?;
    fs::rename(partial, folder.join(JOURNAL))?;
    File::open(folder)?.sync_all()
}

/// The first option whose value is another, with both.
fn difference(
    was: &BTreeMap<String, String>,
    is: &BTreeMap<String, String>,
) -> Option<(String, Option<String>, Option<String>)> {
    let mut names = was.keys().chain(is.keys());
    let name = names.find(|name| was.get(*name) != is.get(*name))?;
    Some((name.clone(), was.get(name).cloned(), is.get(name).cloned()))
}

/// Why a folder cannot be that of a run.
#[derive(Debug)]
#[non_exhaustive]
pub enum RunFolderError {
    /// Another process has it.
    InUse(PathBuf),
    /// The run in it has other options.
    #[non_exhaustive]
    Different {
        /// The folder.
        folder: PathBuf,
        /// The option.
        name: String,
        /// Its value in the run; none if it has none.
        was: Option<String>,
        /// Its value now.
        is: Option<String>,
    },
    /// The journal in it is none, or of another version.
    Unknown(PathBuf),
    /// It cannot be read or written.
    Io(PathBuf, io::Error),
}

impl Display for RunFolderError {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::InUse(folder) => write!(f, "another process has the run in {}", folder.display()),
            Self::Different { folder, name, was, is } => {
                write!(f, "the run in {} began ", folder.display())?;
                match (given(was.as_deref()), given(is.as_deref())) {
                    (Some(was), Some(is)) => write!(f, "with {name} {was}, and not {is}"),
                    (Some(was), None) => write!(f, "with {name} {was}, and not without it"),
                    (None, Some(is)) => write!(f, "without {name}, and not with {name} {is}"),
                    (None, None) => write!(f, "with another {name}"),
                }
            }
            Self::Unknown(folder) => {
                let journal = folder.join(JOURNAL);
                write!(f, "{} is no journal that this version can read", journal.display())
            }
            Self::Io(folder, error) => {
                write!(f, "cannot have a run in {}: {error}", folder.display())
            }
        }
    }
}

/// The value of an option that was given.
fn given(value: Option<&str>) -> Option<&str> {
    value.filter(|value| !value.is_empty())
}

impl Error for RunFolderError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Io(_, error) => Some(error),
            _ => None,
        }
    }
}
