//! Files below a directory, opened so that no path leads out of it.
//!
//! [`Directory`] opens what a request names, as a regular file or as a directory to be listed; [`OpenedFile::body`]
//! is the content of a response. What a URL's path means (percent-encoding, hidden names, an index) is the caller's to
//! decide before.

use std::ffi::OsStr;
use std::fs::{File, Metadata};
use std::io;
use std::ops::Range;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;
use std::sync::Arc;

pub use stoop_io::{DirectoryEntry, DirectoryListing, OpenError, Symlinks};
use stoop_io::{list_directory, open_beneath, open_beneath_cached};
use tokio::task::spawn_blocking;

use crate::body::Body;

/// An open directory, below which files are opened. It stays the same directory if it is moved or replaced. A clone shares
/// its descriptor.
///
/// A path is relative, and of any bytes but NUL. `..` in it is refused, and a symbolic link is followed only within
/// the directory, if at all: [`Symlinks`]. Nothing but regular files and directories is given out, so that neither a FIFO nor
/// a device holds a core up. Linux checks all that while it opens the file (openat2), also while others rename and
/// link in the tree; elsewhere, and with [`Symlinks::WithinVisible`] where a link is on the way, the path is walked
/// name by name.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// use stoop::files::{Directory, OpenError, Opened};
///
/// let directory = Directory::at("src")?;
/// let Ok(Opened::File(file)) = directory.open("lib.rs").await else { panic!("it is a file") };
/// assert_eq!(file.body().len(), Some(file.metadata().len()));
/// assert!(matches!(directory.open("../Cargo.toml").await, Err(OpenError::Path)));
/// # Ok::<(), std::io::Error>(()) }).unwrap();
/// ```
#[derive(Clone, Debug)]
pub struct Directory {
    file: Arc<File>,
    symlinks: Symlinks,
}

/// What is at a path below a directory.
#[derive(Clone, Debug)]
pub enum Opened {
    /// A regular file.
    File(OpenedFile),
    /// A directory.
    Directory(Directory),
}

/// An open regular file, and what was known of it when it was opened. A clone shares its descriptor.
#[derive(Clone, Debug)]
pub struct OpenedFile {
    file: Arc<File>,
    metadata: Metadata,
}

impl Directory {
    /// The directory at `path`, which is followed wherever it leads. It may wait for the disk: call it when a server
    /// starts.
    ///
    /// # Errors
    /// If it cannot be opened, or is no directory ([`io::ErrorKind::NotADirectory`]).
    pub fn at(path: impl AsRef<Path>) -> io::Result<Self> {
        // A FIFO would wait for its writer.
        if !path.as_ref().metadata()?.is_dir() {
            return Err(io::ErrorKind::NotADirectory.into());
        }
        let file = File::open(path)?;
        match file.metadata()?.is_dir() {
            true => Ok(Self { file: Arc::new(file), symlinks: Symlinks::default() }),
            false => Err(io::ErrorKind::NotADirectory.into()),
        }
    }

    /// The same directory with another rule for symbolic links; they are followed within it by default.
    pub fn with_symlinks(self, symlinks: Symlinks) -> Self {
        Self { symlinks, ..self }
    }

    /// The rule for symbolic links.
    pub fn symlinks(&self) -> Symlinks {
        self.symlinks
    }

    /// Opens what is at `path`; the directory itself if it is empty. Where the names on the way are in memory, that is done
    /// at once, and else on one of tokio's threads for blocking work.
    ///
    /// # Errors
    /// [`OpenError`] says which.
    pub async fn open(&self, path: impl AsRef<Path>) -> Result<Opened, OpenError> {
        let path = path.as_ref();
        if let Some(opened) = open_beneath_cached(self.file.as_fd(), path, self.symlinks) {
            return self.opened(opened?);
        }
        let (this, path) = (self.clone(), path.to_owned());
        let opened = spawn_blocking(move || this.open_blocking(path)).await;
        opened.unwrap_or_else(|error| Err(OpenError::Io(io::Error::other(error))))
    }

