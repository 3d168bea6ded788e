//! A file that gets its name when it is whole.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::output::{RecordOutput, check_is_not};

/// A file that is written under another name until it is whole. If that never happens it is removed, unless the process
/// is killed.
#[derive(Debug)]
pub(super) struct WholeFile {
    path: PathBuf,
    partial: PathBuf,
    is_whole: bool,
}

impl WholeFile {
    /// The file of an output, if it is one: what is there may also be a device or a pipe. `input` is a file that is read,
    /// and must not be written.
    ///
    /// # Errors
    /// It is the input.
    pub(super) fn of(output: &RecordOutput, input: Option<&Path>) -> io::Result<Option<Self>> {
        let RecordOutput::File(path) = output else { return Ok(None) };
        check_is_not(path, input)?;
        Ok(Self::at(path))
    }

    /// The file at a path, which may be there or not; none for a device or a pipe.
    pub(super) fn at(path: &Path) -> Option<Self> {
        // The file that a link leads to is the one to be replaced.
        let path = match fs::canonicalize(path) {
            Ok(path) if !path.is_file() => return None,
            Ok(path) => path,
            Err(_) => path.to_owned(),
        };
        let mut partial = path.clone().into_os_string();
        partial.push(".partial");
        Some(Self { path, partial: partial.into(), is_whole: false })
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

impl Drop for WholeFile {
    fn drop(&mut self) {
        if !self.is_whole {
            let _ = fs::remove_file(&self.partial);
        }
    }
}
