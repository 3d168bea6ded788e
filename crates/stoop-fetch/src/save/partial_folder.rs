//! [`PartialFolder`]: where the files of a run are that are being written.

use std::fs::{self, File, TryLockError};
use std::hash::{BuildHasher, RandomState};
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, SystemTime};

/// What has the folders of all runs.
const PARTIAL: &str = ".partial";

/// Where the file system has no locks: how long ago a folder was written to that no run has any more.
const ABANDONED_AGE: Duration = Duration::from_secs(3600);

/// How often another name is tried.
const TRIES: u32 = 100;

/// A folder of its own in `.partial` for each run. It is locked as long as the run has it, so that what is left by a
/// process that was killed is told from what is being written, and removed by the next run.
#[derive(Debug)]
pub(crate) struct PartialFolder {
    path: PathBuf,
    /// Locked as long as it is open, if the file system has locks.
    _locked: File,
    next: AtomicU64,
}

impl PartialFolder {
    /// Makes one in `folder`, which is made too, and removes those of runs that are gone.
    ///
    /// # Errors
    /// The system's, with the path.
    pub(super) fn begin(folder: &Path) -> io::Result<Self> {
        let all = folder.join(PARTIAL);
        Self::begin_in(&all).map_err(|error| with_path(&error, &all))
    }

    fn begin_in(all: &Path) -> io::Result<Self> {
        fs::create_dir_all(all)?;
        for entry in fs::read_dir(all)?.flatten() {
            if is_abandoned(&entry.path()) {
                // Another run may do so too.
                let _ = fs::remove_dir_all(entry.path());
            }
        }
        let names = RandomState::new();
        for number in 0..TRIES {
            let path = all.join(format!("{:016x}", names.hash_one(number)));
            match fs::create_dir(&path) {
                Ok(()) => {}
                // Another run came to its end.
                Err(error) if error.kind() == ErrorKind::NotFound => {
                    fs::create_dir_all(all)?;
                    continue;
                }
                Err(error) if error.kind() == ErrorKind::AlreadyExists => continue,
                Err(error) => return Err(error),
            }
            // A run that begins now may take it for one that was left, as it is not locked yet, and remove it.
            let Ok(locked) = File::open(&path) else { continue };
            let is_taken = matches!(locked.try_lock(), Err(TryLockError::WouldBlock));
            if !is_taken && is_at(&locked, &path) {
                return Ok(Self { path, _locked: locked, next: AtomicU64::new(0) });
            }
        }
        Err(ErrorKind::AlreadyExists.into())
    }

    /// A path for a file.
    pub(super) fn next_path(&self) -> PathBuf {
        self.path.join(self.next.fetch_add(1, Relaxed).to_string())
    }

    /// Makes it again, if it was removed.
    pub(super) fn restore(&self) -> io::Result<()> {
        fs::create_dir_all(&self.path)
    }

    /// Removes it, with what is in it, and `.partial` if no other run has a folder there.
    pub(super) fn remove(&self) {
        let _ = fs::remove_dir_all(&self.path);
        let _ = self.path.parent().map(fs::remove_dir);
    }
}

impl Drop for PartialFolder {
    fn drop(&mut self) {
        self.remove();
    }
}

/// Whether the run that had the folder is gone.
fn is_abandoned(path: &Path) -> bool {
    let Ok(folder) = File::open(path) else { return false };
    match folder.try_lock() {
        Ok(()) => true,
        Err(TryLockError::WouldBlock) => false,
        Err(TryLockError::Error(_)) => {
            let written = last_written(path).and_then(|written| written.elapsed().ok());
            written.is_some_and(|age| age > ABANDONED_AGE)
        }
    }
}

/// When a folder, or a file in it, was written to.
fn last_written(folder: &Path) -> Option<SystemTime> {
    let of_files = fs::read_dir(folder).ok()?.flatten().filter_map(|entry| entry.metadata().ok());
    let all = of_files.chain(fs::metadata(folder));
    all.filter_map(|about| about.modified().ok()).max()
}

/// Whether an open file is that at `path`.
fn is_at(open: &File, path: &Path) -> bool {
    let id = |about: fs::Metadata| (about.dev(), about.ino());
    let (open, there) = (open.metadata().map(id), fs::metadata(path).map(id));
    matches!((open, there), (Ok(open), Ok(there)) if open == there)
}

/// The same error, with the path that it is of.
pub(super) fn with_path(error: &io::Error, path: &Path) -> io::Error {
    io::Error::new(error.kind(), format!("cannot save {}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_killed_process_has_left_is_removed_and_what_is_being_written_is_not() {
        let process = std::process::id();
        let folder = std::env::temp_dir().join(format!("stoop-partial-{process}"));
        let first = PartialFolder::begin(&folder).expect("a folder");
        fs::write(first.next_path(), b"half").expect("written");
        let left = folder.join(PARTIAL).join("left");
        fs::create_dir(&left).expect("made");
        fs::write(left.join("0"), b"half").expect("written");
        let second = PartialFolder::begin(&folder).expect("another");
        assert!(!left.exists());
        assert_eq!(fs::read(first.path.join("0")).expect("there"), b"half");
        drop(second);
        let gone = first.path.clone();
        assert!(gone.exists());
        drop(first);
        assert!(!gone.exists() && !folder.join(PARTIAL).exists());
        fs::remove_dir_all(&folder).expect("there");
    }

    #[test]
    fn without_locks_the_age_of_the_latest_file_decides() {
        let process = std::process::id();
        let folder = std::env::temp_dir().join(format!("stoop-partial-age-{process}"));
        fs::create_dir_all(&folder).expect("made");
        fs::write(folder.join("file"), b"half").expect("written");
        let then = SystemTime::now() - 2 * ABANDONED_AGE;
        File::open(&folder).and_then(|open| open.set_modified(then)).expect("settable");
        assert!(last_written(&folder).expect("there") > then);
        let file = fs::OpenOptions::new().write(true).open(folder.join("file")).expect("there");
        file.set_modified(then).expect("settable");
        assert_eq!(last_written(&folder), Some(then));
        fs::remove_dir_all(&folder).expect("there");
    }
}
