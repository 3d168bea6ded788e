//! Why a file below a directory is not opened.

use std::{fmt, io};

use rustix::io::Errno;

/// Why a file below a directory is not opened.
#[derive(Debug)]
pub enum OpenError {
    /// The path is absolute, or has `..` or a NUL byte in it.
    Path,
    /// There is no such file; or a name on the way is one of no directory, or is too long.
    NotFound,
    /// A symbolic link leads out of the directory.
    Outside,
    /// There is a symbolic link and they are refused, or it leads through a hidden name, or there are too many in a row.
    Symlink,
    /// It is neither a regular file nor a directory.
    Special,
    /// This process may not read it.
    Denied,
    /// Something else that the system reports, such as too many open files or a broken disk.
    Io(io::Error),
}

impl From<Errno> for OpenError {
    fn from(error: Errno) -> Self {
        match error {
            Errno::NOENT | Errno::NOTDIR | Errno::NAMETOOLONG => Self::NotFound,
            Errno::XDEV => Self::Outside,
            Errno::LOOP => Self::Symlink,
            // A socket, or a device without a driver.
            Errno::NXIO | Errno::NODEV => Self::Special,
            Errno::ACCESS | Errno::PERM => Self::Denied,
            Errno::INVAL | Errno::ILSEQ => Self::Path,
            other => Self::Io(other.into()),
        }
    }
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Path => "the path is absolute, or has `..` or a NUL byte in it",
            Self::NotFound => "there is no such file",
            Self::Outside => "a symbolic link leads out of the directory",
            Self::Symlink => "a symbolic link is on the way, which is not followed",
            Self::Special => "it is neither a regular file nor a directory",
            Self::Denied => "it may not be read",
            Self::Io(error) => return write!(f, "it cannot be opened: {error}"),
        })
    }
}

impl std::error::Error for OpenError {}
