//! Opens files below a directory, and never outside it, whatever the path says and wherever symbolic links lead.
//!
//! Linux checks each step itself (openat2 with RESOLVE_BENEATH, from 5.6 on); for other systems, and for links that may not
//! lead through hidden names, [`components`] walks the path by descriptors, one name at a time. Either holds while others rename and link in the tree. Left out:
//! mounts in the tree are part of it, and so are hard links.

mod components;
mod error;
mod listing;
#[cfg(target_os = "linux")]
mod openat2;
mod policy;
#[cfg(test)]
mod tests;

use std::ffi::OsStr;
use std::fs::File;
use std::os::fd::BorrowedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

pub use error::OpenError;
pub use listing::{DirectoryEntry, DirectoryListing, list_directory};
pub use policy::Symlinks;

/// Opens the regular file or the directory at `path` below `directory`; the directory itself for an empty path. It may wait
/// for the disk.
///
/// # Errors
/// [`OpenError`] says which.
pub fn open_beneath(
    directory: BorrowedFd<'_>,
    path: &Path,
    symlinks: Symlinks,
) -> Result<File, OpenError> {
    let path = checked(path)?;
    #[cfg(target_os = "linux")]
    let opened = openat2::open(directory, path, symlinks)
        .unwrap_or_else(|| components::open(directory, path, symlinks));
    #[cfg(not(target_os = "linux"))]
    let opened = components::open(directory, path, symlinks);
    known(opened?.into())
}

/// The same without waiting for the disk: `None` where it would have to, or the system cannot tell.
///
/// # Errors
/// As [`open_beneath`].
pub fn open_beneath_cached(
    directory: BorrowedFd<'_>,
    path: &Path,
    symlinks: Symlinks,
) -> Option<Result<File, OpenError>> {
    let path = match checked(path) {
        Ok(path) => path,
        Err(error) => return Some(Err(error)),
    };
    #[cfg(target_os = "linux")]
    return match openat2::open_cached(directory, path, symlinks)? {
        Ok(file) => Some(known(file.into())),
        Err(error) => Some(Err(error)),
    };
    #[cfg(not(target_os = "linux"))]
    {
        let _ = (directory, path, symlinks);
        None
    }
}

/// Refuses what no path below a directory needs: it would be an error of the caller, or an attack, even where it led
/// to a place within.
fn checked(path: &Path) -> Result<&OsStr, OpenError> {
    let bytes = path.as_os_str().as_bytes();
    let is_up = |name: &[u8]| name == b"..";
    if bytes.first() == Some(&b'/') || bytes.contains(&0) || bytes.split(|b| *b == b'/').any(is_up)
    {
        return Err(OpenError::Path);
    }
    Ok(if bytes.is_empty() { OsStr::new(".") } else { path.as_os_str() })
}

/// Gives out regular files and directories alone: a device or a FIFO may never end.
fn known(file: File) -> Result<File, OpenError> {
    let kind = file.metadata().map_err(OpenError::Io)?.file_type();
    if kind.is_file() || kind.is_dir() { Ok(file) } else { Err(OpenError::Special) }
}
