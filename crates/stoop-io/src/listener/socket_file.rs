//! The file of a Unix socket, and when it is removed.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

/// The file of a Unix socket that we bound, removed with the last listener on it.
pub(super) struct SocketFile {
    path: PathBuf,
    /// Device and inode, to recognise it by: another process may have put its own there since.
    identity: (u64, u64),
    kept: AtomicBool,
}

impl SocketFile {
    pub(super) fn new(path: &Path) -> io::Result<Self> {
        let path = std::path::absolute(path)?;
        let identity = Self::identity(&path)?;
        Ok(Self { path, identity, kept: AtomicBool::new(false) })
    }

    fn identity(path: &Path) -> io::Result<(u64, u64)> {
        fs::symlink_metadata(path).map(|found| (found.dev(), found.ino()))
    }

    /// Leaves the file in place, for another process that listens on it.
    pub(super) fn keep(&self) {
        self.kept.store(true, Ordering::Relaxed);
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        let ours = Self::identity(&self.path).is_ok_and(|found| found == self.identity);
        if ours && !self.kept.load(Ordering::Relaxed) {
            let _ = fs::remove_file(&self.path);
        }
    }
}