    /// The same on this thread, which waits for the disk if it has to.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_blocking(&self, path: impl AsRef<Path>) -> Result<Opened, OpenError> {
        self.opened(open_beneath(self.file.as_fd(), path.as_ref(), self.symlinks)?)
    }

    /// Its regular files and directories, and links to them that are followed; up to `max`, in the order of their names' bytes.
    /// Reads them on one of tokio's threads for blocking work.
    ///
    /// # Errors
    /// What the system says.
    pub async fn list(&self, max: usize) -> io::Result<DirectoryListing> {
        let this = self.clone();
        spawn_blocking(move || this.list_blocking(max)).await.map_err(io::Error::other)?
    }

    /// The same on this thread, which waits for the disk.
    ///
    /// # Errors
    /// As [`list`](Self::list).
    pub fn list_blocking(&self, max: usize) -> io::Result<DirectoryListing> {
        self.list_some_blocking(max, |_| true)
    }

    /// The same of the entries whose names are `wanted`: up to `max` of these, however many others there are.
    ///
    /// # Errors
    /// As [`list`](Self::list).
    pub fn list_some_blocking(
        &self,
        max: usize,
        wanted: impl FnMut(&OsStr) -> bool,
    ) -> io::Result<DirectoryListing> {
        list_directory(&self.file, self.symlinks, max, wanted)
    }

    /// What the file system knows of it now. It may wait for the disk.
    ///
    /// # Errors
    /// What the system says.
    pub fn metadata(&self) -> io::Result<Metadata> {
        self.file.metadata()
    }

    fn opened(&self, file: File) -> Result<Opened, OpenError> {
        let metadata = file.metadata().map_err(OpenError::Io)?;
        let file = Arc::new(file);
        Ok(match metadata.is_dir() {
            true => Opened::Directory(Self { file, symlinks: self.symlinks }),
            false => Opened::File(OpenedFile { file, metadata }),
        })
    }
}

impl AsFd for Directory {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

impl OpenedFile {
    /// The file.
    pub fn file(&self) -> &Arc<File> {
        &self.file
    }

    /// What was known of it when it was opened: its length and the time of its last change.
    pub fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    /// All of its content, with the length that it had when it was opened: see [`Body::from_file`].
    pub fn body(&self) -> Body {
        self.range(0..self.metadata.len())
    }

    /// A part of its content, as far as the file had it when it was opened: see [`Body::from_file`].
    pub fn range(&self, range: Range<u64>) -> Body {
        let end = range.end.min(self.metadata.len());
        Body::from_file(Arc::clone(&self.file), range.start..end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_file_a_directory_and_what_is_neither() {
        let here = Directory::at(env!("CARGO_MANIFEST_DIR")).unwrap();
        let Ok(Opened::File(file)) = here.open("src/files.rs").await else { panic!("no file") };
        let content = std::fs::read("src/files.rs").unwrap();
        assert_eq!(file.body().bytes(1 << 20).await.unwrap(), content);
        assert_eq!(file.range(7..20).bytes(100).await.unwrap(), content[7..20]);
        assert_eq!(file.range(9..u64::MAX).len(), Some(content.len() as u64 - 9));
        assert!(file.range(u64::MAX - 1..u64::MAX).is_empty());
        let Ok(Opened::Directory(sources)) = here.open("src").await else { panic!("no directory") };
        assert!(matches!(sources.open_blocking("files.rs"), Ok(Opened::File(_))));
        for path in ["src/../Cargo.toml", "../stoop/Cargo.toml", "/etc/passwd", "a\0b"] {
            assert!(matches!(here.open(path).await, Err(OpenError::Path)), "{path:?}");
        }
        assert!(matches!(here.open("src/nothing").await, Err(OpenError::NotFound)));
        let listing = sources.list(1_000).await.unwrap();
        assert_eq!(sources.list_blocking(1_000).unwrap().entries, listing.entries);
        let found = listing.entries.iter().find(|entry| entry.name == "files.rs").unwrap();
        assert_eq!((found.is_directory, found.len), (false, content.len() as u64));
        let some = sources.list_some_blocking(1, |name| name == "lib.rs").unwrap();
        assert_eq!((some.entries.len(), some.is_cut), (1, false));
        let file = Directory::at("Cargo.toml").unwrap_err();
        assert_eq!(file.kind(), io::ErrorKind::NotADirectory);
    }
}
