//! The limits of what is remembered of files.

use std::time::Duration;

/// How much [`Files`](crate::Files) remembers of paths, on each worker: `open_file_cache` of nginx.
///
/// While an answer is remembered, a file that was replaced is still sent as it was, and so is a 404 for one that is
/// there by now. Replace files by renaming: one that is written over while it is sent is sent in parts of both.
///
/// ```
/// use std::time::Duration;
/// use stoop_web::{FileCache, Files};
///
/// let cache = FileCache::new().validity(Duration::from_secs(10)).open_max(500);
/// let files = Files::new("src")?.cache(cache);
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct FileCache {
    pub(super) validity: Duration,
    pub(super) entries_max: usize,
    pub(super) open_max: usize,
    pub(super) bytes_max: usize,
}

impl Default for FileCache {
    fn default() -> Self {
        Self::new()
    }
}

impl FileCache {
    /// With the defaults.
    pub fn new() -> Self {
        Self {
            validity: Duration::from_secs(1),
            entries_max: 1024,
            open_max: 128,
            bytes_max: 4 * 1024 * 1024,
        }
    }

    /// How long an answer is remembered: 1 s by default, which is long for a server under load and short for who changes
    /// a file.
    pub fn validity(mut self, validity: Duration) -> Self {
        self.validity = validity;
        self
    }

    /// For how many paths, those at which there is nothing included: 1,024 by default, on each worker.
    pub fn entries_max(mut self, entries: usize) -> Self {
        self.entries_max = entries;
        self
    }

    /// How many files are kept open, those of more than 16 KiB: 128 by default, on each worker. They count to the
    /// descriptors that a process may have. Once an answer is remembered no longer its file is closed, after as long again
    /// or a second at most, so that one that was deleted gives its space back also where nothing more is asked for.
    pub fn open_max(mut self, files: usize) -> Self {
        self.open_max = files;
        self
    }

    /// How many bytes of content are kept, of files of up to 16 KiB and of lists of directories, which are then sent without a
    /// call of the file system: 4 MiB by default, on each worker.
    pub fn bytes_max(mut self, bytes: usize) -> Self {
        self.bytes_max = bytes;
        self
    }
}
