//! The errors of a file that is being sent.

use std::{fmt, io};

/// The error of a file that cannot be read to the end that was announced: the fault is this side's, and
/// the connection is as good as before. It is within an [`io::Error`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileError {
    /// The file ends before: it was cut while it was sent.
    Shorter,
    /// The file system failed to read it, with EIO and the like.
    Unreadable,
}

impl FileError {
    /// The file's error that `error` carries, if it is not one of the connection.
    pub fn of(error: &io::Error) -> Option<Self> {
        error.get_ref().and_then(|inner| inner.downcast_ref()).copied()
    }
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Shorter => "the file became shorter while it was sent",
            Self::Unreadable => "the file cannot be read: the file system reports an error",
        })
    }
}

impl std::error::Error for FileError {}

impl From<FileError> for io::Error {
    fn from(error: FileError) -> Self {
        let kind = match error {
            FileError::Shorter => io::ErrorKind::UnexpectedEof,
            FileError::Unreadable => io::ErrorKind::Other,
        };
        Self::new(kind, error)
    }
}
