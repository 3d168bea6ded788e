//! Files that are being written, and have no name yet.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use super::partial_folder::{PartialFolder, with_path};

/// How often a file is opened in vain because the process or the system has no descriptor left, and the time between:
/// connections come and go. Two seconds in all.
const TRIES: u32 = 100;
const TRY_INTERVAL: Duration = Duration::from_millis(20);

/// The numbers of `EMFILE` and `ENFILE`.
const NO_DESCRIPTOR: [i32; 2] = [24, 23];

/// A file that is being written. It is gone when this is dropped, unless it was given a name. It is open while it is
/// written to alone: there may be as many as there are connections.
#[derive(Debug)]
pub(crate) struct UnnamedFile {
    path: PathBuf,
}

impl UnnamedFile {
    /// Writes a file that has this content.
    ///
    /// # Errors
    /// The system's, with the path.
    pub(super) fn with_content(folder: &PartialFolder, content: &[u8]) -> io::Result<Self> {
        let path = folder.next_path();
        let written = Self::written(folder, path.clone(), content);
        written.map_err(|error| with_path(&error, &path))
    }

    fn written(folder: &PartialFolder, path: PathBuf, content: &[u8]) -> io::Result<Self> {
        let mut create = OpenOptions::new();
        create.write(true).create_new(true);
        let file = match open(&create, &path) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                folder.restore()?;
                open(&create, &path)
            }
            file => file,
        };
        let mut file = file?;
        let unnamed = Self { path };
        file.write_all(content)?;
        Ok(unnamed)
    }

    /// Begins one for content that arrives.
    ///
    /// # Errors
    /// The system's, with the path.
    pub(super) fn begin(folder: &PartialFolder) -> io::Result<Self> {
        Self::with_content(folder, &[])
    }

    /// Writes the next part of its content.
    ///
    /// # Errors
    /// The system's, with the path: there is no name yet to which an error could point.
    pub(crate) fn append(&mut self, content: &[u8]) -> io::Result<()> {
        let opened = open(OpenOptions::new().append(true), &self.path);
        let written = opened.and_then(|mut file| file.write_all(content));
        written.map_err(|error| with_path(&error, &self.path))
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

/// Opens a file, and waits for a descriptor if there is none.
fn open(options: &OpenOptions, path: &Path) -> io::Result<File> {
    let is_short = |error: &io::Error| {
        error.raw_os_error().is_some_and(|number| NO_DESCRIPTOR.contains(&number))
    };
    for _ in 1..TRIES {
        match options.open(path) {
            Err(error) if is_short(&error) => thread::sleep(TRY_INTERVAL),
            opened => return opened,
        }
    }
    options.open(path)
}
