//! What tells files apart, whatever their names are, and whether they are there or will be.

use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

/// So many links lead from one to the next, at most, as Linux has it.
const LINKS_MAX: usize = 40;

/// What tells one file from another.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Identity {
    /// Its device and its number there, whatever its names are.
    Inode(u64, u64),
    /// Where it will be.
    Place(PathBuf),
}

impl Identity {
    /// That of what is at a path, or will be; none for what is no file and no folder, such as a device.
    pub(crate) fn of(path: &Path) -> Option<Self> {
        match fs::metadata(path) {
            Ok(about) => {
                let kind = about.file_type();
                let is_shared = kind.is_char_device() || kind.is_fifo() || kind.is_socket();
                (!is_shared).then(|| Self::Inode(about.dev(), about.ino()))
            }
            Err(_) => Some(Self::Place(place(path))),
        }
    }
}

/// Where a path leads: also where nothing is there, as it will be once it is made.
pub(crate) fn place(path: &Path) -> PathBuf {
    let mut path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    for _ in 0..LINKS_MAX {
        let Ok(target) = fs::read_link(&path) else { break };
        path.pop();
        path.push(target);
    }
    canonical(&path)
}

/// A path without links, as far as it is there.
fn canonical(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| match (path.parent(), path.file_name()) {
        (Some(parent), Some(name)) => canonical(parent).join(name),
        _ => path.to_owned(),
    })
}
