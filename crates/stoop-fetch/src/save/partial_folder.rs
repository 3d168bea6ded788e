//! [`PartialFolder`]: where the files of a run are that are being written.

use std::fs::{self, File, TryLockError};
use std::hash::{BuildHasher, RandomState};
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use crate::error::in_context;

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
    locked: Mutex<File>,
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
        remove_abandoned(all);
        let names = RandomState::new();
        let mut failed = io::Error::from(ErrorKind::AlreadyExists);
        for number in 0..TRIES {
            match Self::create(all, &format!("{:016x}", names.hash_one(number))) {
                Ok(Some(folder)) => return Ok(folder),
                Ok(None) => {}
                // Another run comes to its end, and removes what is empty.
                Err(error)
                    if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::AlreadyExists) =>
                {
                    failed = error;
                }
                Err(error) => return Err(error),
            }
        }
        Err(failed)
    }

    /// Makes one of that name, and locks it. None if a run that begins now has taken it for one that was left, as it
    /// was not locked yet.
    fn create(all: &Path, name: &str) -> io::Result<Option<Self>> {
        fs::create_dir_all(all)?;
        let path = all.join(name);
        fs::create_dir(&path)?;
        let locked = File::open(&path)?;
        let is_taken = matches!(locked.try_lock(), Err(TryLockError::WouldBlock));
        let is_own = !is_taken && is_at(&locked, &path);
        Ok(is_own.then(|| Self { path, locked: Mutex::new(locked), next: AtomicU64::new(0) }))
    }

    /// A path for a file.
    pub(super) fn next_path(&self) -> PathBuf {
        self.path.join(self.next.fetch_add(1, Relaxed).to_string())
    }

    /// Makes it again, if it was removed, and locks that.
    pub(super) fn restore(&self) -> io::Result<()> {
        let mut locked = self.locked.lock().unwrap_or_else(PoisonError::into_inner);
        fs::create_dir_all(&self.path)?;
        if !is_at(&locked, &self.path) {
            *locked = File::open(&self.path)?;
            let _ = locked.try_lock();
        }
        Ok(())
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

/// Removes the folders of runs that are gone.
fn remove_abandoned(all: &Path) {
    for entry in fs::read_dir(all).into_iter().flatten().flatten() {
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if is_folder && let Some(_locked) = lock_abandoned(&entry.path()) {
            // Another run may do so too.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// The folder, if the run that had it is gone. It stays locked until this is dropped, so that a run that has just made
/// it, and has not locked it yet, does not keep what is being removed.
fn lock_abandoned(path: &Path) -> Option<File> {
    let folder = File::open(path).ok()?;
    match folder.try_lock() {
        Ok(()) => Some(folder),
        Err(TryLockError::WouldBlock) => None,
        Err(TryLockError::Error(_)) => {
            let written = last_written(path).and_then(|written| written.elapsed().ok());
            written.is_some_and(|age| age > ABANDONED_AGE).then_some(folder)
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
    in_context(format!("cannot save {}: {error}", path.display()), error)
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

    /// A file of another kind could be a named pipe, whose opening waits.
    #[test]
    fn what_is_no_folder_is_left_alone() {
        let process = std::process::id();
        let folder = std::env::temp_dir().join(format!("stoop-partial-other-{process}"));
        let all = folder.join(PARTIAL);
        fs::create_dir_all(&all).expect("made");
        let made = std::process::Command::new("mkfifo").arg(all.join("pipe")).status();
        assert!(made.expect("it runs").success());
        fs::create_dir(folder.join("elsewhere")).expect("made");
        std::os::unix::fs::symlink(folder.join("elsewhere"), all.join("link")).expect("linked");
        let (done, is_done) = std::sync::mpsc::channel();
        let begun = folder.clone();
        std::thread::spawn(move || done.send(PartialFolder::begin(&begun).map(drop)));
        let limit = Duration::from_secs(60);
        is_done.recv_timeout(limit).expect("it waits for nothing").expect("a folder");
        assert!(all.join("pipe").exists() && all.join("link").exists());
        fs::remove_dir_all(&folder).expect("there");
    }

    #[test]
    fn what_is_being_removed_is_locked() {
        let process = std::process::id();
        let folder = std::env::temp_dir().join(format!("stoop-partial-left-{process}"));
        fs::create_dir_all(&folder).expect("made");
        let locked = lock_abandoned(&folder).expect("no run has it");
        assert!(lock_abandoned(&folder).is_none(), "another removes it");
        drop(locked);
        assert!(lock_abandoned(&folder).is_some());
        fs::remove_dir_all(&folder).expect("there");
    }

    /// Folders come and go: each has its own as long as it likes, and none is refused.
    #[test]
    fn runs_that_begin_and_end_at_once_do_not_disturb_each_other() {
        let process = std::process::id();
        let folder = std::env::temp_dir().join(format!("stoop-partial-at-once-{process}"));
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..100 {
                        let own = PartialFolder::begin(&folder).expect("a folder");
                        fs::write(own.next_path(), b"half").expect("it is there");
                        std::thread::yield_now();
                        assert!(own.path.join("0").exists());
                    }
                });
            }
        });
        assert!(!folder.join(PARTIAL).exists());
        fs::remove_dir_all(&folder).expect("there");
    }

    #[test]
    fn a_folder_that_was_removed_is_locked_again() {
        let process = std::process::id();
        let folder = std::env::temp_dir().join(format!("stoop-partial-restored-{process}"));
        let first = PartialFolder::begin(&folder).expect("a folder");
        fs::remove_dir_all(folder.join(PARTIAL)).expect("there");
        first.restore().expect("made");
        fs::write(first.next_path(), b"half").expect("written");
        let second = PartialFolder::begin(&folder).expect("another");
        assert!(first.path.join("0").exists());
        drop((first, second));
        assert!(!folder.join(PARTIAL).exists());
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
