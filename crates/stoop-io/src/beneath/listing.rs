//! The entries of a directory, read by its descriptor.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::SystemTime;

use rustix::fs::{AtFlags, Dir, FileType, statat};

use super::open_beneath;
use super::policy::Symlinks;

/// An entry of a directory that can be opened by its name: a regular file or a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DirectoryEntry {
    /// Its name, without the directory's.
    pub name: OsString,
    /// Whether it is a directory rather than a regular file.
    pub is_directory: bool,
    /// How many bytes it has; of no meaning for a directory.
    pub len: u64,
    /// When it was changed last, where that is known.
    pub modified: Option<SystemTime>,
}

/// The entries of a directory, by name.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct DirectoryListing {
    /// The entries, in the order of their names' bytes.
    pub entries: Vec<DirectoryEntry>,
    /// Whether there are more, which were left out.
    pub is_cut: bool,
}

/// Lists up to `max` entries of `directory` with names that are `wanted`; which ones of more, is the file system's choice. Links that are not to be
/// followed are left out, and so is what is neither a regular file nor a directory, or is gone meanwhile. It may wait
/// for the disk.
///
/// # Errors
/// What the system says of the directory.
pub fn list_directory(
    directory: &File,
    symlinks: Symlinks,
    max: usize,
    mut wanted: impl FnMut(&OsStr) -> bool,
) -> io::Result<DirectoryListing> {
    let mut listing = DirectoryListing::default();
    for entry in Dir::read_from(directory)? {
        let name = OsStr::from_bytes(entry?.file_name().to_bytes()).to_owned();
        if name == "." || name == ".." || !wanted(&name) {
            continue;
        }
        let Some(entry) = entry_of(directory, name, symlinks) else { continue };
        if listing.entries.len() == max {
            listing.is_cut = true;
            break;
        }
        listing.entries.push(entry);
    }
    listing.entries.sort_unstable_by(|one, other| one.name.cmp(&other.name));
    Ok(listing)
}

fn entry_of(directory: &File, name: OsString, symlinks: Symlinks) -> Option<DirectoryEntry> {
    let stat = statat(directory, &*name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    // Opening a device to look at it may do something to it; only a link is opened.
    let metadata = match FileType::from_raw_mode(stat.st_mode) {
        FileType::Symlink => {
            open_beneath(directory.as_fd(), Path::new(&name), symlinks).ok()?.metadata().ok()?
        }
        FileType::RegularFile | FileType::Directory => {
            let is_directory = FileType::from_raw_mode(stat.st_mode) == FileType::Directory;
            let (len, modified) = (u64::try_from(stat.st_size).unwrap_or(0), modified(&stat));
            return Some(DirectoryEntry { name, is_directory, len, modified });
        }
        _ => return None,
    };
    let (is_directory, len) = (metadata.is_dir(), metadata.len());
    Some(DirectoryEntry { name, is_directory, len, modified: metadata.modified().ok() })
}

fn modified(stat: &rustix::fs::Stat) -> Option<SystemTime> {
    let nanos = u32::try_from(stat.st_mtime_nsec).ok()?;
    let seconds = stat.st_mtime;
    let whole = std::time::Duration::from_secs(seconds.unsigned_abs());
    let base = SystemTime::UNIX_EPOCH;
    let time = if seconds < 0 { base.checked_sub(whole) } else { base.checked_add(whole) };
    time?.checked_add(std::time::Duration::from_nanos(u64::from(nanos)))
}
