//! A file that gets its name when it is whole.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::output::RecordOutput;

/// A file that is written under another name until it is whole. If that never happens it is removed, unless the process
/// is killed.
#[derive(Debug)]
pub(super) struct WholeFile {
    path: PathBuf,
    partial: PathBuf,
    is_whole: bool,
    /// The file, locked as long as it is open: another process would write to the same.
    _lock: File,
}

impl WholeFile {
    /// The file of an output, if it is one: what is there may also be a device or a pipe.
    ///
    /// # Errors
    /// Those of [`at`](Self::at).
    pub(super) fn of(output: &RecordOutput) -> io::Result<Option<Self>> {
        let RecordOutput::File(path) = output else { return Ok(None) };
        Self::at(path)
    }

    /// The file at a path, which may be there or not; none for a device or a pipe.
    ///
    /// # Errors
    /// Another process is writing it, or the system's.
    pub(super) fn at(path: &Path) -> io::Result<Option<Self>> {
        // The file that a link leads to is the one to be replaced. A link of /proc can lead to a pipe, which has no path.
        let path = match fs::metadata(path) {
            Ok(there) if !there.is_file() => return Ok(None),
            Ok(_) => fs::canonicalize(path)?,
            Err(_) => path.to_owned(),
        };
        let mut partial = path.clone().into_os_string();
        partial.push(".partial");
        let partial = PathBuf::from(partial);
        let lock = lock(&partial)?;
        Ok(Some(Self { path, partial, is_whole: false, _lock: lock }))
    }

    /// Where it is written.
    pub(super) fn partial(&self) -> &Path {
        &self.partial
    }

    /// Gives it its name.
    ///
    /// # Errors
    /// The system's.
    pub(super) fn finish(mut self) -> io::Result<()> {
        self.is_whole = true;
        fs::rename(&self.partial, &self.path)
    }
}

/// Opens the file at a path, or makes it, and locks it.
fn lock(path: &Path) -> io::Result<File> {
    loop {
        let file = OpenOptions::new().write(true).create(true).truncate(false).open(path)?;
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => {
                return Err(io::Error::other("another process is writing it"));
            }
            // A file system without locks.
            Err(TryLockError::Error(_)) => return Ok(file),
            Ok(()) => {}
        }
        // Meanwhile the process that had it may have given it its name, or removed it.
        let (locked, there) = (file.metadata()?, fs::metadata(path));
        if there.is_ok_and(|there| (there.dev(), there.ino()) == (locked.dev(), locked.ino())) {
            return Ok(file);
        }
    }
}

impl Drop for WholeFile {
    fn drop(&mut self) {
        if !self.is_whole {
            let _ = fs::remove_file(&self.partial);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::symlink;

    use super::*;

    /// It was replaced by a file: `/dev/stdout` is such a link.
    #[test]
    fn a_link_to_a_pipe_is_no_file() {
        let (_reader, writer) = io::pipe().expect("two descriptors");
        let process = std::process::id();
        let link = std::env::temp_dir().join(format!("stoop-link-to-a-pipe-{process}"));
        symlink(format!("/proc/{process}/fd/{}", writer.as_raw_fd()), &link).expect("writable");
        assert!(WholeFile::at(&link).expect("no error").is_none());
        assert!(fs::symlink_metadata(&link).expect("it is there").is_symlink());
        fs::remove_file(link).expect("it is there");
    }
}
