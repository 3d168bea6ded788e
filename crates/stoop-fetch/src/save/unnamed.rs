//! Files that are being written, and have no name yet.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::hash::{BuildHasher, RandomState};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// The folder of files that are being written.
pub(super) const PARTIAL: &str = ".partial";

/// How long ago a half-written file was written to that no process writes any more, unless one has it locked.
const ABANDONED_AGE: Duration = Duration::from_secs(3600);

/// Makes `folder`, and removes the half-written files of processes that are gone, as their age tells: numbers of
/// processes are not those of another container.
pub(super) fn prepare(folder: &Path) -> io::Result<()> {
    let partial = folder.join(PARTIAL);
    let of = |error: io::Error| with_path(&error, &partial);
    fs::create_dir_all(&partial).map_err(of)?;
    for entry in fs::read_dir(&partial).map_err(of)?.flatten() {
        let written = entry.metadata().and_then(|about| about.modified());
        let age = written.ok().and_then(|written| written.elapsed().ok());
        if age.is_some_and(|age| age > ABANDONED_AGE) && !is_locked(&entry.path()) {
            // Another process may have removed it.
            let _ = fs::remove_file(entry.path());
        }
    }
    Ok(())
}

/// Removes the folder of half-written files, unless another process has some in it.
pub(super) fn finish(folder: &Path) {
    let _ = fs::remove_dir(folder.join(PARTIAL));
}

fn is_locked(path: &Path) -> bool {
    let locked = File::open(path).map(|file| file.try_lock());
    matches!(locked, Ok(Err(TryLockError::WouldBlock)))
}

/// A file that is being written. It is gone when this is dropped, unless it was given a name.
#[derive(Debug)]
pub(crate) struct UnnamedFile {
    path: PathBuf,
    file: File,
}

impl UnnamedFile {
    /// Begins a file for `folder`.
    ///
    /// # Errors
    /// The system's.
    pub(super) fn create(folder: &Path) -> io::Result<Self> {
        static KEYS: OnceLock<RandomState> = OnceLock::new();
        static NEXT: AtomicU64 = AtomicU64::new(0);
        // Other processes with the same folder may have the same number, in containers of their own.
        let number = NEXT.fetch_add(1, Relaxed);
        let random = KEYS.get_or_init(RandomState::new).hash_one(number);
        let path = folder.join(PARTIAL).join(format!("{random:016x}-{number}"));
        let create = || OpenOptions::new().write(true).create_new(true).open(&path);
        let file = match create() {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                // Another process with the same folder came to its end.
                fs::create_dir_all(folder.join(PARTIAL))?;
                create()?
            }
            file => file?,
        };
        Ok(Self { path, file })
    }

    /// The same, for one that is written to for as long as a server takes: while it is open, other processes take it
    /// for no abandoned one, if the file system has locks.
    ///
    /// # Errors
    /// The system's, with the path.
    pub(super) fn create_lasting(folder: &Path) -> io::Result<Self> {
        let made = Self::create(folder).map_err(|error| with_path(&error, folder))?;
        let _ = made.file.try_lock();
        Ok(made)
    }

    /// Writes the next part of its content.
    ///
    /// # Errors
    /// The system's.
    pub(super) fn write(&mut self, content: &[u8]) -> io::Result<()> {
        self.file.write_all(content)
    }

    /// The same, for content that has no name yet to which an error could point.
    ///
    /// # Errors
    /// The system's, with the path.
    pub(crate) fn append(&mut self, content: &[u8]) -> io::Result<()> {
        self.write(content).map_err(|error| with_path(&error, &self.path))
    }

    /// Where it is.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for UnnamedFile {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// The same error, with the path that it is of.
pub(super) fn with_path(error: &io::Error, path: &Path) -> io::Error {
    io::Error::new(error.kind(), format!("cannot save {}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_old_and_half_written_is_removed_unless_it_is_being_written() {
        let process = std::process::id();
        let folder = std::env::temp_dir().join(format!("stoop-unnamed-{process}"));
        prepare(&folder).expect("a folder");
        let path = |name: &str| folder.join(PARTIAL).join(name);
        fs::write(path("old"), b"half").expect("written");
        fs::write(path("new"), b"half").expect("written");
        let mut slow = UnnamedFile::create_lasting(&folder).expect("made");
        slow.write(b"half").expect("written");
        let then = std::time::SystemTime::now() - 2 * ABANDONED_AGE;
        for path in [path("old").as_path(), slow.path()] {
            let file = OpenOptions::new().write(true).open(path).expect("there");
            file.set_modified(then).expect("settable");
        }
        prepare(&folder).expect("there already");
        assert!(!path("old").exists());
        assert!(path("new").exists());
        assert!(slow.path().exists());
        let gone = slow.path().to_owned();
        drop(slow);
        assert!(!gone.exists());
        fs::remove_dir_all(&folder).expect("there");
    }
}
