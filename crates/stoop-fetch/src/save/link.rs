//! Gives a file its name, unless something else has it, on whatever file system.

use std::fs::{self, OpenOptions};
use std::hash::{BuildHasher, RandomState};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::PoisonError;

use super::content::{Content, REPLACING};
use super::last_modified;

/// Gives the file `partial` the name `path`; false if that is taken by other content, or cannot be.
pub(super) fn link(partial: &Path, path: &Path, content: Content<'_>) -> io::Result<bool> {
    let mut linked = fs::hard_link(partial, path);
    if linked.as_ref().is_err_and(is_refused) {
        if !make_folder(path)? {
            return Ok(false);
        }
        linked = fs::hard_link(partial, path);
    }
    linked_or_taken(linked, partial, path, content)
}

/// Gives the file `partial` the name `path`, also in place of another file, at once; false if that cannot be, because a
/// folder has it.
pub(super) fn replace(partial: &Path, path: &Path) -> io::Result<bool> {
    let mut renamed = fs::rename(partial, path);
    if renamed.as_ref().is_err_and(is_refused) {
        if !make_folder(path)? {
            return Ok(false);
        }
        renamed = fs::rename(partial, path);
    }
    if renamed.as_ref().is_err_and(|error| error.kind() == ErrorKind::CrossesDevices) {
        renamed = fs::rename(&Copied::beside(path, partial)?.0, path);
    }
    match renamed {
        Err(error) if is_taken(&error) => Ok(false),
        renamed => renamed.map(|()| true),
    }
}

/// Makes the folder of `path`; false if that cannot be.
fn make_folder(path: &Path) -> io::Result<bool> {
    match path.parent().map_or(Ok(()), fs::create_dir_all) {
        Err(error) if is_taken(&error) || is_refused(&error) => Ok(false),
        made => made.map(|()| true),
    }
}

fn linked_or_taken(
    linked: io::Result<()>,
    partial: &Path,
    path: &Path,
    content: Content<'_>,
) -> io::Result<bool> {
    match linked {
        Ok(()) => Ok(true),
        Err(error) if is_taken(&error) => Ok(content.is_or_will_be_in(path)),
        // A folder on the way is on another file system.
        Err(error) if error.kind() == ErrorKind::CrossesDevices => {
            let copy = Copied::beside(path, partial)?;
            match fs::hard_link(&copy.0, path) {
                Err(error) if error.kind() == ErrorKind::CrossesDevices => Err(error),
                linked => linked_or_taken(linked, &copy.0, path, content),
            }
        }
        // A file system without hard links.
        Err(error)
            if matches!(error.kind(), ErrorKind::PermissionDenied | ErrorKind::Unsupported) =>
        {
            moved_or_taken(partial, path, content)
        }
        Err(error) => Err(error),
    }
}

/// Moves a file to a name, where that is free and the file system has no hard links.
pub(super) fn moved_or_taken(
    partial: &Path,
    path: &Path,
    content: Content<'_>,
) -> io::Result<bool> {
    match rename_new(partial, path) {
        // Some cannot tell either, and some do not take the name.
        Err(error) if matches!(error.kind(), ErrorKind::InvalidInput | ErrorKind::Unsupported) => {
            replaced_or_taken(partial, path, content)
        }
        Err(error) if is_taken(&error) => Ok(content.is_or_will_be_in(path)),
        renamed => renamed.map(|()| true),
    }
}

/// The same by a file of our own, which takes the name, and which the other then replaces: it is there without content
/// for a moment, or from then on if the process ends.
pub(super) fn replaced_or_taken(
    partial: &Path,
    path: &Path,
    content: Content<'_>,
) -> io::Result<bool> {
    let replacing = REPLACING.lock().unwrap_or_else(PoisonError::into_inner);
    let taken = OpenOptions::new().write(true).create_new(true).open(path);
    match taken {
        Ok(_) => {
            let renamed = fs::rename(partial, path).inspect_err(|_| drop(fs::remove_file(path)));
            renamed.map(|()| true)
        }
        Err(error) if is_taken(&error) || is_refused(&error) => {
            drop(replacing);
            Ok(content.is_or_will_be_in(path))
        }
        Err(error) => Err(error),
    }
}

/// Renames a file, unless the name is taken.
#[cfg(target_os = "linux")]
fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    Ok(renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE)?)
}

#[cfg(not(target_os = "linux"))]
fn rename_new(_: &Path, _: &Path) -> io::Result<()> {
    Err(ErrorKind::Unsupported.into())
}

/// A copy of a file, which is gone when this is dropped.
struct Copied(PathBuf);

impl Copied {
    /// Copies a file, with its time, into the folder of `path`.
    fn beside(path: &Path, partial: &Path) -> io::Result<Self> {
        let random = RandomState::new().hash_one(path);
        let copy = Self(path.with_file_name(format!(".{random:016x}.partial")));
        fs::copy(partial, &copy.0)?;
        if let Ok(at) = fs::metadata(partial).and_then(|about| about.modified()) {
            last_modified::set(&copy.0, at);
        }
        Ok(copy)
    }
}

impl Drop for Copied {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// Whether an error says that something else has the name, or that of a folder on the way, or that it cannot be one.
fn is_taken(error: &io::Error) -> bool {
    use ErrorKind::{AlreadyExists, InvalidFilename, InvalidInput, IsADirectory, NotADirectory};
    // The last of FAT, of a colon and the like.
    matches!(
        error.kind(),
        AlreadyExists | InvalidFilename | IsADirectory | NotADirectory | InvalidInput
    )
}

/// Whether an error says that what is to be made cannot have its name: FAT says so in user space, of a colon and the like.
fn is_refused(error: &io::Error) -> bool {
    error.kind() == ErrorKind::NotFound
}
